package flow

import (
	"encoding/binary"
	"math/bits"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// acknowledgedBy takes what an ACK of the other direction says about the path.
func (f *metaFlow) acknowledgedBy(s *metaPath, p *dissector.Packet, h *mr0.ACKH, o *Observation) {
	s.acks++
	s.received, s.ce = h.PacketCount, h.CECount
	s.hint.add(h.RateHint)
	f.hint.add(h.RateHint)
	if !s.started || int32(h.CumulativePSN-s.next) >= metaReach || int32(s.next-h.CumulativePSN) >= metaReach {
		return
	}
	o.Ack.RTT = s.sample(p, h)
	if int32(h.CumulativePSN-s.next) > 0 {
		o.Flags |= FlagAckUnseen
	}
	if !s.acked {
		o.Ack.InFlight = s.firstAck(f, h.CumulativePSN)
	} else {
		o.Ack.InFlight = known(uint64(s.flight()))
		s.flights++
		s.flightSum += o.Ack.InFlight.N
	}
	d := int32(h.CumulativePSN - s.cumulative)
	if d < 0 {
		return // an ACK that was overtaken
	}
	if d > 0 {
		f.advance(s, uint32(d), p)
	}
	for i := range s.sack {
		word := binary.LittleEndian.Uint64(h.SACK[8*i:]) &^ s.sack[i]
		s.sack[i] |= word
		s.sacked += uint32(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			psn := s.cumulative + 1 + uint32(64*i+bits.TrailingZeros64(word))
			if !s.hasHighest || int32(psn-s.highest) >= 0 {
				s.highest, s.hasHighest = psn+1, true
			}
			f.cover(s, psn, p)
		}
	}
}

// firstAck begins the space of acknowledgments. What was in flight before it is known when the whole of the path is.
func (s *metaPath) firstAck(f *metaFlow, cumulative uint32) (flight Count) {
	s.acked = true
	s.cumulative = s.next - min(max(s.next-s.firstPSN, 0), metaWindow)
	if int32(cumulative-s.cumulative) < 0 {
		s.cumulative = cumulative
	}
	if f.handshake.declared {
		flight = known(uint64(s.flight()))
		s.flightMax, s.flights, s.flightSum = s.flight(), 1, flight.N
	}
	return flight
}

// advance moves the cumulative acknowledgment on by n psns.
func (f *metaFlow) advance(s *metaPath, n uint32, p *dissector.Packet) {
	from, to := s.cumulative, s.cumulative+n
	for i := uint8(0); i < s.runCount; {
		r := &s.runs[i]
		covered := int32(to - r.start)
		if covered <= 0 {
			i++
			continue
		}
		covered = min(covered, int32(r.end-r.start))
		s.missingAcked += uint64(covered)
		if r.start += uint32(covered); r.start == r.end {
			copy(s.runs[i:], s.runs[i+1:s.runCount])
			s.runCount--
		} else {
			i++
		}
	}
	if n > metaWindow {
		from = to - metaWindow
	}
	for psn := from; psn != to; psn++ {
		f.cover(s, psn, p)
	}
	s.cumulative = to
	s.shift(n)
}

// shift moves the SACK bits that were seen down by n.
func (s *metaPath) shift(n uint32) {
	if s.sacked == 0 {
		return
	}
	words, rest := int(n/64), n%64
	s.sacked = 0
	for i := range s.sack {
		var low, high uint64
		if j := i + words; j < len(s.sack) {
			low = s.sack[j]
		}
		if j := i + words + 1; j < len(s.sack) {
			high = s.sack[j]
		}
		s.sack[i] = low>>rest | high<<(64-rest)
		s.sacked += uint32(bits.OnesCount64(s.sack[i]))
	}
}

// cover notes that a psn has arrived.
func (f *metaFlow) cover(s *metaPath, psn uint32, p *dissector.Packet) {
	e := s.find(psn)
	if e == nil || e.what&sentAcked != 0 {
		return
	}
	e.what |= sentAcked
	if e.what&sentSeen == 0 {
		s.missingAcked++
		return
	}
	f.credit(e, p.Meta.Time, p.Meta.HasTime)
}

// sample measures a round trip: the packet whose timestamp is echoed is most often the last that was acknowledged.
func (s *metaPath) sample(p *dissector.Packet, h *mr0.ACKH) (rtt Count) {
	if !p.Meta.HasTime || h.Trigger == mr0.ACKTriggerWindowUpdate {
		return rtt
	}
	e := s.find(h.CumulativePSN - 1)
	if e == nil || e.what&sentSeen == 0 || e.timestamp != h.EchoTimestamp {
		e = nil
		for i := range s.ring {
			if c := &s.ring[i]; c.timestamp == h.EchoTimestamp && c.what&sentSeen != 0 {
				e = c
				break
			}
		}
	}
	if e == nil || !e.timed {
		return rtt
	}
	if d := p.Meta.Time - e.time - int64(h.ACKDelay); d >= 0 {
		s.rtt.add(d)
		rtt = known(uint64(d))
	}
	return rtt
}
