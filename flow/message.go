package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// messages counts the operations that a flow's requests begin.
type messages struct {
	count   uint64
	end     position // of the open message, when its length and the MTU tell; otherwise 0
	kind    class    // of the open message
	open    bool
	partial bool // the first message of the flow was seen without its beginning
}

// recent is where the latest messages began.
type recent [maxRecent]messageStart

// messageStart is where a recent message began.
type messageStart struct {
	at     position
	number uint32
}

const maxRecent = 2 // messages whose retransmitted packets can still be named; a power of two

// begin counts a message.
func (m *messages) begin(t *Tracker, f *flow, c class, at position) uint32 {
	m.count++
	t.totals.Messages++
	m.kind, m.end = c&classKind, 0
	switch {
	case c&classSend != 0:
		f.operations.Send++
	case c&classWrite != 0:
		f.operations.Write++
	case c&classRead != 0:
		f.operations.ReadRequest++
	case c&classAtomic != 0:
		f.operations.Atomic++
	default:
		f.operations.Other++
	}
	number := uint32(m.count)
	f.recent[number%maxRecent] = messageStart{at, number}
	return number
}

// next takes the packet that moved the frontier. It returns the message's number and, for a packet behind a
// gap, what the gap has to remember of it.
func (m *messages) next(t *Tracker, f *flow, p *dissector.Packet, c class, at position) (uint32, uint8) {
	if c&classStarts != 0 {
		number := m.begin(t, f, c, at)
		m.open = c&classEnds == 0
		if m.open && p.Has&infiniband.HasRETH != 0 && validMTU(t.length) {
			m.end = at + position(spanOf(p.RETH.DMALength, t.length))
		}
		return number, 0
	}
	if m.open && m.end == 0 && c&classEnds == 0 && m.kind == c&classKind {
		return uint32(m.count), holeContinue
	}
	goes := m.open && m.kind == c&classKind && (m.end == 0 || at < m.end)
	m.open = c&classEnds == 0
	if goes {
		return uint32(m.count), holeContinue
	}
	if m.count == 0 {
		m.partial = true
	}
	return m.begin(t, f, c, at), holeMessage
}

// fill takes a late packet of a PSN that had not been seen. flags are what its hole remembers of the packet
// behind it, which it may change, and start is where the hole starts; head is what the part of the hole before the late packet has to remember.
func (m *messages) fill(t *Tracker, f *flow, c class, at, start position, flags *uint8) (number uint32, head uint8) {
	behind := *flags & (holeContinue | holeMessage)
	switch starts, ends := c&classStarts != 0, c&classEnds != 0; {
	case starts && ends:
	case starts && behind == holeMessage: // the message behind the hole begins here
		*flags = *flags&^holeMessage | holeContinue
		return 0, 0
	case starts:
	case ends && behind == holeContinue: // what stands behind the hole is another message
		*flags = *flags&^holeContinue | holeMessage
		head = holeContinue
	case ends:
		return 0, 0
	case at == start: // of the message before the hole
		return 0, 0
	default: // most likely of the message behind the hole
		if behind == holeMessage {
			*flags = *flags&^holeMessage | holeContinue
		}
		return 0, behind
	}
	return m.insert(t, f, c, at), head
}

// before takes a late packet from before all that were seen. It returns the message's number and what the hole
// behind it, if there is one, has to remember of the packet that was the first so far.
func (m *messages) before(t *Tracker, f *flow, c class, at position) (uint32, uint8) {
	starts, ends := c&classStarts != 0, c&classEnds != 0
	if m.partial && !ends { // of the message that was seen without its beginning
		m.partial = !starts
		return 0, holeContinue
	}
	flags := uint8(0)
	if m.partial {
		flags = holeMessage
	}
	m.partial = !starts
	return m.insert(t, f, c, at), flags
}

// insert counts a message that stands before the open one.
func (m *messages) insert(t *Tracker, f *flow, c class, at position) uint32 {
	open, kind, end := m.open, m.kind, m.end
	number := m.begin(t, f, c, at)
	m.open, m.kind, m.end = open, kind, end
	return number
}

// of is the number of the message that a repeated packet belongs to, 0 when that is forgotten.
func (r *recent) of(at position) uint32 {
	best := messageStart{}
	for _, m := range r {
		if m.number != 0 && m.at <= at && m.at >= best.at {
			best = m
		}
	}
	return best.number
}
