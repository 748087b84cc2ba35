package judge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// path is one path of a lane: what was sent on it, and what the receiver has told of it.
type path struct {
	id      uint8
	begun   bool
	base    uint32 // first psn within sight
	next    uint32 // behind the highest psn that was sent, by what was seen or acknowledged
	settled int    // packets since it came into sight, up to enough
	sightTS uint32 // timestamp of the last of these
	slots   []slot // of the latest psns, at psn mod their number, which is a power of two

	port    uint16 // source port of the latest packet
	source  dissector.Address
	portAt  int64  // when it was first used, ns
	repaths uint64 // ports that were used
	aside   uint64 // an answer that left from another port
	contest contest

	latestTS     uint32 // of the highest psn that was seen for the first time
	latestPSN    uint32
	latestTime   int64
	latestNumber uint64
	latestTimed  bool
	probed       bool // PROBEs have taken the places of packets
	movedTS      uint32
	movedNumber  uint64
	movedTime    int64
	movedPort    uint16
	moved        bool // bytes of it were seen on another path, at movedTS

	acked     bool // an ACK was seen
	ack       answer
	unsentEnd uint32 // an ACK that cannot be right ended here
	unsent    bool

	overWindow, overSACK uint64 // packets that went beyond since the latest ACK

	gap       gap
	silent    silence
	probe     probing
	congested congestion
}

// slotState is a set of what is known of a psn.
type slotState uint16

const (
	known       slotState = 1 << iota // the slot is in use
	seen                              // some transmission was seen
	seenFirst                         // one without RTX was
	seenAgain                         // one with RTX was
	covered                           // an ACK has covered it
	cause                             // an ACK showed it missing since it was last sent, or a NAK refused it
	wasMissing                        // an ACK has shown it missing
	refused                           // a NAK has refused it
	retriedOnce                       // it was sent again since
	asProbe                           // a PROBE was seen at its place
	timed                             // time is known
	founded                           // an ACK of the path had been seen before it was first sent
	marked                            // a transmission was marked CE when it was seen
	several                           // transmissions more than the timestamps that are kept
)

// slot is what is known of one psn.
type slot struct {
	psn                      uint32
	state                    slotState
	kind                     mr0.Type
	all, any                 mr0.Flags // flags of all transmissions seen, and of any
	firstTS, lastTS, priorTS uint32
	port, payload            uint16
	stream                   uint16
	msn, offset, length      uint32
	number, last             uint64 // packets: first and latest sighting
	time                     int64  // of the latest
	missingAt                int64  // when an ACK first showed it missing since it was sent
	retryAt                  int64  // when a refused packet may come again
}

const (
	fewestSlots = 32
	mostSlots   = 512
)

// find is the slot of a psn, nil when nothing is known of it.
func (p *path) find(psn uint32) *slot {
	if len(p.slots) == 0 {
		return nil
	}
	s := &p.slots[psn&uint32(len(p.slots)-1)]
	if s.state&known == 0 || s.psn != psn {
		return nil
	}
	return s
}

// enough packets of a path have passed to be sure that those before are out of sight: what came into sight first may
// have been a copy that was late.
const enough = 8

// begin starts the path anew at a psn.
func (p *path) begin(psn uint32) {
	if p.slots == nil {
		p.slots = make([]slot, fewestSlots)
	}
	clear(p.slots)
	p.begun, p.base, p.next = true, psn, psn
	p.settled = 0
	p.gap, p.silent, p.moved, p.unsent = gap{}, silence{}, false, false
	p.overWindow, p.overSACK = 0, 0
}

// extend makes slots up to a psn.
func (p *path) extend(d *lane, end uint32) {
	for p.next != end {
		if uint32(len(p.slots)) < mostSlots && p.acked && mr0.PSNDistance(p.ack.next, p.next) >= int32(len(p.slots))/2 &&
			mr0.PSNDistance(p.base, p.next) >= int32(len(p.slots))/2 {
			p.grow()
		}
		s := &p.slots[p.next&uint32(len(p.slots)-1)]
		if s.state&known != 0 {
			d.retired++
			if s.state&seen == 0 {
				d.holes++
			} else {
				p.outOfSight(s.lastTS)
			}
		}
		*s = slot{psn: p.next, state: known}
		if p.acked && p.settled >= enough {
			s.state |= founded
		}
		p.next++
	}
}

func (p *path) grow() {
	larger := make([]slot, 2*len(p.slots))
	for i := range p.slots {
		if s := &p.slots[i]; s.state&known != 0 {
			larger[s.psn&uint32(len(larger)-1)] = *s
		}
	}
	p.slots = larger
}

// forgetCauses makes sure that nothing is held against what was sent so far: answers to it may not have been seen.
func (p *path) forgetCauses() {
	for i := range p.slots {
		p.slots[i].state &^= founded
	}
	p.acked, p.gap, p.silent = false, gap{}, silence{}
	p.overWindow, p.overSACK = 0, 0
}

// bore tells whether a transmission of the slot bore the timestamp.
func (s *slot) bore(timestamp uint32) bool {
	return s.state&seen != 0 && (timestamp == s.lastTS || timestamp == s.firstTS || timestamp == s.priorTS)
}

// soon is how far two timestamps may lie apart to be compared: they wrap around after 4.29 s.
const soon = 1_000_000_000

// elapsed is how much later timestamp b is than a, ns, if both were seen close enough to each other to tell.
func elapsed(a, b uint32, atA, atB int64) (ns int64, ok bool) {
	if apart := atB - atA; apart > soon || apart < -soon {
		return 0, false
	}
	return int64(int32(b - a)), true
}

// outOfSight notes a packet that there is no slot for: timestamps up to its own say nothing.
func (p *path) outOfSight(timestamp uint32) {
	if mr0.PSNDistance(p.sightTS, timestamp) > 0 {
		p.sightTS = timestamp
	}
}
