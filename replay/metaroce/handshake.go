package metaroce

import (
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Connect begins to set up a connection. The peer is given by its address in each plane, the first suffices when it is
// the same in all. EventConnected, EventRejected or EventTimedOut follows.
func (e *Endpoint) Connect(now time.Duration, peer ...netip.Addr) (*Connection, error) {
	if len(peer) == 0 {
		return nil, ErrAddress
	}
	for i, a := range peer {
		if !a.IsValid() || a.Is4() != e.config.Planes[min(i, len(e.config.Planes)-1)].Is4() {
			return nil, ErrAddress
		}
	}
	if len(e.connections) >= e.config.MaxConnections {
		return nil, ErrTooMany
	}
	c := e.newConnection()
	c.local.Nonce = e.config.Random.Uint64()
	c.setRemote(peer, len(e.config.Planes))
	c.makePaths()
	c.begin(now)
	return c, nil
}

// Resume makes an open connection of what both ends have said of themselves, as if the handshake had been seen: for
// replay and for tests. The local connection id must not be in use.
func (e *Endpoint) Resume(local, peer mr0.CONN, peerAddresses ...netip.Addr) (*Connection, error) {
	switch {
	case len(peerAddresses) == 0:
		return nil, ErrAddress
	case len(e.connections) >= e.config.MaxConnections, e.connections[local.SourceConnID] != nil:
		return nil, ErrTooMany
	}
	c := e.newConnection()
	delete(e.connections, c.local.SourceConnID)
	c.local = local
	e.connections[local.SourceConnID] = c
	c.setRemote(peerAddresses, len(e.config.Planes))
	c.makePaths()
	c.open(peer)
	return c, nil
}

// Disconnect ends the connection. Work that is not done completes with [ErrFlushed]; EventDisconnected follows at once,
// and the peer is told until it answers.
func (c *Connection) Disconnect(now time.Duration) {
	switch c.state {
	case StateConnecting:
		c.close()
		c.endpoint.report(Event{Kind: EventDisconnected, Connection: c})
	case StateOpen:
		c.end(now, mr0.DisconnectReasonNormal, nil)
	case StateDisconnecting, StateLingering, StateClosed:
	}
}

// begin sends CONN_REQ or DISCONNECT until it is answered.
func (c *Connection) begin(now time.Duration) {
	c.interval = c.endpoint.config.RTOInitial
	c.attempts = connectAttempts
	c.controlDue = true
	c.attemptAt = now + c.interval
	c.arm(c.attemptAt)
	c.wake()
}

// retry sends it again, or gives up.
func (c *Connection) retry(now time.Duration) {
	switch {
	case c.state == StateOpen || c.state == StateClosed:
		c.attemptAt = Never
	case c.state == StateLingering:
		c.close()
	case c.attempts > 0:
		c.attempts--
		c.interval *= 2
		c.controlDue = true
		c.attemptAt = now + c.interval
	default:
		if c.state == StateConnecting {
			c.endpoint.report(Event{Kind: EventTimedOut, Connection: c})
		}
		c.close()
	}
}

// accept takes a CONN_REQ.
func (e *Endpoint) accept(d *Datagram, p *mr0.Packet) Verdict {
	key := requestKey{sourceConnID: p.CONN.SourceConnID, nonce: p.CONN.Nonce}
	if c := e.requests[key]; c != nil {
		if c.state != StateOpen {
			return VerdictUnknown
		}
		c.controlDue = true
		c.wake()
		return VerdictDuplicate
	}
	if p.CH.DestConnID != 0 {
		return VerdictInvalid
	}
	reason := e.judge(d, p)
	if reason != 0 {
		if e.replies.len() >= maxReplies {
			return VerdictNoRoom
		}
		e.replies.push(rejection{
			source:      netip.AddrPortFrom(d.Destination.Addr(), e.config.Port),
			destination: netip.AddrPortFrom(d.Source.Addr(), e.config.Port),
			connID:      p.CONN.SourceConnID, partitionKey: p.CH.PartitionKey,
			header: mr0.REJ{Reason: reason, Nonce: p.CONN.Nonce},
		})
		return VerdictRefused
	}
	c := e.newConnection()
	c.passive = true
	c.local.Nonce = p.CONN.Nonce
	e.requests[key] = c
	c.setRemote([]netip.Addr{d.Source.Addr()}, len(e.config.Planes))
	if int(p.CH.PlaneID) < len(c.remote) {
		c.learnt[0] = p.CH.PlaneID == 0
		c.learn(p.CH.PlaneID, d.Source.Addr())
	}
	c.makePaths()
	c.open(p.CONN)
	c.controlDue = true
	c.wake()
	e.report(Event{Kind: EventAccepted, Connection: c})
	return VerdictAccepted
}

// judge says why a request is rejected, 0 when it is not.
func (e *Endpoint) judge(d *Datagram, p *mr0.Packet) mr0.RejectReason {
	switch {
	case !samePartition(p.CH.PartitionKey, e.config.PartitionKey):
		return mr0.RejectReasonPartition
	case int(p.CONN.MTU) < e.config.MinMTU:
		return mr0.RejectReasonMTU
	case len(e.connections) >= e.config.MaxConnections:
		return mr0.RejectReasonNoResources
	case e.events.len() >= maxEvents || d.Source.Addr().Is4() != e.config.Planes[0].Is4():
		return mr0.RejectReasonBusy
	case e.config.Accept != nil:
		return e.config.Accept(ConnectionRequest{Source: d.Source, PartitionKey: p.CH.PartitionKey, CONN: p.CONN})
	}
	return 0
}

func (e *Endpoint) reject(r rejection, scratch []byte) Datagram {
	e.out.CH = mr0.CH{Type: mr0.TypeConnRej, DestConnID: r.connID, PartitionKey: r.partitionKey}
	e.out.REJ = r.header
	return e.datagram(scratch, nil, r.source, r.destination, 0)
}

func (c *Connection) handleReply(p *mr0.Packet) Verdict {
	if c.passive || p.CONN.Nonce != c.local.Nonce {
		return VerdictInvalid
	}
	if c.state != StateConnecting {
		return VerdictDuplicate
	}
	c.open(p.CONN)
	c.attemptAt = Never
	c.controlDue = false
	c.endpoint.report(Event{Kind: EventConnected, Connection: c})
	return VerdictAccepted
}

func (c *Connection) handleReject(p *mr0.Packet) Verdict {
	if c.state != StateConnecting || p.REJ.Nonce != c.local.Nonce {
		return VerdictInvalid
	}
	c.close()
	c.endpoint.report(Event{Kind: EventRejected, Connection: c, Reject: p.REJ.Reason})
	return VerdictAccepted
}

func (c *Connection) handleDisconnect(now time.Duration, p *mr0.Packet) Verdict {
	if p.DISC.SourceConnID != c.peer.SourceConnID || c.state == StateConnecting {
		return VerdictInvalid
	}
	switch c.state {
	case StateOpen:
		c.reason = p.DISC.Reason
		c.flush(ErrFlushed)
		c.state = StateLingering
		c.attemptAt = now + c.endpoint.config.RTOInitial<<(connectAttempts+1)
		c.arm(c.attemptAt)
		c.controlDue = true
		c.endpoint.report(Event{Kind: EventDisconnected, Connection: c, Disconnect: p.DISC.Reason})
	case StateLingering:
		c.controlDue = true
		return VerdictDuplicate
	case StateDisconnecting:
		c.close()
	case StateConnecting, StateClosed:
	}
	return VerdictAccepted
}

// end ends the connection from this side.
func (c *Connection) end(now time.Duration, reason mr0.DisconnectReason, err error) {
	c.reason = reason
	cause := err
	if cause == nil {
		cause = ErrFlushed
	}
	c.flush(cause)
	c.state = StateDisconnecting
	c.begin(now)
	c.endpoint.report(Event{Kind: EventDisconnected, Connection: c, Disconnect: reason, Err: err})
}

// close takes the connection out of the endpoint.
func (c *Connection) close() {
	e := c.endpoint
	c.flush(ErrFlushed)
	c.state = StateClosed
	c.controlDue = false
	c.attemptAt = Never
	c.setDeadline(Never)
	e.hints.remove(c)
	delete(e.connections, c.local.SourceConnID)
	if c.passive {
		delete(e.requests, requestKey{sourceConnID: c.peer.SourceConnID, nonce: c.local.Nonce})
	}
	for i := range c.paths {
		e.config.SourcePorts.Release(e.config.Planes[c.paths[i].plane], c.paths[i].sourcePort)
	}
	c.paths, c.inbound = nil, nil
}

// control builds the CONN_REQ, CONN_REP or DISCONNECT that is due.
func (c *Connection) control(scratch []byte) Datagram {
	e := c.endpoint
	p := &c.paths[c.controlPath()]
	source, destination := c.addresses(p)
	e.out.CH = mr0.CH{DestConnID: c.peer.SourceConnID, PlaneID: p.plane, PartitionKey: e.config.PartitionKey}
	switch c.state {
	case StateConnecting:
		e.out.CH.Type = mr0.TypeConnReq
		e.out.CONN = c.local
	case StateOpen:
		e.out.CH.Type = mr0.TypeConnRep
		e.out.CONN = c.local
	default:
		e.out.CH.Type = mr0.TypeDisconnect
		e.out.DISC = mr0.DISC{SourceConnID: c.local.SourceConnID, Reason: c.reason}
	}
	return e.datagram(scratch, nil, source, destination, p.plane)
}

// controlPath is whose source port and plane the packet goes by: one path after the other, since the way of the first
// may be broken, of those whose peer's address is certain.
func (c *Connection) controlPath() int {
	n := len(c.paths)
	for i := range n {
		if at := (int(c.controls) + i) % n; c.learnt[int(c.paths[at].plane)%len(c.learnt)] {
			c.controls = uint8((at + 1) % n)
			return at
		}
	}
	return 0
}
