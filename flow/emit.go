package flow

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Flush emits the records of all flows, ordered by their first packet, and forgets the flows. The totals
// stay. The tracker can go on, with empty flows.
func (t *Tracker) Flush() {
	all := make([]*flow, 0, t.flows.live())
	for _, e := range t.order.heap {
		all = append(all, t.flows.at(e.flow))
	}
	slices.SortFunc(all, func(a, b *flow) int {
		return cmp.Or(cmp.Compare(a.firstNumber, b.firstNumber), cmp.Compare(a.hash, b.hash))
	})
	for _, f := range all {
		t.hear(f)
	}
	t.pairLate(all)
	t.pairNotified(all)
	rest := t.metaFlows()
	t.pairByAddress(rest)
	for _, f := range all {
		for len(rest) > 0 && rest[0].firstNumber < f.firstNumber {
			t.finishMeta(rest[0])
			rest = rest[1:]
		}
		t.finish(f)
	}
	for _, f := range rest {
		t.finishMeta(f)
	}
	t.meta = metaTracker{pairs: t.meta.pairs}
	t.awake.clear()
	t.closed += t.pairs
	t.pairs = 0
	t.table.clear()
	t.flows = slab{}
	t.order = eviction{}
	clear(t.offers)
	t.latest = nil
}

// Totals are the sums over all packets so far. Connections can be told for certain after Flush only.
func (t *Tracker) Totals() Totals {
	totals := t.totals
	totals.Connections = totals.Flows - t.pairs - t.closed - t.meta.pairs
	return totals
}

// Add adds the totals of another tracker, that had other packets of the same capture.
func (t *Totals) Add(o Totals) {
	t.Packets += o.Packets
	t.RDMAPackets += o.RDMAPackets
	t.Bytes += o.Bytes
	t.RDMABytes += o.RDMABytes
	t.Messages += o.Messages
	t.Retransmitted += o.Retransmitted
	t.OutOfOrder += o.OutOfOrder
	t.MirrorCopies += o.MirrorCopies
	t.MissingPSNs += o.MissingPSNs
	t.Naks += o.Naks
	t.RNRNaks += o.RNRNaks
	t.CNPs += o.CNPs
	t.CEMarked += o.CEMarked
	t.ICRCErrors += o.ICRCErrors
	t.ICRCUndetermined += o.ICRCUndetermined
	t.Malformed += o.Malformed
	t.Truncated += o.Truncated
	t.Unsupported += o.Unsupported
	t.NotRDMA += o.NotRDMA
	t.PauseFrames += o.PauseFrames
	t.Flows += o.Flows
	t.Connections += o.Connections
	t.EvictedFlows += o.EvictedFlows
}

// finish writes the flow's last record and emits it.
func (t *Tracker) finish(f *flow) {
	t.settle(f, &f.requests)
	t.settle(f, &f.answers)
	t.fill(f)
	t.tell(&f.told)
}

// fill writes the flow's record as of now.
func (t *Tracker) fill(f *flow) {
	r := &t.record
	*r = Record{
		ID:           ID(f.hash),
		ConnectionID: ID(f.hash),
		ReverseID:    f.reverseID,
		Key:          f.key,
		SourceQP:     minusOne(f.sourceQP),
		Pairing:      f.pairing,
		ServiceID:    Count{N: uint64(f.serviceID), Known: f.introduced},
		Application:  f.serviceID.Application(),

		SourceMAC: f.link.source, DestinationMAC: f.link.destination,
		VLAN:   minusOne(uint32(f.link.vlan)),
		Tunnel: f.link.tunnel, OuterSource: f.link.outer[0], OuterDestination: f.link.outer[1],

		HasTime:   f.hasTime,
		FirstTime: f.firstTime, LastTime: f.lastTime,
		FirstNumber: f.firstNumber, LastNumber: f.lastNumber,

		Packets: f.packets, Bytes: f.bytes, PayloadBytes: f.payload,
		Operations:   f.operations,
		MirrorCopies: f.mirrorCopies,
		Acks:         f.acks, RNRNaks: f.rnrNaks, RNRTimerMax: f.rnrTimerMax,
		CNPs:     f.cnps,
		ICRCGood: f.verdicts(dissector.ICRCGood), ICRCBad: f.verdicts(dissector.ICRCBad),
		ICRCUndetermined: f.verdicts(dissector.ICRCUndetermined),
		PortRewritten:    minusOne(f.rewritten),
		Truncated:        uint64(f.truncated),
	}
	if f.reverseID != 0 {
		r.ConnectionID = min(r.ID, f.reverseID)
	}
	if f.trouble != nil {
		r.Naks, r.Malformed = f.trouble.naks, uint64(f.trouble.malformed)
	}
	f.fillNetwork(r)
	f.fillSequence(r)
}

// minusOne reads a field that holds a value plus one, and 0 for none.
func minusOne(n uint32) Count {
	if n == 0 {
		return Count{}
	}
	return known(uint64(n - 1))
}

// fillNetwork fills what only RoCEv2 has.
func (f *flow) fillNetwork(r *Record) {
	if f.key.Protocol != dissector.ProtocolRoCEv2 {
		return
	}
	r.DSCP = known(uint64(f.link.dscp))
	r.SourcePort, r.SourcePorts = known(uint64(f.sourcePort)), known(1)
	if f.ports != nil {
		r.SourcePorts.N = uint64(f.ports.count)
	}
	r.CEMarked, r.ECTMarked = known(f.marked), known(f.capable)
}

// fillSequence fills what follows from PSNs.
func (f *flow) fillSequence(r *Record) {
	psns := &f.requestPSNs
	if !psns.valid {
		psns = &f.answerPSNs
	}
	if psns.valid {
		r.FirstPSN, r.LastPSN = known(uint64(psns.first)), known(uint64(psns.last))
	}
	if f.service == infiniband.ServiceUD {
		r.Messages = known(f.messages.count)
		return
	}
	if !f.ordered() {
		return
	}
	r.Messages = known(f.messages.count)
	r.GoodputBytes = known(f.payload - f.duplicatePayload)
	if f.mtu != 0 {
		r.PathMTU = known(uint64(f.mtu))
	}
	r.PSNGaps, r.MissingPSNs = known(uint64(f.gaps)), known(uint64(f.missing))
	r.MissingAcknowledged = known(uint64(f.missingElsewhere) + f.requests.elsewhere() + f.answers.elsewhere())
	r.Retransmitted = known(uint64(f.retransmitted))
	r.OutOfOrder, r.Duplicates = known(uint64(f.outOfOrder)), known(uint64(f.duplicates))
	// Why something was sent again is told by the other direction.
	if f.retransmitted == 0 || f.heard {
		r.RetransmittedNAK, r.RetransmittedRNR = known(uint64(f.afterNAK)), known(uint64(f.afterRNR))
		if !f.noTime || f.retransmitted == 0 {
			r.RetransmittedTimeout = known(uint64(f.afterTimeout))
		}
	}
}
