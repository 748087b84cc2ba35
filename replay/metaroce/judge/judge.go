package judge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// maxFull is how many findings of a rule and connection are handed out; all are counted.
const maxFull = 16

// Connection judges one connection.
type Connection struct {
	id         finding.ConnectionID
	parameters mr0.Parameters
	out        func(*finding.Finding)
	lanes      [2]lane
	tallies    [finding.MetaRoCERuleCount]finding.Tally
	full       [finding.MetaRoCERuleCount]uint8

	now      int64 // latest time of the capture
	timed    bool  // there was one
	backward bool  // the capture's clock went back: what rests on it is not judged any more
}

// New is the judge of a connection. The parameters are those that both ends are held to; out is called for each
// finding, which is its own.
func New(id finding.ConnectionID, parameters mr0.Parameters, out func(*finding.Finding)) *Connection {
	c := &Connection{id: id, parameters: parameters, out: out}
	for i := range c.lanes {
		c.lanes[i].init(i)
	}
	return c
}

// event is one packet of the connection.
type event struct {
	packet *dissector.Packet
	m      *mr0.Packet
	number uint64
	time   int64
	timed  bool // and the capture's clock is to be relied on
	lane   int
}

// tolerated is by how much the order of the capture and its clock may disagree, ns.
const tolerated = 1_000_000

// Observe takes a packet of a lane, 0 or 1, in the order of the capture.
func (c *Connection) Observe(n int, s *finding.Sighting) {
	p := s.Packet
	m := &p.MetaRoCE.MR0
	if s.Copy || n>>1 != 0 || p.Protocol != dissector.ProtocolMetaRoCE || m.Has&mr0.HasCH == 0 {
		return
	}
	e := event{packet: p, m: m, number: p.Meta.Number, time: p.Meta.Time, timed: p.Meta.HasTime, lane: n}
	if e.timed {
		c.backward = c.backward || c.timed && e.time < c.now-tolerated
		c.now, c.timed = max(c.now, e.time), true
		if e.timed = !c.backward; !e.timed {
			e.time = 0
		}
	}
	l := &c.lanes[n]
	l.packets++
	if !c.believable(l, &e, s) {
		return
	}
	l.address(p)
	c.lanes[1-n].identify(m)
	c.common(l, &e)
	switch m.CH.Type {
	case mr0.TypeConnReq, mr0.TypeConnRep, mr0.TypeConnRej:
		c.setUp(l, &e)
	case mr0.TypeDisconnect:
		c.disconnect(l, &e)
	case mr0.TypeACK:
		c.acknowledge(&c.lanes[1-n], l, &e)
	case mr0.TypeNAK:
		c.refuse(&c.lanes[1-n], l, &e)
	default:
		c.sequenced(l, &e)
	}
}

// Join says that the second direction becomes known only now: what it had said before was not seen. Nothing of it is
// missed: what the first direction did until now is not held against it, since no answer was seen, and a lane
// begins with its first packet.
func (c *Connection) Join() {
	for i := range c.lanes {
		for _, p := range c.lanes[i].paths {
			if p != nil {
				p.forgetCauses()
			}
		}
	}
}

// complete tells whether all headers of the type were captured.
func complete(m *mr0.Packet) bool {
	var want mr0.HeaderSet
	switch m.CH.Type {
	case mr0.TypeConnReq, mr0.TypeConnRep:
		want = mr0.HasCONN
	case mr0.TypeConnRej:
		want = mr0.HasREJ
	case mr0.TypeDisconnect:
		want = mr0.HasDISC
	case mr0.TypeWrite:
		want = mr0.HasDH | mr0.HasWETH
	case mr0.TypeSend:
		want = mr0.HasDH | mr0.HasSETH
	case mr0.TypeReadReq:
		want = mr0.HasDH | mr0.HasRRETH
	case mr0.TypeReadResp:
		want = mr0.HasDH | mr0.HasRSETH
	case mr0.TypeAtomicReq:
		want = mr0.HasDH | mr0.HasAETH
	case mr0.TypeAtomicResp:
		want = mr0.HasDH | mr0.HasARETH
	case mr0.TypeProbe:
		want = mr0.HasDH
	case mr0.TypeACK:
		want = mr0.HasACKH
	case mr0.TypeNAK:
		want = mr0.HasNAKH
	default:
		return false
	}
	return m.Has&want == want
}
