package judge

import "github.com/rocelens/rocelens/dissector/infiniband"

// position is a PSN without wrap: it counts on where 24 bits begin anew.
type position int64

// slot is what was seen of one PSN of a requester.
type slot struct {
	at        position
	number    uint64 // of the first copy; of a hole: of the packet that showed it
	last      uint64 // of the latest copy
	firstTime int64
	time      int64 // of the latest copy
	dma       uint32
	length    uint32
	back      uint32 // place in its message, from 1; 0: the start of the message was not seen, or not all between
	opcode    infiniband.Opcode
	ipID      uint16 // of the latest copy
	copies    uint8  // 0: a hole, skipped by what followed
	flags     slotFlags
	used      bool
}

type slotFlags uint8

const (
	slotAckRequest slotFlags = 1 << iota
	slotMarked               // CE
	slotTimed                // the times are known
	slotLate                 // filled a hole
	slotRepeated             // a repetition filled a hole: an ACK may be for the copy before, which was not seen
	slotSized                // dma is known
	slotUnanswered           // counted as a request for an ACK that was not answered
)

const (
	minRing = 64
	maxRing = 4096
)

// ring keeps the latest PSNs.
type ring struct {
	slots []slot
}

func (r *ring) find(p position) *slot {
	if len(r.slots) == 0 {
		return nil
	}
	if s := &r.slots[uint64(p)&uint64(len(r.slots)-1)]; s.used && s.at == p {
		return s
	}
	return nil
}

// put makes room for a position; floor is the lowest that must be kept if the limit allows.
func (r *ring) put(p, floor position) *slot {
	if len(r.slots) == 0 {
		r.slots = make([]slot, minRing)
	}
	for p-floor >= position(len(r.slots)) && len(r.slots) < maxRing {
		r.grow()
	}
	s := &r.slots[uint64(p)&uint64(len(r.slots)-1)]
	*s = slot{at: p, used: true}
	return s
}

func (r *ring) grow() {
	old := r.slots
	r.slots = make([]slot, 2*len(old))
	for i := range old {
		if s := &old[i]; s.used {
			r.slots[uint64(s.at)&uint64(len(r.slots)-1)] = *s
		}
	}
}

func (r *ring) clear() {
	clear(r.slots)
}
