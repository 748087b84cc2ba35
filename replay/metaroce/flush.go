package metaroce

import (
	"maps"
	"slices"
)

// flush completes all work of a connection that ends, and drops what it keeps.
func (c *Connection) flush(err error) {
	e := c.endpoint
	for _, id := range slices.Sorted(maps.Keys(c.streams)) {
		s := c.streams[id]
		for s.own.len() > 0 {
			m := s.own.pop()
			done := Completion{
				Connection: c, StreamID: id, MSN: m.msn, ID: m.request.ID, Operation: m.request.Operation, Length: m.length, Err: err,
			}
			if m.complete {
				done.Original, done.Err = m.original, m.err
			}
			e.completions.push(done)
		}
		for s.receives.len() > 0 {
			if r := s.receives.pop(); r.message != taken {
				e.completions.push(Completion{
					Connection: c, StreamID: id, ID: r.id, Operation: OperationSend, Received: true, Err: ErrFlushed,
				})
			}
		}
	}
	for i := range c.paths {
		p := &c.paths[i]
		p.slots, p.una, p.inflight, p.lost, p.refused = nil, p.next, 0, 0, 0
		p.rtoAt, p.refusedAt, p.probeAt, p.tailAt = Never, Never, Never, Never
	}
	for i := range c.inbound {
		c.inbound[i].ackAt = Never
	}
	c.lostPaths, c.tailPaths, c.ackPaths, c.inflightBytes = pathSet{}, pathSet{}, pathSet{}, 0
	c.moved, c.responses = queue[segment]{}, queue[*message]{}
	c.sendable, c.naks = queue[*Stream]{}, queue[nak]{}
	c.answering, c.reading, c.blocked = 0, 0, nil
	clear(c.streams)
	clear(c.reads)
	clear(c.partial)
	e.hints.remove(c)
}
