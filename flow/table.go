package flow

import "github.com/rocelens/rocelens/dissector"

// table finds flows by key: open addressing with linear probing, because one packet costs one look-up and
// a slot of eight bytes keeps a million flows' index in 16 MiB, one cache miss away.
type table struct {
	slots []slot
	mask  uint64
	used  int
}

// slot holds a flow's number plus one, 0 when free, and the upper half of the flow's hash.
type slot struct {
	tag  uint32
	flow uint32
}

const minSlots = 1 << 10

func newTable() table {
	return table{slots: make([]slot, minSlots), mask: minSlots - 1}
}

// find is the number of the flow with the key, and whether there is one.
func (t *table) find(s *slab, hash uint64, k *Key) (uint32, bool) {
	tag := uint32(hash >> 32)
	for i := hash & t.mask; ; i = (i + 1) & t.mask {
		e := t.slots[i]
		if e.flow == 0 {
			return 0, false
		}
		if e.tag == tag && s.at(e.flow-1).key == *k {
			return e.flow - 1, true
		}
	}
}

// findPacket is the flow of a packet whose service names no source QP, nil when there is none.
func (t *table) findPacket(s *slab, hash uint64, p *dissector.Packet) *flow {
	tag := uint32(hash >> 32)
	for i := hash & t.mask; ; i = (i + 1) & t.mask {
		e := t.slots[i]
		if e.flow == 0 {
			return nil
		}
		if e.tag == tag {
			if f := s.at(e.flow - 1); f.hasKeyOf(p) {
				return f
			}
		}
	}
}

// findQP is the flow with the hash and the key, be its service another one; nil when there is none.
func (t *table) findQP(s *slab, hash uint64, k *Key) *flow {
	tag := uint32(hash >> 32)
	for i := hash & t.mask; ; i = (i + 1) & t.mask {
		e := t.slots[i]
		if e.flow == 0 {
			return nil
		}
		if e.tag == tag {
			f := s.at(e.flow - 1)
			key := f.key
			key.Service = k.Service
			if f.hash == hash && key == *k {
				return f
			}
		}
	}
}

// insert adds a flow whose key is not in the table.
func (t *table) insert(s *slab, hash uint64, flow uint32) {
	if t.used*2 >= len(t.slots) {
		t.grow(s)
	}
	t.place(hash, flow)
	t.used++
}

func (t *table) place(hash uint64, flow uint32) {
	i := hash & t.mask
	for t.slots[i].flow != 0 {
		i = (i + 1) & t.mask
	}
	t.slots[i] = slot{tag: uint32(hash >> 32), flow: flow + 1}
}

func (t *table) grow(s *slab) {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	t.mask = uint64(len(t.slots) - 1)
	for _, e := range old {
		if e.flow != 0 {
			t.place(s.at(e.flow-1).hash, e.flow-1)
		}
	}
}

// remove takes a flow out and moves back what had been pushed past it, so that no marks of deletion pile up.
func (t *table) remove(s *slab, hash uint64, flow uint32) {
	i := hash & t.mask
	for t.slots[i].flow != flow+1 {
		if t.slots[i].flow == 0 {
			return
		}
		i = (i + 1) & t.mask
	}
	t.used--
	for hole, j := i, (i+1)&t.mask; ; j = (j + 1) & t.mask {
		e := t.slots[j]
		if e.flow == 0 {
			t.slots[hole] = slot{}
			return
		}
		home := s.at(e.flow-1).hash & t.mask
		if (j-home)&t.mask >= (j-hole)&t.mask {
			t.slots[hole] = e
			hole = j
		}
	}
}

// clear empties the table and keeps its size.
func (t *table) clear() {
	clear(t.slots)
	t.used = 0
}

// slab holds the flows in chunks, so that a flow never moves, growing copies nothing and numbers stay small.
type slab struct {
	chunks []*[chunkFlows]flow
	free   []uint32
	used   uint32
}

func (s *slab) at(i uint32) *flow { return &s.chunks[i/chunkFlows][i%chunkFlows] }

// take is the number of an unused, zero flow.
func (s *slab) take() uint32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	if int(s.used) == len(s.chunks)*chunkFlows {
		s.chunks = append(s.chunks, new([chunkFlows]flow))
	}
	s.used++
	return s.used - 1
}

// give takes a flow back.
func (s *slab) give(i uint32) {
	*s.at(i) = flow{}
	s.free = append(s.free, i)
}

// live counts the flows in use.
func (s *slab) live() int { return int(s.used) - len(s.free) }
