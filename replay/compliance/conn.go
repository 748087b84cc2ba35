package compliance

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Paths that the suite uses of a connection: scenarios work on the first ones, and controls go by the last.
const (
	ownPaths    = 4
	controlPath = ownPaths - 1
)

// ownMTU is what the suite takes: little, so that few bytes are many packets.
const ownMTU = 256

// conn is the suite's end of a connection.
type conn struct {
	x       *attempt
	local   mr0.CONN
	peer    mr0.CONN
	reply   *packet // CONN_REP
	mtu     int
	paths   []*lane   // own ones
	inbound []*inlane // the target's
	ended   bool      // DISCONNECT was sent or has come
	msn     map[uint16]uint32
	index   uint32 // receive_index of the next SEND on stream 0
	notes   uint32 // that have been read of stream 0
	memory  uint32 // rkey, when the target has given memory
	reads   uint32

	received map[messageKey]*message
	// distance is by how much ACKs make the round trip look longer, in turn: an echo_timestamp so much older.
	distance [2]time.Duration
	// acknowledge answers a sequenced packet of the target; nil: nothing does.
	acknowledge func(p *packet)
}

// lane is an own path.
type lane struct {
	sender  int
	next    uint32 // psn
	count   uint32 // sequenced packets sent, those sent again too
	numbers map[uint32]*packet
	latest  *packet // ACK with the highest number
	said    map[uint32]bool
	end     uint32 // highest cumulative_psn that was said
}

// newConn makes the suite's end; change alters what it says of itself.
func (x *attempt) newConn(change ...func(c *mr0.CONN)) *conn {
	c := &conn{x: x, msn: map[uint16]uint32{}, received: map[messageKey]*message{}}
	c.acknowledge = c.acknowledgeNow
	c.local = mr0.CONN{
		SourceConnID: x.lab.random.Uint32() | 1, PathCount: ownPaths, PlaneCount: 1, MTU: ownMTU, LinkRate: 10_000,
		InitialPSN: x.lab.random.Uint32() &^ (1 << 31), StreamCount: 64, MaxWindow: 256, Nonce: x.lab.random.Uint64(),
	}
	for _, f := range change {
		f(&c.local)
	}
	x.connections[c.local.SourceConnID] = c
	return c
}

// request is the connection's CONN_REQ.
func (c *conn) request(how ...as) *outgoing {
	o := &outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq, PartitionKey: c.x.lab.config.PartitionKey}, CONN: c.local}}
	for _, f := range how {
		f(o)
	}
	return o
}

// answered tells whether a packet answers the connection's request.
func (c *conn) answered(p *packet) bool {
	return p.CH.DestConnID == c.local.SourceConnID && (p.is(mr0.TypeConnRep) || p.is(mr0.TypeConnRej))
}

// knock sends a request until it is answered, as the profile has it: again after a time that doubles, five times.
func (c *conn) knock() *packet {
	x := c.x
	x.requests++
	wait := x.timeout() / 4
	for i := range 6 {
		sent := x.send(c.request())
		if i == 1 {
			x.repeated++
			x.sign("a CONN_REQ was not answered at first")
		}
		if p := x.await(sent, wait, c.answered); p != nil {
			if took := p.at - sent.at; i == 0 && (x.rtt == 0 || took < x.rtt) {
				x.rtt = took
			}
			return p
		}
		wait = min(2*wait, x.timeout())
	}
	return nil
}

// connect sets up a connection.
func (x *attempt) connect(change ...func(c *mr0.CONN)) *conn {
	c := x.newConn(change...)
	for end := x.lab.now() + 12*x.timeout(); ; {
		p := c.knock()
		switch {
		case p == nil:
			x.undetermined("the target did not answer a CONN_REQ that it should take, in six tries")
		case p.is(mr0.TypeConnRep):
			c.opened(p)
			return c
		case p.REJ.Reason != mr0.RejectReasonNoResources && p.REJ.Reason != mr0.RejectReasonBusy || x.lab.now() > end:
			x.undetermined("the target rejects connections: %s", p.REJ.Reason)
		}
		// Connections that have ended may have to linger; they are waited for.
		x.await(p, x.timeout()/4, func(*packet) bool { return false })
		c.local.Nonce++
	}
}

