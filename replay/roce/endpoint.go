package roce

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Never is the deadline of what waits for no time.
const Never = time.Duration(math.MaxInt64)

// Endpoint is a port with any number of queue pairs. It is not safe for use by several goroutines.
type Endpoint struct {
	config      Config
	qps         map[uint32]*QP // by own number
	ready       queue[*QP]     // may have something to send
	timers      timerHeap      // by deadline
	events      queue[Event]
	completions queue[Completion]
	messages    []*message // to be used again
	statistics  [verdictCount]uint64
	cnp         cnpPacer
	manager     manager
	in          dissector.Packet
	out         build.Frame
	ipID        uint16
}

// New is an endpoint without queue pairs. The error lists everything that is wrong with the configuration.
func New(config Config) (*Endpoint, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("configuration of a RoCE endpoint: %w", err)
	}
	if config.Memory == nil {
		config.Memory = noMemory{}
	}
	e := &Endpoint{
		config: config, qps: map[uint32]*QP{},
		out: build.Frame{Source: config.Address, SourceMAC: config.MAC, TTL: config.TTL},
	}
	e.manager.init()
	return e, nil
}

// Open adds a queue pair that is ready to send and to receive.
func (e *Endpoint) Open(config QPConfig) (*QP, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("configuration of a queue pair: %w", err)
	}
	if e.qps[config.QPN] != nil {
		return nil, fmt.Errorf("%#x: %w", config.QPN, ErrInUse)
	}
	q := newQP(e, config)
	e.qps[config.QPN] = q
	return q, nil
}

// QP is the queue pair with a number, nil when there is none.
func (e *Endpoint) QP(number uint32) *QP { return e.qps[number] }

// Handle takes a frame that arrived and says what it was. It keeps no reference to the bytes. Call Poll after it.
func (e *Endpoint) Handle(now time.Duration, d *Datagram) Verdict {
	v := e.handle(now, d.Frame)
	e.statistics[v]++
	return v
}

// Count is how often Handle has given the verdict.
func (e *Endpoint) Count(v Verdict) uint64 { return e.statistics[v] }

func (e *Endpoint) handle(now time.Duration, frame []byte) Verdict {
	p := &e.in
	err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, p)
	switch {
	case p.Protocol != dissector.ProtocolRoCEv2 || p.Tunnel.Depth != 0:
		return VerdictNotRoCE
	case err != nil && !errors.Is(err, dissector.ErrUnsupported):
		return VerdictMalformed
	case dissector.VerifyICRC(p) != dissector.ICRCGood:
		return VerdictICRC
	case err != nil || p.BTH.TransportVersion != 0:
		return VerdictMalformed
	case p.Network.Destination.Addr() != e.config.Address.Unmap():
		return VerdictUnknown
	}
	if p.BTH.DestinationQP == infiniband.GeneralServicesQP {
		return e.manage(now, p)
	}
	q := e.qps[p.BTH.DestinationQP]
	if q == nil || p.Network.Source.Addr() != q.config.Remote.Unmap() {
		return VerdictUnknown
	}
	if !samePartition(p.BTH.PartitionKey, e.config.PartitionKey) {
		return VerdictPartition
	}
	v := q.handle(now, p)
	q.wake()
	return v
}

// samePartition compares P_Keys (IBTA volume 1, section 10.9.3): 15 bits must be equal, and the top bit, full
// membership, be set in one of them.
func samePartition(a, b uint16) bool { return a&0x7fff == b&0x7fff && (a|b)&0x8000 != 0 }

// Poll does what is due and returns the next frame to be sent, and false when there is none now. The frame is appended
// to scratch, which needs room for MTU + 120 bytes lest it be allocated.
func (e *Endpoint) Poll(now time.Duration, scratch []byte) (Datagram, bool) {
	for len(e.timers) > 0 && e.timers[0].deadline <= now {
		q := e.timers[0]
		q.schedule(Never)
		q.expire(now)
		q.wake()
	}
	e.expireDialogues(now)
	if e.sayNext() {
		return e.datagram(scratch), true
	}
	for e.ready.len() > 0 {
		q := e.ready.pop()
		if q.produce(now) {
			e.ready.push(q)
			d := e.datagram(scratch)
			if d.ECN != dissector.ECNNotECT {
				q.rate.sent(now, len(d.Frame), e.config.LineRate)
			}
			return d, true
		}
		q.ready = false
		q.schedule(q.nextDeadline(now))
	}
	return Datagram{}, false
}

// NextTimeout is when Poll has to be called again although nothing arrived and nothing was posted: [Never] when only
// that can bring something to do. It may be early.
func (e *Endpoint) NextTimeout() time.Duration {
	if e.ready.len() > 0 {
		return 0
	}
	at := e.managerDeadline()
	if len(e.timers) > 0 {
		at = min(at, e.timers[0].deadline)
	}
	return at
}

// packet empties the frame to be sent but for what all packets of the QP have in common.
func (e *Endpoint) packet(q *QP, opcode infiniband.Opcode, sequence uint64) *build.Frame {
	f := &e.out
	f.Destination, f.DestinationMAC, f.SourcePort = q.config.Remote, q.config.RemoteMAC, q.config.SourcePort
	f.DSCP, f.ECN, f.Payload = e.config.DSCP, dissector.ECNNotECT, nil
	f.BTH = infiniband.BTH{
		Opcode: opcode, PartitionKey: e.config.PartitionKey, DestinationQP: q.config.RemoteQPN, PSN: wire(sequence),
		MigrationRequest: true, // migrated: no automatic path migration (section 17.2.8)
	}
	return f
}

// mark makes the packet ECN-capable when the endpoint is.
func (e *Endpoint) mark() {
	if e.config.ECN {
		e.out.ECN = dissector.ECNECT0
	}
}

// datagram builds what e.out says.
func (e *Endpoint) datagram(scratch []byte) Datagram {
	e.ipID++
	e.out.ID = e.ipID
	b, err := e.out.AppendTo(scratch)
	if err != nil {
		panic("roce: " + err.Error()) // addresses and lengths were checked
	}
	return Datagram{
		Source:      netip.AddrPortFrom(e.config.Address, e.out.SourcePort),
		Destination: netip.AddrPortFrom(e.out.Destination, dissector.PortRoCEv2),
		ECN:         e.out.ECN, Frame: b[len(scratch):],
	}
}

// schedule sets the deadline of a QP.
func (q *QP) schedule(at time.Duration) {
	if q.deadline == at {
		return
	}
	q.deadline = at
	h := &q.endpoint.timers
	switch {
	case at == Never:
		heap.Remove(h, q.timerIndex)
	case q.timerIndex < 0:
		heap.Push(h, q)
	default:
		heap.Fix(h, q.timerIndex)
	}
}
