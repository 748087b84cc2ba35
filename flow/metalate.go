package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// behind takes a packet whose psn the path has passed.
func (t *Tracker) behind(f *metaFlow, s *metaPath, p *dissector.Packet, m *mr0.Packet, o *Observation) {
	e := s.find(m.CH.PSN)
	switch {
	case e == nil:
		t.forgotten(f, s, p, m, o)
	case e.what&sentSeen == 0:
		t.foundMeta(s)
		if e.what&sentAcked != 0 {
			s.missingAcked--
		}
		t.late(s, p, m, e, o)
		s.fill(e, p, m)
		e.first = e.time
		t.arrived(f, p, m, e, true)
	case e.resentBy(m):
		s.again++
		s.duplicates++
		o.Flags |= FlagDuplicate
		t.late(s, p, m, e, o)
		s.fill(e, p, m)
		f.again(p, m)
	case t.sameAgain(f, e.time, e.timed, e.id, e.vantage, p):
		o.Flags |= FlagMirrorCopy
		f.mirrorCopies++
		t.totals.MirrorCopies++
		if p.Network.ECN == dissector.ECNCE && e.what&sentMarked == 0 { // marked between the two places
			e.what |= sentMarked
			s.marked++
			f.marked++
			t.totals.CEMarked++
		}
	default:
		s.duplicates++
		o.Flags |= FlagDuplicate
		f.again(p, m)
	}
}

// resentBy tells a packet that its sender sent again from another copy of the one that was seen: it has a timestamp
// of its own.
func (e *sent) resentBy(m *mr0.Packet) bool {
	if m.Has&mr0.HasDH == 0 {
		return m.CH.Flags&mr0.FlagRTX != 0 && e.what&sentRTX == 0
	}
	return m.DH.Timestamp != e.timestamp && (m.CH.Flags&mr0.FlagRTX != 0 || int32(m.DH.Timestamp-e.timestamp) > 0)
}

// late counts a packet behind the path's front: resent, and why, or overtaken.
func (t *Tracker) late(s *metaPath, p *dissector.Packet, m *mr0.Packet, e *sent, o *Observation) {
	if m.CH.Flags&mr0.FlagRTX == 0 && (e == nil || e.what&sentSeen == 0) {
		s.outOfOrder++
		t.totals.OutOfOrder++
		o.Flags |= FlagOutOfOrder
		return
	}
	s.retransmitted++
	t.totals.Retransmitted++
	o.Flags |= FlagRetransmitted
	switch {
	case e != nil && e.what&sentNaked != 0:
		e.what &^= sentNaked
		s.afterRNR++
		o.Flags |= FlagAfterRNR
	case s.hasHighest && int32(s.highest-m.CH.PSN) > 0:
		s.afterGap++
		o.Flags |= FlagAfterNAK
	case s.acked && p.Meta.HasTime:
		o.Flags |= FlagAfterTimeout
	}
}

// forgotten takes a packet of which it is no longer, or was never, known whether its psn was seen.
func (t *Tracker) forgotten(f *metaFlow, s *metaPath, p *dissector.Packet, m *mr0.Packet, o *Observation) {
	psn := m.CH.PSN
	before := int32(psn-s.firstPSN) < 0
	fresh := before || t.foundRun(s, psn)
	if !fresh && m.CH.Flags&mr0.FlagRTX == 0 {
		s.duplicates++
		o.Flags |= FlagDuplicate
		f.again(p, m)
		return
	}
	t.late(s, p, m, nil, o)
	if !fresh {
		f.again(p, m)
		return
	}
	var alone sent
	e := &alone
	if before {
		s.firstPSN = psn
		if len(s.ring) > 0 && s.next-psn <= uint32(len(s.ring)) {
			e = s.at(psn)
		}
	}
	*e = sent{psn: psn, what: sentKnown}
	s.fill(e, p, m)
	e.first = e.time
	if s.covers(psn) {
		e.what |= sentAcked
	}
	t.arrived(f, p, m, e, true)
}

// foundMeta counts a psn no longer as missing.
func (t *Tracker) foundMeta(s *metaPath) {
	s.missing--
	t.totals.MissingPSNs--
}

// foundRun takes a psn out of the runs beyond the window. What stood before it in its run is not followed further.
func (t *Tracker) foundRun(s *metaPath, psn uint32) bool {
	for i := range s.runs[:s.runCount] {
		if r := &s.runs[i]; int32(psn-r.start) >= 0 && int32(r.end-psn) > 0 {
			if r.start = psn + 1; r.start == r.end {
				copy(s.runs[i:], s.runs[i+1:s.runCount])
				s.runCount--
			}
			t.foundMeta(s)
			return true
		}
	}
	return false
}

// again counts a packet whose bytes were captured before to its stream.
func (f *metaFlow) again(p *dissector.Packet, m *mr0.Packet) {
	if m.Has&mr0.HasDH == 0 || m.CH.Type == mr0.TypeProbe {
		return
	}
	if n, ok := f.byID.find(uint64(m.DH.StreamID)); ok {
		s := f.streams[n]
		s.touch(p)
		s.payload += uint64(m.CH.PayloadLength)
		if m.CH.Flags&mr0.FlagRTX != 0 {
			s.retransmitted++
		}
	}
}