// witness is a connection that tells, by its controls, whether the target has worked off what was sent before.
func (x *attempt) witness() *conn {
	if x.witnessing == nil {
		x.witnessing = x.connect()
	}
	return x.witnessing
}

// opened makes use of a CONN_REP.
func (c *conn) opened(p *packet) {
	c.reply, c.peer = p, p.CONN
	c.mtu = min(int(c.local.MTU), int(c.peer.MTU))
	if c.mtu < 256 {
		c.x.undetermined("the CONN_REP has MTU %d", c.peer.MTU)
	}
	c.paths = make([]*lane, c.local.PathCount)
	for i := range c.paths {
		c.paths[i] = &lane{sender: i, next: mr0.PathInitialPSN(c.local.InitialPSN, i), numbers: map[uint32]*packet{}, said: map[uint32]bool{}}
		c.paths[i].end = c.paths[i].next
	}
	c.inbound = make([]*inlane, c.peer.PathCount)
	for i := range c.inbound {
		first := mr0.PathInitialPSN(c.peer.InitialPSN, i)
		c.inbound[i] = &inlane{first: first, cumulative: first, have: map[uint32]*packet{}}
	}
}

// header is the common header of a packet for the target.
func (c *conn) header(t mr0.Type, path int) mr0.CH {
	return mr0.CH{Type: t, DestConnID: c.peer.SourceConnID, PathID: uint8(path), PartitionKey: c.x.lab.config.PartitionKey}
}

// send sends a packet of the connection. A sequenced one takes the path's next psn, unless it is given another.
func (c *conn) send(o *outgoing, how ...as) *packet {
	path := int(o.CH.PathID)
	o.CH.DestConnID = c.peer.SourceConnID
	o.CH.PartitionKey = c.x.lab.config.PartitionKey
	var l *lane
	if o.CH.Type.Sequenced() && path < len(c.paths) {
		l = c.paths[path]
		o.ecn, o.sender = dissector.ECNECT0, l.sender
		o.CH.PSN = l.next
		o.DH.Timestamp = c.x.lab.timestamp()
	}
	for _, f := range how {
		f(o)
	}
	p := c.x.send(o)
	if l != nil && o.mutate == nil && o.spoil == 0 && o.anything == nil {
		l.count++
		if o.CH.PSN == l.next {
			l.next++
		}
	}
	return p
}

// probe sends a PROBE, which is a message of its own: its ACK is due at once.
func (c *conn) probe(path int, how ...as) *packet {
	return c.send(&outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, PathID: uint8(path), Flags: mr0.FlagFirst | mr0.FlagLast}}}, how...)
}

// isACK tells whether a packet acknowledges that path.
func (c *conn) isACK(p *packet, path int) bool {
	return p.is(mr0.TypeACK) && p.CH.DestConnID == c.local.SourceConnID && int(p.CH.PathID) == path
}

// acked waits for an ACK behind p, on its path.
func (c *conn) acked(p *packet) *packet {
	return c.x.await(p, c.x.timeout(), func(a *packet) bool { return a.at >= p.left && c.isACK(a, int(p.CH.PathID)) })
}

// mustACK waits for an ACK of p's path behind it, and fails when none comes.
func (c *conn) mustACK(p *packet, why string) *packet {
	a := c.acked(p)
	if a == nil {
		c.x.fail("an ACK at once: "+why, "none within "+c.x.timeout().String(), p)
	}
	return a
}

// covered tells whether an ACK has covered the psn.
func (c *conn) covered(path int, psn uint32) bool {
	l := c.paths[path]
	return mr0.PSNBefore(psn, l.end) || l.said[psn]
}

