package softmetaroce

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// countedConnections is how many connections' counts are kept; the oldest are forgotten.
const countedConnections = 1024

// counts are kept by the connection id that a packet bears: the own one of what comes in, the peer's of what goes out.
type counts struct {
	in, out map[uint32]*tally
	order   [][2]uint32 // own and peer's id, oldest first

	sent, arrived uint64 // packets with a path sequence number, of all connections
	resent, ce    uint64
}

// register begins to count a connection.
func (c *counts) register(conn *metaroce.Connection) {
	if c.in == nil {
		c.in, c.out = map[uint32]*tally{}, map[uint32]*tally{}
	}
	if c.in[conn.ID()] != nil {
		return
	}
	c.in[conn.ID()], c.out[conn.PeerID()] = &tally{}, &tally{}
	c.order = append(c.order, [2]uint32{conn.ID(), conn.PeerID()})
	if len(c.order) > countedConnections {
		delete(c.in, c.order[0][0])
		delete(c.out, c.order[0][1])
		c.order = c.order[1:]
	}
}

// add counts a packet for its connection, if that is known.
func (c *counts) add(t *tally, out bool, p *mr0.Packet, d *metaroce.Datagram) {
	if t == nil {
		return
	}
	overhead := 28
	if d.Source.Addr().Is6() {
		overhead = 48
	}
	t.add(p, len(d.Payload)+overhead, d.Source.Port(), d.ECN)
	if !p.CH.Type.Sequenced() {
		return
	}
	if out {
		c.sent++
		if p.CH.Flags&mr0.FlagRTX != 0 {
			c.resent++
		}
		return
	}
	c.arrived++
	if d.ECN == dissector.ECNCE {
		c.ce++
	}
}

// directions are what went out and came in by a connection.
func (c *counts) directions(conn *metaroce.Connection) (out, in Direction) {
	if t := c.out[conn.PeerID()]; t != nil {
		out = t.direction()
	}
	if t := c.in[conn.ID()]; t != nil {
		in = t.direction()
	}
	return out, in
}

// sockets are what the sockets did so far.
func (p *peer) sockets() SocketCounts {
	c := p.received
	s := &p.send.count
	c.DatagramsSent, c.MessagesSent, c.SendCalls, c.SendErrors = s.DatagramsSent, s.MessagesSent, s.SendCalls, s.SendErrors
	for _, r := range p.receivers {
		c.KernelDrops += uint64(r.drops)
	}
	c.ReceiveBuffer, c.JoinedIn, c.JoinedOut = p.buffer, p.joinedIn, p.send.offload
	return c
}

// connection is what is to be told of one.
func (p *peer) connection(conn *metaroce.Connection) ConnectionReport {
	r := ConnectionReport{
		ID: conn.ID(), PeerID: conn.PeerID(), MTU: conn.MTU(), Transport: conn.Statistics(),
	}
	r.Sent, r.Received = p.counts.directions(conn)
	return r
}

// publish lets other goroutines see how far things are.
func (l *Live) publish(p *peer) {
	l.Sent.Store(p.counts.sent)
	l.Received.Store(p.counts.arrived)
	l.Retransmissions.Store(p.counts.resent)
	l.CE.Store(p.counts.ce)
	l.Connections.Store(int64(p.endpoint.Connections()))
}
