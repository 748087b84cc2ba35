package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// path is a path of the flow by its number. Where it begins is known when the handshake was seen.
func (t *Tracker) path(f *metaFlow, id uint8) *metaPath {
	if int(id) < len(f.paths) && f.paths[id] != nil {
		return f.paths[id]
	}
	for len(f.paths) <= int(id) {
		f.paths = append(f.paths, nil)
	}
	s := &metaPath{id: id}
	f.paths[id] = s
	t.meta.grown(f)
	return s
}

// sequenced takes a packet that has a psn of its own.
func (t *Tracker) sequenced(f *metaFlow, p *dissector.Packet, m *mr0.Packet, icrc dissector.ICRCState, bytes uint64, o *Observation) {
	s, psn := t.path(f, m.CH.PathID), m.CH.PSN
	if !s.started {
		s.begin(f, psn)
	}
	d := int32(psn - s.next)
	if icrc == dissector.ICRCBad && f.icrc[dissector.ICRCGood] > 0 && (d > 0 || d < -metaWindow) {
		return // the psn may be what is damaged
	}
	switch {
	case d >= metaReach || d < -metaReach:
		s.restart(psn)
		t.ahead(f, s, p, m, o)
	case d >= 0:
		t.ahead(f, s, p, m, o)
	default:
		t.behind(f, s, p, m, o)
	}
	if o.Flags&FlagMirrorCopy != 0 {
		return
	}
	s.count(p, m, bytes)
	switch m.CH.Type {
	case mr0.TypeReadResp:
		f.operations.ReadResponse++
	case mr0.TypeAtomicResp:
		f.operations.AtomicResponse++
	case mr0.TypeProbe: // it may take the psn of bytes that moved to another path
		s.noteProbe(p, psn)
		f.probes++
	default:
	}
	if f.reverse == nil && m.Has&mr0.HasDH != 0 {
		t.meta.offer(f, m)
	}
	t.markMeta(f, s, p)
}

// noteProbe counts a PROBE, and remembers when the first one came and which was the last.
func (s *metaPath) noteProbe(p *dissector.Packet, psn uint32) {
	if !s.firstProbe.Known {
		s.firstProbe = known(p.Meta.Number)
		if p.Meta.HasTime {
			s.firstProbeTime = known(uint64(p.Meta.Time))
		}
	}
	s.probes++
	s.lastProbe, s.probePSN = known(p.Meta.Number), psn
}

// begin starts the sequence at the first packet, or where the handshake said that the path begins.
func (s *metaPath) begin(f *metaFlow, psn uint32) {
	s.started, s.firstPSN, s.next = true, psn, psn
	if c := &f.handshake; c.declared {
		const apart = 1 << 20 // between the first psns of two paths
		initial := c.conn.InitialPSN + uint32(s.id)*apart
		if d := int32(psn - initial); d > 0 && d <= metaWindow {
			s.firstPSN, s.next = initial, initial
		}
	}
}

// restart begins the path anew, since its connection did.
func (s *metaPath) restart(psn uint32) {
	s.next = psn
	clear(s.ring)
	s.acked, s.hasHighest, s.sacked, s.sack, s.runCount = false, false, 0, [4]uint64{}, 0
}

// count adds what every packet of the path has.
func (s *metaPath) count(p *dissector.Packet, m *mr0.Packet, bytes uint64) {
	s.packets++
	s.bytes += bytes
	s.payload += uint64(m.CH.PayloadLength)
	s.lastNumber = p.Meta.Number
	if s.firstNumber == 0 {
		s.firstNumber = p.Meta.Number
	}
	if p.Meta.HasTime {
		if !s.hasTime {
			s.hasTime, s.firstTime = true, p.Meta.Time
		}
		s.lastTime = p.Meta.Time
	}
	if m.CH.PlaneID != s.plane || !s.hasPlane {
		if s.hasPlane {
			s.planeChanges++
		}
		s.plane, s.hasPlane = m.CH.PlaneID, true
	}
	s.usePort(p)
}

// ahead takes a packet whose psn is expected, or leaves others out.
func (t *Tracker) ahead(f *metaFlow, s *metaPath, p *dissector.Packet, m *mr0.Packet, o *Observation) {
	psn := m.CH.PSN
	if psn != s.next {
		o.Flags |= FlagGapBefore
		t.missMeta(s, s.next, psn)
	}
	f.noteID(p)
	e := s.open(psn)
	s.next = psn + 1
	s.fill(e, p, m)
	e.first = e.time
	if s.covers(psn) {
		e.what |= sentAcked
	} else if s.acked {
		s.flightMax = max(s.flightMax, s.flight())
	}
	fresh := true
	if m.CH.Flags&mr0.FlagRTX != 0 { // bytes that went out on another path before
		s.retransmitted++
		s.moved++
		t.totals.Retransmitted++
		o.Flags |= FlagRetransmitted
		fresh = !f.moved(s, e, m)
	}
	t.arrived(f, p, m, e, fresh)
}

