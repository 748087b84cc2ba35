package metaroce

import (
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// ConnectionState is how far a connection is.
type ConnectionState uint8

// States. Connecting and Accepting lead to Open; Disconnecting waits for the peer's DISCONNECT, Lingering answers it
// again when it is repeated; Closed is out of the endpoint.
const (
	StateConnecting ConnectionState = iota
	StateOpen
	StateDisconnecting
	StateLingering
	StateClosed
)

var stateNames = [...]string{"connecting", "open", "disconnecting", "lingering", "closed"}

// String is a phrase for people.
func (s ConnectionState) String() string { return stateNames[s] }

// Connection is one end of a connection.
type Connection struct {
	endpoint *Endpoint
	state    ConnectionState
	passive  bool
	local    mr0.CONN // what this end has said of itself
	peer     mr0.CONN // what the peer has said of itself
	mtu      int      // payload bytes, the smaller of both
	maxSpan  int      // max_window, the smaller of both
	planes   int      // planes that both have
	remote   []netip.Addr
	learnt   []bool // whether the peer was seen to use the address in that plane

	ready      bool // is in endpoint.ready
	deadline   time.Duration
	timerIndex int

	// Handshake.
	attempts   int           // requests that are left to be sent
	attemptAt  time.Duration // when the next is due, or lingering ends
	interval   time.Duration
	controls   uint8 // path that the next goes by
	controlDue bool  // CONN_REQ, CONN_REP or DISCONNECT is to be sent now
	reason     mr0.DisconnectReason

	// Sending.
	paths         []path
	lostPaths     pathSet // have psns that wait to be sent again
	tailPaths     pathSet // are to send a PROBE behind their last packet
	failed        int     // number of failed paths
	failedAt      time.Duration
	moved         queue[segment] // bytes of failed paths
	streams       map[uint16]*Stream
	sendable      queue[*Stream] // have messages that are not wholly sent
	responses     queue[*message]
	answering     int // responses that are not wholly acknowledged
	responseTurn  bool
	reading       int // READs and atomics that are not answered
	blocked       []*Stream
	reads         map[uint32]*message
	nextReadID    uint32
	inflightBytes int
	hint          uint32        // Mbit/s, from the latest ACK
	nextAt        time.Duration // when all that was sent would have left at the hint's rate
	minSRTT       time.Duration // of the paths that work, 0 while none is known

	// Receiving.
	inbound  []inboundPath
	ackPaths pathSet // have an ACK to be sent now
	naks     queue[nak]
	partial  map[messageKey]*inboundMessage
	demand   demand
	from     netip.Addr // of the packet that is being handled
	landed   bool       // it was the last of its message to land

	statistics Statistics
}

func (e *Endpoint) newConnection() *Connection {
	c := &Connection{
		endpoint: e, deadline: Never, timerIndex: -1, attemptAt: Never, failedAt: Never, hint: mr0.ACKHRateHintNoLimit,
		streams: map[uint16]*Stream{}, reads: map[uint32]*message{}, partial: map[messageKey]*inboundMessage{},
	}
	c.demand.init()
	c.local = mr0.CONN{
		SourceConnID: e.newConnectionID(),
		PathCount:    uint8(e.config.Paths),
		PlaneCount:   uint8(len(e.config.Planes)),
		MTU:          uint16(e.config.MTU),
		LinkRate:     e.config.LinkRate,
		InitialPSN:   uint32(e.config.Random.Uint64()),
		StreamCount:  e.config.StreamCount,
		MaxWindow:    uint16(e.config.MaxWindow),
	}
	e.connections[c.local.SourceConnID] = c
	return c
}

// ID is the connection id that this end chose.
func (c *Connection) ID() uint32 { return c.local.SourceConnID }

// PeerID is the connection id that the peer chose, 0 while it is not known.
func (c *Connection) PeerID() uint32 { return c.peer.SourceConnID }

// State is how far the connection is.
func (c *Connection) State() ConnectionState { return c.state }

// MTU is the largest payload of a packet in bytes, 0 while it is not agreed upon.
func (c *Connection) MTU() int { return c.mtu }

// Local is what this end has said of itself when the connection was set up.
func (c *Connection) Local() mr0.CONN { return c.local }

// Peer is what the peer has said of itself.
func (c *Connection) Peer() mr0.CONN { return c.peer }

// open makes use of what the peer has said of itself.
func (c *Connection) open(peer mr0.CONN) {
	e := c.endpoint
	c.state = StateOpen
	c.peer = peer
	c.mtu = min(int(c.local.MTU), int(peer.MTU))
	c.maxSpan = max(1, min(int(c.local.MaxWindow), int(peer.MaxWindow)))
	c.planes = min(len(e.config.Planes), int(peer.PlaneCount))
	for i := range c.paths {
		p := &c.paths[i]
		p.window = min(p.window, float64(c.maxSpan))
		if plane := uint8(i % c.planes); plane != p.plane {
			e.config.SourcePorts.Release(e.config.Planes[p.plane], p.sourcePort)
			p.plane = plane
			p.sourcePort = e.config.SourcePorts.Acquire(e.config.Planes[plane], 0)
		}
	}
	c.inbound = make([]inboundPath, peer.PathCount)
	for i := range c.inbound {
		c.inbound[i] = inboundPath{
			cumulative: mr0.PathInitialPSN(peer.InitialPSN, i), ackAt: Never, trigger: noTrigger,
		}
	}
}

// makePaths gives the connection its own paths.
func (c *Connection) makePaths() {
	e := c.endpoint
	c.paths = make([]path, c.local.PathCount)
	for i := range c.paths {
		plane := uint8(i % len(e.config.Planes))
		first := mr0.PathInitialPSN(c.local.InitialPSN, i)
		c.paths[i] = path{
			id: uint8(i), plane: plane, una: first, next: first, rtoAt: Never, probeAt: Never, refusedAt: Never, tailAt: Never,
			window:     float64(min(e.config.InitialWindow, e.config.MaxWindow)),
			sourcePort: e.config.SourcePorts.Acquire(e.config.Planes[plane], 0),
		}
	}
}

// addresses are where a packet of an own path leaves from and goes to.
func (c *Connection) addresses(p *path) (source, destination netip.AddrPort) {
	e := c.endpoint
	return netip.AddrPortFrom(e.config.Planes[p.plane], p.sourcePort),
		netip.AddrPortFrom(c.remote[int(p.plane)%len(c.remote)], e.config.Port)
}

// setRemote notes the peer's addresses by plane. One that is not given is that of the plane before it, until packets
// show another.
func (c *Connection) setRemote(addresses []netip.Addr, planes int) {
	c.remote = make([]netip.Addr, planes)
	c.learnt = make([]bool, planes)
	for i := range c.remote {
		c.remote[i] = addresses[min(i, len(addresses)-1)]
		c.learnt[i] = i < len(addresses)
	}
}

// learn notes the address that the peer uses in a plane, once.
func (c *Connection) learn(plane uint8, from netip.Addr) {
	if int(plane) < len(c.remote) && !c.learnt[plane] {
		c.learnt[plane] = true
		c.remote[plane] = from
	}
}

// handle takes a packet for this connection.
func (c *Connection) handle(now time.Duration, d *Datagram, p *mr0.Packet) Verdict {
	c.from = d.Source.Addr()
	switch p.CH.Type {
	case mr0.TypeConnRep:
		return c.handleReply(p)
	case mr0.TypeConnRej:
		return c.handleReject(p)
	case mr0.TypeDisconnect:
		return c.handleDisconnect(now, p)
	default:
	}
	if c.state != StateOpen {
		return VerdictUnknown
	}
	switch p.CH.Type {
	case mr0.TypeACK:
		return c.handleACK(now, p)
	case mr0.TypeNAK:
		return c.handleNAK(now, p)
	default:
		return c.receive(now, d, p)
	}
}

// produce builds the next datagram of the connection, and says false when there is none now.
func (c *Connection) produce(now time.Duration, scratch []byte) (Datagram, bool) {
	if c.controlDue {
		c.controlDue = false
		return c.control(scratch), true
	}
	if c.state != StateOpen {
		return Datagram{}, false
	}
	if c.naks.len() > 0 {
		return c.sendNAK(scratch), true
	}
	if !c.ackPaths.empty() {
		return c.sendACK(now, scratch), true
	}
	return c.sendSequenced(now, scratch)
}

// expire does what is due, and finds the next deadline.
func (c *Connection) expire(now time.Duration) {
	c.setDeadline(Never)
	if c.attemptAt <= now {
		c.retry(now)
	}
	c.arm(c.attemptAt)
	if c.state != StateOpen {
		return
	}
	for i := range c.paths {
		c.expirePath(now, &c.paths[i])
		if c.state != StateOpen {
			return
		}
	}
	for i := range c.inbound {
		p := &c.inbound[i]
		if p.ackAt <= now {
			c.acknowledge(uint8(i), mr0.ACKTriggerTimer)
		}
		c.arm(p.ackAt)
	}
	if c.failed == len(c.paths) {
		if c.failedAt+c.endpoint.config.ConnectionTimeout <= now {
			c.end(now, mr0.DisconnectReasonAllPathsFailed, nil)
			return
		}
		c.arm(c.failedAt + c.endpoint.config.ConnectionTimeout)
	}
}
