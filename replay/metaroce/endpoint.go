package metaroce

import (
	"container/heap"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Never is the deadline of what waits for no time.
const Never = time.Duration(math.MaxInt64)

// Endpoint is one end of any number of connections. It is not safe for use by several goroutines.
type Endpoint struct {
	config      Config
	connections map[uint32]*Connection     // by own connection id
	requests    map[requestKey]*Connection // accepted ones, to know a repeated CONN_REQ
	ready       queue[*Connection]         // may have something to send
	timers      timerHeap                  // by deadline
	replies     queue[rejection]           // to peers without a connection
	events      queue[Event]               // for the caller
	completions queue[Completion]          // for the caller
	messages    []*message                 // to be used again
	inbounds    []*inboundMessage          // to be used again
	hints       hints                      // shares of the inbound rate
	statistics  [verdictCount]uint64       // what Handle answered
	in, out     mr0.Packet                 // decoded, and to be sent
	overhead    int                        // IP and UDP header bytes of a datagram
}

// requestKey tells requests for connections apart: one may be repeated on another plane, from another address.
type requestKey struct {
	sourceConnID uint32
	nonce        uint64
}

// rejection is a CONN_REJ to be sent.
type rejection struct {
	source, destination netip.AddrPort
	connID              uint32
	partitionKey        uint16
	header              mr0.REJ
}

// New is an endpoint without connections. The error lists everything that is wrong with the configuration.
func New(config Config) (*Endpoint, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("configuration of a MetaRoCE endpoint: %w", err)
	}
	if config.Memory == nil {
		config.Memory = noMemory{}
	}
	if config.SourcePorts == nil {
		config.SourcePorts = randomPorts{config.Random}
	}
	e := &Endpoint{
		config:      config,
		connections: map[uint32]*Connection{},
		requests:    map[requestKey]*Connection{},
		overhead:    ipUDPBytes(config.Planes[0]),
	}
	e.hints.init(&e.config)
	return e, nil
}

// Handle takes a datagram that arrived and says what it was. It keeps no reference to the payload. Call Poll after it.
func (e *Endpoint) Handle(now time.Duration, d *Datagram) Verdict {
	v := e.handle(now, d)
	e.statistics[v]++
	return v
}

// Count is how often Handle has given the verdict.
func (e *Endpoint) Count(v Verdict) uint64 { return e.statistics[v] }

func (e *Endpoint) handle(now time.Duration, d *Datagram) Verdict {
	err := mr0.DecodeCaptured(d.Payload, len(d.Payload), &e.in)
	if !mr0.VerifyICRC(d.Payload, d.Source, d.Destination) {
		if err != nil && e.in.Fault.Reason.InDoubt() {
			return VerdictNotMetaRoCE
		}
		return VerdictICRC
	}
	if err != nil {
		return VerdictMalformed
	}
	p := &e.in
	if p.CH.Type == mr0.TypeConnReq {
		return e.accept(d, p)
	}
	c := e.connections[p.CH.DestConnID]
	if c == nil {
		return VerdictUnknown
	}
	if !samePartition(p.CH.PartitionKey, e.config.PartitionKey) {
		return VerdictPartition
	}
	v := c.handle(now, d, p)
	c.wake()
	return v
}

// samePartition compares P_Keys: 15 bits must be equal, and the top bit, full membership, be set in one of them.
func samePartition(a, b uint16) bool { return a&0x7fff == b&0x7fff && (a|b)&0x8000 != 0 }

// Poll does what is due and returns the next datagram to be sent, and false when there is none now. Its payload is
// appended to scratch, which needs room for MTU + 80 bytes lest it be allocated.
func (e *Endpoint) Poll(now time.Duration, scratch []byte) (Datagram, bool) {
	for len(e.timers) > 0 && e.timers[0].deadline <= now {
		c := e.timers[0]
		c.expire(now)
		c.wake()
	}
	if e.hints.due(now) {
		e.hints.recompute(now)
		e.hints.announce()
	}
	if e.replies.len() > 0 {
		return e.reject(e.replies.pop(), scratch), true
	}
	for e.ready.len() > 0 {
		c := e.ready.pop()
		if d, ok := c.produce(now, scratch); ok {
			e.ready.push(c)
			return d, true
		}
		c.ready = false
	}
	return Datagram{}, false
}

// NextTimeout is when Poll has to be called again although nothing arrived and nothing was posted: [Never] when only
// that can bring something to do. It may be early.
func (e *Endpoint) NextTimeout() time.Duration {
	if e.ready.len() > 0 || e.replies.len() > 0 {
		return 0
	}
	at := e.hints.next()
	if len(e.timers) > 0 {
		at = min(at, e.timers[0].deadline)
	}
	return at
}

// Connections is the number of connections, those that are being set up or ended included.
func (e *Endpoint) Connections() int { return len(e.connections) }

// datagram builds what e.out and the payload say.
func (e *Endpoint) datagram(scratch, payload []byte, source, destination netip.AddrPort, plane uint8) Datagram {
	ecn := dissector.ECNNotECT
	if e.out.CH.Type.Sequenced() {
		ecn = dissector.ECNECT0
	}
	b, err := e.out.AppendDatagram(scratch, payload, source, destination)
	if err != nil {
		panic("metaroce: " + err.Error()) // types and lengths are this package's own
	}
	return Datagram{Source: source, Destination: destination, ECN: ecn, Plane: plane, Payload: b[len(scratch):]}
}

// newConnectionID draws an id that no connection has, and not 0.
func (e *Endpoint) newConnectionID() uint32 {
	for {
		if id := uint32(e.config.Random.Uint64()); id != 0 && e.connections[id] == nil {
			return id
		}
	}
}

// timerHeap orders connections by their deadlines. A deadline is never later than the first thing to be done, and may
// be earlier.
type timerHeap []*Connection

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].deadline < h[j].deadline }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timerIndex, h[j].timerIndex = i, j
}

// Push adds a connection for the heap package.
func (h *timerHeap) Push(x any) {
	c, ok := x.(*Connection)
	if !ok {
		return
	}
	c.timerIndex = len(*h)
	*h = append(*h, c)
}

// Pop removes the last connection for the heap package.
func (h *timerHeap) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	c.timerIndex = -1
	return c
}

// arm makes sure that expire is called at that time or before.
func (c *Connection) arm(at time.Duration) {
	if at < c.deadline {
		c.setDeadline(at)
	}
}

func (c *Connection) setDeadline(at time.Duration) {
	c.deadline = at
	h := &c.endpoint.timers
	switch {
	case at == Never && c.timerIndex >= 0:
		heap.Remove(h, c.timerIndex)
	case at == Never:
	case c.timerIndex < 0:
		heap.Push(h, c)
	default:
		heap.Fix(h, c.timerIndex)
	}
}

// wake lets Poll look at the connection.
func (c *Connection) wake() {
	if !c.ready {
		c.ready = true
		c.endpoint.ready.push(c)
	}
}