// deliver sees to it that packets arrive: what no ACK covers is sent again. It is for what a scenario needs, not for what
// it looks at.
func (c *conn) deliver(packets ...*outgoing) {
	x := c.x
	sent := make([]*packet, len(packets))
	for i, o := range packets {
		flag := mr0.Flags(0)
		if i == len(packets)-1 || i%8 == 7 {
			flag = mr0.FlagAR
		}
		sent[i] = c.send(o, flags(flag))
	}
	missing := func() int {
		for i, p := range sent {
			if !c.covered(int(p.CH.PathID), p.CH.PSN) {
				return i
			}
		}
		return -1
	}
	wait := x.timeout() / 8
	for range 10 {
		if x.until(wait, func() bool { return missing() < 0 }) {
			return
		}
		x.sign("a packet was not acknowledged at first")
		for i := missing(); i < len(sent); i++ {
			if p := sent[i]; !c.covered(int(p.CH.PathID), p.CH.PSN) {
				c.send(packets[i], psn(p.CH.PSN), flags(mr0.FlagAR|mr0.FlagRTX))
			}
		}
		wait = min(2*wait, x.timeout())
	}
	p := sent[missing()]
	x.fail("an ACK of what was sent", fmt.Sprintf("none covers psn %d of path %d, which was sent eleven times", p.CH.PSN, p.CH.PathID), p)
}

// control asks for an ACK on the last path, so that what was sent before has been worked off.
func (c *conn) control() {
	x := c.x
	for i := range 6 {
		p := c.probe(controlPath, flags(mr0.FlagAR))
		if a := x.await(p, x.timeout()/2, func(a *packet) bool { return c.isACK(a, controlPath) && covers(&a.ACKH, p.CH.PSN) }); a != nil {
			return
		}
		if i == 0 && !c.ended {
			x.sign("a PROBE was not acknowledged at first")
		}
	}
	x.fail("the connection lives on", "PROBEs on another path are not acknowledged any more", x.packets[len(x.packets)-1])
}

// settled sees to it that the target has taken what was sent before, and returns the packet that tells: what comes
// behind it was sent by one that knows.
func (c *conn) settled() *packet {
	c.control()
	c.control() // the first may have overtaken what went by another path
	return c.x.packets[len(c.x.packets)-1]
}

// quiet sees to it that nothing of the kind has come since p: an ACK of another path comes first, and a little time goes.
func (c *conn) quiet(p *packet, unwanted func(q *packet) bool) *packet {
	c.control()
	c.x.calm(2*time.Millisecond, 20*time.Millisecond)
	return c.x.find(p, unwanted)
}

// arrived takes a packet of the target.
func (c *conn) arrived(p *packet) {
	switch {
	case p.is(mr0.TypeACK) && int(p.CH.PathID) < len(c.paths):
		c.learn(c.paths[p.CH.PathID], p)
	case p.CH.Type.Sequenced() && c.reply != nil:
		c.land(p)
	case p.is(mr0.TypeDisconnect) && c.reply != nil && p.DISC.SourceConnID == c.peer.SourceConnID:
		c.ended = true
	}
}

// learn notes what an ACK says, and looks at what must hold from one to the next.
func (c *conn) learn(l *lane, p *packet) {
	if before := l.numbers[p.CH.PSN]; before != nil && string(before.data) != string(p.data) {
		c.x.violate(violationACKNumber, "ACKs of a path numbered by ones", fmt.Sprintf("number %d twice", p.CH.PSN), p)
	}
	l.numbers[p.CH.PSN] = p
	later := l.latest == nil || mr0.PSNBefore(l.latest.CH.PSN, p.CH.PSN)
	if later && l.latest != nil && p.at > 0 {
		c.reneges(l, p)
	}
	if later {
		l.latest = p
	}
	if mr0.PSNBefore(l.end, p.ACKH.CumulativePSN) {
		l.end = p.ACKH.CumulativePSN
	}
	for first, last := range p.ACKH.SACK.Ranges() {
		for i := first; i <= last; i++ {
			l.said[p.ACKH.CumulativePSN+1+uint32(i)] = true
		}
	}
}

