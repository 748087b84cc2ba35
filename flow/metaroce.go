package flow

import (
	"errors"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Tracks tells whether the packet is of a transport whose connections are tracked: RoCE, or MetaRoCE with a whole
// common header.
func Tracks(p *dissector.Packet) bool {
	return p.IsRDMA() || p.Protocol == dissector.ProtocolMetaRoCE && p.MetaRoCE.MR0.Has&mr0.HasCH != 0
}

// metaTracker is the part of a tracker that MetaRoCE has for itself.
type metaTracker struct {
	table     metaTable
	flows     []*metaFlow
	free      []uint32
	order     eviction
	latest    *metaFlow
	offers    []metaOffer
	announced map[Key]*metaFlow // flows that are awaited, and their other directions
	parts     int               // paths and streams of all flows
	pairs     uint64            // ever
	record    MetaRoCERecord    // handed out, reused
	ports     []PortUse         // of its paths
	awake     roster            // flows of which something may have been counted since the latest cut
}

func (t *metaTracker) live() int { return len(t.flows) - len(t.free) }

// grown notes a path or stream more.
func (t *metaTracker) grown(f *metaFlow) {
	f.parts++
	t.parts++
}

// observeMeta takes a packet of MetaRoCE, or one on its way to be one.
func (t *Tracker) observeMeta(p *dissector.Packet, err error, icrc dissector.ICRCState, bytes uint64, o *Observation) {
	m := &p.MetaRoCE.MR0
	malformed, truncated := errors.Is(err, dissector.ErrMalformed), errors.Is(err, dissector.ErrTruncated)
	t.totals.RDMAPackets++
	t.totals.RDMABytes += bytes
	for t.meta.parts > t.config.MaxPaths && t.meta.live() > 1 {
		t.evictMeta()
	}
	if malformed || m.Has == mr0.HasCH && !m.CH.Type.Sequenced() && truncated {
		// Nothing of it is to be believed, or there is not enough of it, but it is held against its flow.
		t.judgeICRC(nil, icrc)
		if f := t.metaFind(p, m); f != nil {
			t.touchMeta(f, p, bytes)
			o.Flow = f.id
			if malformed {
				f.malformed++
			} else {
				f.truncated++
			}
		}
		return
	}
	f := t.metaFlowOf(p, m)
	t.touchMeta(f, p, bytes)
	f.payload += uint64(m.CH.PayloadLength)
	o.Flow = f.id
	if truncated {
		f.truncated++
	}
	switch {
	case m.CH.Type.Sequenced():
		t.sequenced(f, p, m, icrc, bytes, o)
	case icrc == dissector.ICRCBad && f.icrc[dissector.ICRCGood] > 0: // not to be believed
	case t.heardBefore(f, p, m):
		o.Flags |= FlagMirrorCopy
		f.mirrorCopies++
		t.totals.MirrorCopies++
	default:
		f.noteID(p)
		t.control(f, p, m, o)
	}
	if o.Flags&FlagMirrorCopy == 0 {
		t.judgeICRC(f, icrc)
	}
	if t.cutting && f.reverse != nil && f.reverse.stamp <= t.cut { // an ACK counts for the other direction, too
		t.meta.awake.add(f.reverse.number)
	}
}

// judgeICRC counts the verdict on a packet that is no mirror copy.
func (t *Tracker) judgeICRC(f *metaFlow, icrc dissector.ICRCState) {
	switch icrc {
	case dissector.ICRCBad:
		t.totals.ICRCErrors++
	case dissector.ICRCUndetermined:
		t.totals.ICRCUndetermined++
	case dissector.ICRCNotChecked, dissector.ICRCGood:
	}
	if f != nil {
		f.icrc[icrc&3]++
	}
}

// control takes a packet without a psn of its own.
func (t *Tracker) control(f *metaFlow, p *dissector.Packet, m *mr0.Packet, o *Observation) {
	switch m.CH.Type {
	case mr0.TypeACK:
		f.acks++
		f.operations.Ack++
		if f.reverse == nil {
			if g := t.meta.vote(f, m); g != nil {
				t.pairMeta(f, g, PairingInferred)
			}
		}
		if f.reverse != nil && m.Has&mr0.HasACKH != 0 {
			f.reverse.acknowledgedBy(t.path(f.reverse, m.CH.PathID), p, &m.ACKH, o)
		}
	case mr0.TypeNAK:
		f.operations.Ack++
		t.refuse(f, m)
	case mr0.TypeConnReq, mr0.TypeConnRep, mr0.TypeConnRej:
		f.operations.Other++
		t.setUp(f, p, m)
	case mr0.TypeDisconnect:
		f.operations.Other++
		t.disconnect(f, m)
	default:
		f.operations.Other++
	}
}

// refuse takes a NAK.
func (t *Tracker) refuse(f *metaFlow, m *mr0.Packet) {
	h := &m.NAKH
	if h.Reason == mr0.NAKReasonReceiverNotReady {
		f.rnrNaks++
		t.totals.RNRNaks++
		f.rnrTimerMax = max(f.rnrTimerMax, int64(h.RetryAfter))
	} else {
		t.totals.Naks++
		if int(h.Reason) < len(f.naks) {
			f.naks[h.Reason]++
		} else {
			f.naks[0]++
		}
	}
	g := f.reverse
	if g == nil {
		return
	}
	s := t.path(g, m.CH.PathID)
	s.naks++
	if e := s.find(h.RefusedPSN); e != nil && h.Reason == mr0.NAKReasonReceiverNotReady {
		e.what |= sentNaked
	}
	if n, ok := g.byID.find(uint64(h.StreamID)); ok {
		g.streams[n].naks++
	}
}

// touchMeta counts what every packet of the flow has.
func (t *Tracker) touchMeta(f *metaFlow, p *dissector.Packet, bytes uint64) {
	if f.stamp <= t.cut {
		t.resumeMeta(f, p.Meta.Number)
	}
	f.packets++
	f.bytes += bytes
	f.lastNumber = p.Meta.Number
	f.stamp = t.stamp
	if p.Meta.HasTime {
		f.lastTime = p.Meta.Time
		if !f.hasTime {
			f.hasTime, f.firstTime = true, p.Meta.Time
		}
	}
	if p.UDP.SourcePort != f.sourcePort {
		if f.ports == nil {
			f.ports = new(portSet)
			f.ports.add(f.sourcePort)
		}
		f.ports.add(p.UDP.SourcePort)
	}
}

// noteID follows the IP IDs of packets that are no copies: a sender that repeats itself tells nothing by them.
func (f *metaFlow) noteID(p *dissector.Packet) {
	f.idStuck = f.idStuck || f.hasID && p.Network.ID == f.lastID
	f.lastID, f.hasID = p.Network.ID, true
}

// sameAgain tells whether a packet that says the same as an earlier one is that one, captured again. Otherwise the
// network doubled it, or its sender.
func (t *Tracker) sameAgain(f *metaFlow, time int64, timed bool, id uint16, vantage uint8, p *dissector.Packet) bool {
	timed = timed && p.Meta.HasTime
	apart := p.Meta.Time - time
	if apart < 0 {
		apart = -apart
	}
	switch {
	case timed && apart >= int64(t.config.MirrorWindow):
		return false
	case vantage != vantageOf(p):
		return true
	case id != p.Network.ID:
		return false
	}
	return id != 0 && !f.idStuck || timed && apart <= int64(t.config.MirrorTight)
}

// heardBefore tells whether a packet without a psn is another capture of a recent one, and remembers it.
func (t *Tracker) heardBefore(f *metaFlow, p *dissector.Packet, m *mr0.Packet) bool {
	key := uint64(m.CH.PSN) | uint64(m.CH.PathID)<<32 | uint64(m.CH.Type)<<40
	switch m.CH.Type {
	case mr0.TypeACK:
		key = mix(key^mixA, uint64(m.ACKH.CumulativePSN)<<32|uint64(m.ACKH.EchoTimestamp)^mixB)
	case mr0.TypeNAK:
		key = mix(key^mixA, uint64(m.NAKH.RefusedPSN)<<32|uint64(m.NAKH.MSN)^mixB)
	default:
		key = mix(key^mixA, m.CONN.Nonce^m.REJ.Nonce^mixB)
	}
	r := &f.acksSeen
	for i := range r.ring {
		if s := &r.ring[i]; s.valid && s.key == key && t.sameAgain(f, s.time, s.timed, s.id, s.vantage, p) {
			return true
		}
	}
	r.ring[r.next%ringSize] = ackSighting{
		key: key, time: p.Meta.Time, timed: p.Meta.HasTime, id: p.Network.ID, vantage: vantageOf(p), valid: true,
	}
	r.next++
	return false
}
