package merge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Limits of a sample.
const (
	maxSampled = 1 << 17 // packets
	maxLanes   = 1 << 16
)

// Sample is what is kept of a capture to compare it with another: the packets whose identity is below a limit, which
// are the same ones in every capture, so that two samples have in common what the captures have in common.
type Sample struct {
	Packets     uint64 // that could be compared
	First, Last int64  // their earliest and latest time by the capture's clock, ns
	began       int64  // time of the first and of the last packet in the order of the capture
	ended       int64

	limit   uint64 // identities above it are not kept
	entries map[uint64]entry
	lanes   map[lane]*laneSample
	pairs   map[uint64]uint64 // flows that are two directions of one connection
	grain   int64             // ns: all times are a multiple of it
}

// entry is a sampled packet.
type entry struct {
	number  uint64
	time    int64
	route   route
	icrc    uint32
	hasICRC bool
	seen    uint8 // times, up to 2: one that comes again is of no use
	again   bool  // not ahead of its lane: a repetition, perhaps, of what the other capture saw
}

// route is a pair of addresses: all that goes from one to the other is thought to pass the points in one order.
type route struct{ from, to dissector.Address }

func (r route) back() route { return route{r.to, r.from} }

// laneSample is what a sample knows of a lane.
type laneSample struct {
	packets, steps uint64 // steps: packets with another IP identification than the one before
	lastID         uint16
	partner        uint64
	ahead          [2]uint32 // PSN that was passed, of requests and of answers
	began          [2]bool
}

// NewSample is a sample of which nothing was taken.
func NewSample() *Sample {
	return &Sample{limit: ^uint64(0), entries: map[uint64]entry{}, lanes: map[lane]*laneSample{}, pairs: map[uint64]uint64{}, grain: 1e6}
}

// Add looks at the next packet of the capture.
func (s *Sample) Add(p *Sighting) {
	if s.Packets == 0 {
		s.First, s.Last, s.began = p.Time, p.Time, p.Time
	}
	s.Packets++
	s.ended = p.Time
	s.First, s.Last = min(s.First, p.Time), max(s.Last, p.Time)
	for s.grain > 1 && p.Time%s.grain != 0 {
		s.grain /= 10
	}
	again := s.lane(p)
	if p.key > s.limit {
		return
	}
	e, known := s.entries[p.key]
	if known {
		e.seen = 2
		s.entries[p.key] = e
		return
	}
	s.entries[p.key] = entry{
		number: p.Number, time: p.Time, route: route{p.source, p.destination}, icrc: p.icrc, hasICRC: p.hasICRC, seen: 1, again: again,
	}
	for len(s.entries) > maxSampled {
		s.limit /= 2
		for key := range s.entries {
			if key > s.limit {
				delete(s.entries, key)
			}
		}
	}
}

// lane takes a packet into what is known of its lane, and tells whether its PSN had been passed.
func (s *Sample) lane(p *Sighting) (again bool) {
	l := s.lanes[p.lane]
	if l == nil {
		if len(s.lanes) >= maxLanes {
			return false
		}
		l = &laneSample{lastID: p.ipID}
		s.lanes[p.lane] = l
	}
	if p.hasID && l.packets > 0 && l.lastID != p.ipID {
		l.steps++
	}
	l.packets++
	l.lastID = p.ipID
	if p.partner != 0 {
		l.partner = p.partner
	}
	return l.passed(p)
}

func (l *laneSample) passed(p *Sighting) bool {
	i := 0
	switch p.kind {
	case kindRequest, kindRead:
	case kindCover, kindNAK, kindRefuse:
		i = 1
	case kindOther, kindCNP, kindSequenced, kindSACK, kindUnready: // a repetition is another packet, or nothing is known
		return false
	}
	d := infiniband.PSNDiff(p.sequence, l.ahead[i])
	if l.began[i] && d <= 0 && d > -maxJump {
		return true
	}
	l.began[i], l.ahead[i] = true, p.sequence
	return false
}

// Pair tells which flow is the opposite direction of another, when that was found late.
func (s *Sample) Pair(flow, partner uint64) {
	if len(s.pairs) < maxLanes {
		s.pairs[flow] = partner
	}
}

// counts tells whether the sender gives each packet of the lane an IP identification of its own, so that a packet and
// its repetition differ.
func (l *laneSample) counts() bool { return l.packets > 1 && l.steps*50 >= (l.packets-1)*49 }