// reneges looks for what an ACK takes back that one with a lower number has said.
func (c *conn) reneges(l *lane, p *packet) {
	a, b := &l.latest.ACKH, &p.ACKH
	if mr0.PSNBefore(b.CumulativePSN, a.CumulativePSN) {
		c.x.violate(violationReneged, "cumulative_psn never lowered", fmt.Sprintf("%d behind %d", b.CumulativePSN, a.CumulativePSN), p)
		return
	}
	for first, last := range a.SACK.Ranges() {
		for i := first; i <= last; i++ {
			if n := a.CumulativePSN + 1 + uint32(i); !covers(b, n) {
				c.x.violate(violationReneged, "SACK bits never taken back", fmt.Sprintf("psn %d is not acknowledged any more", n), p)
				return
			}
		}
	}
}

// disconnect sends DISCONNECT until it is answered.
func (c *conn) disconnect() (answer *packet) {
	c.ended = true // from here on a PROBE that is not acknowledged tells nothing
	for range 6 {
		p := c.x.send(c.farewell())
		if answer = c.x.await(p, c.x.timeout()/2, c.isDisconnect); answer != nil {
			break
		}
	}
	return answer
}

func (c *conn) isDisconnect(p *packet) bool {
	return p.is(mr0.TypeDisconnect) && p.CH.DestConnID == c.local.SourceConnID
}

func (c *conn) farewell(how ...as) *outgoing {
	o := &outgoing{Packet: mr0.Packet{CH: c.header(mr0.TypeDisconnect, 0), DISC: mr0.DISC{SourceConnID: c.local.SourceConnID}}}
	for _, f := range how {
		f(o)
	}
	return o
}

// hangUp ends what is still connected, without waiting for answers.
func (x *attempt) hangUp() {
	for _, c := range x.connections {
		if c.reply != nil {
			_ = x.guard(func() { x.send(c.farewell()) })
		}
	}
}

// audit looks for losses and delays after a failure: it asks for a last ACK of each path, and compares.
func (x *attempt) audit() {
	x.delay(x.lab.late, "the suite's own waking up")
	for _, c := range x.connections {
		if c.reply == nil || c.ended {
			continue
		}
		for i, l := range c.paths {
			if l.count > 0 {
				c.auditPath(i, l)
			}
		}
	}
}

// refused tells whether the target has refused a packet of the path, by which cumulative_psn does not go.
func (c *conn) refused(path int) bool {
	return slices.ContainsFunc(c.x.packets, func(p *packet) bool {
		return !p.sent && p.is(typeNAK) && p.CH.DestConnID == c.local.SourceConnID && int(p.CH.PathID) == path
	})
}

func (c *conn) auditPath(path int, l *lane) {
	x := c.x
	var a *packet
	for range 3 {
		p := c.probe(path, flags(mr0.FlagAR))
		if a = x.await(p, x.timeout()/4, func(q *packet) bool { return c.isACK(q, path) && covers(&q.ACKH, p.CH.PSN) }); a != nil {
			x.delay(a.at-p.left, "an ACK that was asked for")
			break
		}
	}
	first := mr0.PathInitialPSN(c.local.InitialPSN, path)
	switch {
	case a == nil:
		x.sign("a PROBE of path %d was not acknowledged", path)
		return
	case a.ACKH.PacketCount != l.count || a.ACKH.CumulativePSN != l.next && !c.refused(path):
		x.sign("%d packets left by path %d, and %d arrived", l.count, path, a.ACKH.PacketCount)
	}
	low, high := a.CH.PSN, a.CH.PSN
	for n := range l.numbers {
		if mr0.PSNBefore(n, low) {
			low = n
		}
		if mr0.PSNBefore(high, n) {
			high = n
		}
	}
	if int(high-low)+1 != len(l.numbers) {
		x.sign("ACKs are missing of path %d, whose psns begin at %d", path, first)
	}
}
