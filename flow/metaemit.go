package flow

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/dissector"
)

// metaFlows are the flows of MetaRoCE, ordered by their first packet.
func (t *Tracker) metaFlows() []*metaFlow {
	all := make([]*metaFlow, 0, t.meta.live())
	for _, f := range t.meta.flows {
		if f != nil && !f.gone {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *metaFlow) int {
		return cmp.Or(cmp.Compare(a.firstNumber, b.firstNumber), cmp.Compare(a.hash, b.hash))
	})
	return all
}

// finishMeta writes the flow's last record and emits it.
func (t *Tracker) finishMeta(f *metaFlow) {
	for _, s := range f.paths {
		if s != nil {
			t.tail(s)
		}
	}
	t.fillMeta(f)
	t.tell(&f.told)
}

// fillMeta writes the flow's record as of now. Of paths and streams it is what is new, after a cut.
func (t *Tracker) fillMeta(f *metaFlow) {
	r, x := &t.record, &t.meta.record
	*r = Record{
		ID: f.id, ConnectionID: f.id, ReverseID: f.reverseID, Key: f.key, Pairing: f.pairing,
		SourceMAC: f.link.source, DestinationMAC: f.link.destination,
		VLAN: minusOne(uint32(f.link.vlan)), DSCP: known(uint64(f.link.dscp)),
		SourcePort: known(uint64(f.sourcePort)), SourcePorts: known(1),
		Tunnel: f.link.tunnel, OuterSource: f.link.outer[0], OuterDestination: f.link.outer[1],

		HasTime: f.hasTime, FirstTime: f.firstTime, LastTime: f.lastTime,
		FirstNumber: f.firstNumber, LastNumber: f.lastNumber,

		Packets: f.packets, Bytes: f.bytes, PayloadBytes: f.payload,
		Messages: known(f.messages), Operations: f.operations, MirrorCopies: f.mirrorCopies,
		Acks: f.acks, Naks: f.naks, RNRNaks: f.rnrNaks, RNRTimerMax: f.rnrTimerMax,
		CEMarked: known(f.marked), ECTMarked: known(f.capable),
		ICRCGood: f.icrc[dissector.ICRCGood], ICRCBad: f.icrc[dissector.ICRCBad], ICRCUndetermined: f.icrc[dissector.ICRCUndetermined],
		Truncated: f.truncated, Malformed: f.malformed,
		MetaRoCE: x,
	}
	if f.ports != nil {
		r.SourcePorts.N = uint64(f.ports.count)
	}
	if f.mtu != 0 {
		r.PathMTU = known(uint64(f.mtu))
	}
	if f.reverseID != 0 {
		r.ConnectionID = min(r.ID, f.reverseID)
	}
	f.nameSender(r)
	f.fillHandshake(x)
	x.Probes, x.RateHint, x.UntrackedStreams = f.probes, f.hint.record(), f.dropped
	t.fillPaths(f, r, x)
	t.fillStreams(f, r, x)
}

// nameSender fills the id that the sender of the flow chose.
func (f *metaFlow) nameSender(r *Record) {
	switch {
	case f.hasPeerID:
		r.SourceQP = known(uint64(f.peerID))
	case f.reverse != nil:
		r.SourceQP = known(uint64(f.reverse.key.DestinationQP))
	}
}

func (f *metaFlow) fillHandshake(x *MetaRoCERecord) {
	h := &f.handshake
	*x = MetaRoCERecord{
		Profile: "mr0", Handshake: h.result, Requests: h.requests, AcceptTime: h.acceptTime, RejectReason: h.reject,
		Disconnected: h.disconnected, DisconnectReason: h.disconnection,
		Paths: x.Paths[:0], Streams: x.Streams[:0],
	}
	if h.declared {
		c := &h.conn
		x.PathCount, x.PlaneCount, x.MTU = known(uint64(c.PathCount)), known(uint64(c.PlaneCount)), known(uint64(c.MTU))
		x.LinkRate, x.InitialPSN = known(uint64(c.LinkRate)), known(uint64(c.InitialPSN))
		x.StreamCount, x.MaxWindow = known(uint64(c.StreamCount)), known(uint64(c.MaxWindow))
	}
}