// arrived tells stream and message of a packet that was not seen before.
func (t *Tracker) arrived(f *metaFlow, p *dissector.Packet, m *mr0.Packet, e *sent, fresh bool) {
	switch {
	case m.CH.Type == mr0.TypeProbe:
		f.operations.Other++
	case m.Has&mr0.HasDH != 0:
		if m.CH.Flags&mr0.FlagLast == 0 && m.CH.Type != mr0.TypeReadReq {
			f.mtu = max(f.mtu, m.CH.PayloadLength)
		}
		stream, number := t.stream(f, m.DH.StreamID)
		if stream == nil {
			f.dropped++
			break
		}
		stream.touch(p)
		stream.payload += uint64(m.CH.PayloadLength)
		if m.CH.Flags&mr0.FlagRTX != 0 {
			stream.retransmitted++
		}
		t.carry(f, p, m, stream, number, e, fresh)
	}
	if e.what&sentAcked != 0 {
		f.credit(e, p.Meta.Time, p.Meta.HasTime)
	}
}

// open makes the entry of a psn that the path has not reached before, in place of one that is out of the window.
func (s *metaPath) open(psn uint32) *sent {
	if len(s.ring) < metaWindow {
		if len(s.ring) == 0 {
			s.ring = make([]sent, metaFirstRing)
		} else if e := s.at(psn); e.what&sentKnown != 0 && e.what&sentAcked == 0 {
			s.widen()
		}
	}
	e := s.at(psn)
	if e.what&(sentKnown|sentSeen|sentAcked) == sentKnown {
		s.leave(run{e.psn, e.psn + 1})
	}
	*e = sent{psn: psn, what: sentKnown}
	return e
}

func (s *metaPath) widen() {
	old := s.ring
	s.ring = make([]sent, 2*len(old))
	for i := range old {
		if e := &old[i]; e.what&sentKnown != 0 {
			*s.at(e.psn) = *e
		}
	}
}

// leave remembers psns that leave the window without having been seen or acknowledged. The oldest make room.
func (s *metaPath) leave(r run) {
	if n := s.runCount; n > 0 && s.runs[n-1].end == r.start {
		s.runs[n-1].end = r.end
		return
	}
	if s.runCount == metaRuns {
		copy(s.runs[:], s.runs[1:])
		s.runCount--
	}
	s.runs[s.runCount] = r
	s.runCount++
}

// missMeta counts psns that were passed over.
func (t *Tracker) missMeta(s *metaPath, from, to uint32) {
	s.gaps++
	s.missing += uint64(to - from)
	t.totals.MissingPSNs += uint64(to - from)
	if n := to - from; n > metaWindow {
		far := run{from, to - metaWindow}
		if d := int32(s.cumulative - far.start); s.acked && d > 0 {
			covered := min(uint32(d), far.end-far.start)
			s.missingAcked += uint64(covered)
			far.start += covered
		}
		if far.start != far.end {
			s.leave(far)
		}
		from = to - metaWindow
	}
	for psn := from; psn != to; psn++ {
		if e := s.open(psn); s.covers(psn) {
			e.what |= sentAcked
			s.missingAcked++
		}
	}
}

// fill notes a packet in the entry of its psn.
func (s *metaPath) fill(e *sent, p *dissector.Packet, m *mr0.Packet) {
	e.time, e.timed = p.Meta.Time, p.Meta.HasTime
	e.timestamp, e.id, e.vantage = m.DH.Timestamp, p.Network.ID, vantageOf(p)
	e.what = e.what&^(sentRTX|sentMarked) | sentSeen
	if m.CH.Flags&mr0.FlagRTX != 0 {
		e.what |= sentRTX
	}
	if p.Network.ECN == dissector.ECNCE {
		e.what |= sentMarked
	}
}

// markMeta counts congestion marks.
func (t *Tracker) markMeta(f *metaFlow, s *metaPath, p *dissector.Packet) {
	if p.Network.ECN == dissector.ECNNotECT {
		return
	}
	s.capable++
	f.capable++
	if p.Network.ECN == dissector.ECNCE {
		s.marked++
		f.marked++
		t.totals.CEMarked++
	}
}
