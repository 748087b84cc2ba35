package flow

// metaTable finds flows of MetaRoCE by key: open addressing with linear probing, as table does.
type metaTable struct {
	slots []metaSlot
	used  int
}

type metaSlot struct {
	hash uint64
	flow *metaFlow
}

func (t *metaTable) find(hash uint64, k *Key) *metaFlow {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := &t.slots[i]
		if e.flow == nil {
			return nil
		}
		if e.hash == hash && e.flow.key == *k {
			return e.flow
		}
	}
}

func (t *metaTable) insert(f *metaFlow) {
	if t.used*2 >= len(t.slots) {
		old := t.slots
		t.slots = make([]metaSlot, max(64, 2*len(old)))
		for _, e := range old {
			if e.flow != nil {
				t.place(e)
			}
		}
	}
	t.place(metaSlot{f.hash, f})
	t.used++
}

func (t *metaTable) place(e metaSlot) {
	mask := uint64(len(t.slots) - 1)
	i := e.hash & mask
	for t.slots[i].flow != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = e
}

// remove takes a flow out and moves back what had been pushed past it.
func (t *metaTable) remove(f *metaFlow) {
	mask := uint64(len(t.slots) - 1)
	i := f.hash & mask
	for t.slots[i].flow != f {
		if t.slots[i].flow == nil {
			return
		}
		i = (i + 1) & mask
	}
	t.used--
	for hole, j := i, (i+1)&mask; ; j = (j + 1) & mask {
		e := t.slots[j]
		if e.flow == nil {
			t.slots[hole] = metaSlot{}
			return
		}
		if (j-e.hash)&mask >= (j-hole)&mask {
			t.slots[hole] = e
			hole = j
		}
	}
}

// chains finds numbers by key: a fixed array of chains, short ones among the few that it has to find.
type chains struct {
	heads [64]uint16 // number plus one
	links []chainLink
}

type chainLink struct {
	key  uint64
	next uint16 // number plus one
}

func chainOf(key uint64) uint64 { return key * mixA >> 58 }

// find is the number with the key, and false when there is none.
func (c *chains) find(key uint64) (int, bool) {
	for n := c.heads[chainOf(key)]; n != 0; n = c.links[n-1].next {
		if c.links[n-1].key == key {
			return int(n - 1), true
		}
	}
	return 0, false
}

// add enters a number, which is at most the one after the highest so far.
func (c *chains) add(number int, key uint64) {
	if number == len(c.links) {
		c.links = append(c.links, chainLink{})
	}
	head := &c.heads[chainOf(key)]
	c.links[number] = chainLink{key: key, next: *head}
	*head = uint16(number + 1)
}

// remove takes a number out.
func (c *chains) remove(number int) {
	at := &c.heads[chainOf(c.links[number].key)]
	for *at != 0 && int(*at-1) != number {
		at = &c.links[*at-1].next
	}
	if *at != 0 {
		*at = c.links[number].next
	}
}