// fillPaths fills the paths, and what the flow has of them together.
func (t *Tracker) fillPaths(f *metaFlow, r *Record, x *MetaRoCERecord) {
	var gaps, missing, acked, resent, afterGap, afterRNR, moved, late, again uint64
	t.meta.ports = t.meta.ports[:0]
	for _, s := range f.paths {
		if s == nil {
			continue
		}
		path := s.record(f.reverseID != 0)
		if !t.cutting {
			x.Paths = append(x.Paths, path)
		} else if path.since(&s.told) {
			path.Ports = t.usedPorts(path.Ports)
			x.Paths = append(x.Paths, path)
		}
		gaps, missing, acked = gaps+s.gaps, missing+s.missing, acked+s.missingAcked
		resent, afterGap, afterRNR, moved = resent+s.retransmitted, afterGap+s.afterGap, afterRNR+s.afterRNR, moved+s.moved
		late, again = late+s.outOfOrder, again+s.duplicates
	}
	r.PSNGaps, r.MissingPSNs, r.Retransmitted = known(gaps), known(missing), known(resent)
	r.OutOfOrder, r.Duplicates = known(late), known(again)
	if f.reverseID != 0 || missing == 0 {
		r.MissingAcknowledged = known(acked)
	}
	if f.reverseID != 0 || resent == 0 {
		r.RetransmittedNAK, r.RetransmittedRNR = known(afterGap), known(afterRNR)
		r.RetransmittedTimeout = known(resent - afterGap - afterRNR - moved)
	}
}

// tail counts psns behind the last one that was seen, which the receiver has acknowledged all the same.
func (t *Tracker) tail(s *metaPath) {
	if d := int32(s.cumulative - s.next); s.started && s.acked && d > 0 && d < metaReach {
		s.gaps++
		s.missing += uint64(d)
		s.missingAcked += uint64(d)
		t.totals.MissingPSNs += uint64(d)
	}
}

// failed tells whether a PROBE was the last packet, and nobody acknowledged it.
func (s *metaPath) failed() bool {
	return s.lastProbe.Known && s.lastProbe.N >= s.lastNumber && !s.covers(s.probePSN)
}

func (s *metaPath) record(paired bool) PathRecord {
	r := PathRecord{
		ID: s.id, PlaneChanges: s.planeChanges, Ports: s.ports[:s.portCount], RePaths: s.rePaths,
		HasTime: s.hasTime, FirstTime: s.firstTime, LastTime: s.lastTime,
		FirstNumber: s.firstNumber, LastNumber: s.lastNumber,
		Packets: s.packets, Bytes: s.bytes, PayloadBytes: s.payload,
		PSNGaps: s.gaps, MissingPSNs: s.missing,
		Retransmitted: s.retransmitted, RetransmittedSeen: s.again, RetransmittedMoved: s.moved,
		OutOfOrder: s.outOfOrder, Duplicates: s.duplicates, Probes: s.probes,
		FirstProbe: s.firstProbe, LastProbe: s.lastProbe, FirstProbeTime: s.firstProbeTime,
		Failed:   s.failed(),
		CEMarked: s.marked, ECTMarked: s.capable, Naks: s.naks,
		RateHint: s.hint.record(), RTT: s.rtt.record(),
	}
	if s.hasPlane {
		r.Plane = known(uint64(s.plane))
	}
	if s.started {
		r.FirstPSN, r.LastPSN = known(uint64(s.firstPSN)), known(uint64(s.next-1))
	}
	if paired {
		r.MissingAcknowledged, r.Acks = known(s.missingAcked), known(s.acks)
		r.RetransmittedGap, r.RetransmittedRNR = known(s.afterGap), known(s.afterRNR)
	}
	if s.acks > 0 {
		r.ReceivedPackets, r.ReceivedCE = known(uint64(s.received)), known(uint64(s.ce))
	}
	if s.acked {
		r.InFlightMax = known(uint64(s.flightMax))
		if s.flights > 0 {
			r.InFlightMean = known(s.flightSum / s.flights)
		}
	}
	return r
}

func (t *Tracker) fillStreams(f *metaFlow, r *Record, x *MetaRoCERecord) {
	var goodput uint64
	for _, s := range f.streams {
		goodput += s.goodput
		record := StreamRecord{
			ID: s.id, Messages: s.messages, Writes: s.writes, Sends: s.sends, Reads: s.reads, Atomics: s.atomics,
			Packets: s.packets, PayloadBytes: s.payload, GoodputBytes: s.goodput, ResponseBytes: s.responses,
			Retransmitted: s.retransmitted, Naks: s.naks, Latency: s.latency.latency(),
			HasTime: s.hasTime, FirstTime: s.firstTime, LastTime: s.lastTime,
			FirstNumber: s.firstNumber, LastNumber: s.lastNumber,
		}
		if s.started {
			record.FirstMSN, record.LastMSN = known(uint64(s.firstMSN)), known(uint64(s.nextMSN-1))
		}
		if f.reverseID != 0 {
			record.Complete = known(s.complete)
		}
		if !t.cutting || record.since(&s.told) {
			x.Streams = append(x.Streams, record)
		}
	}
	slices.SortFunc(x.Streams, func(a, b StreamRecord) int { return cmp.Compare(a.ID, b.ID) })
	if f.dropped == 0 {
		r.GoodputBytes = known(goodput)
	}
}
