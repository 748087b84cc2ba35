package replay

import (
	"cmp"
	"slices"
)

// Connections stand in the order in which they were last seen, so that the one that was silent for the longest is
// found at once when room is needed.

func (e *Engine) push(c *connection) {
	c.newer, c.older = nil, e.newest
	if e.newest != nil {
		e.newest.newer = c
	}
	e.newest = c
	if e.oldest == nil {
		e.oldest = c
	}
}

func (e *Engine) remove(c *connection) {
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		e.newest = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		e.oldest = c.newer
	}
	c.newer, c.older = nil, nil
}

func (e *Engine) touch(c *connection) {
	if e.newest != c {
		e.remove(c)
		e.push(c)
	}
}

// inOrder is every direction by the packet that it begins with, so that one capture gives one output.
func (e *Engine) inOrder() []*direction {
	all := make([]*direction, 0, len(e.directions))
	for _, d := range e.directions {
		all = append(all, d)
	}
	first := func(d *direction) uint64 {
		if len(d.waiting) > 0 {
			return d.waiting[0].packet.Meta.Number
		}
		return 0
	}
	slices.SortFunc(all, func(a, b *direction) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.flow, b.flow))
	})
	return all
}
