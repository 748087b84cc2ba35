// Package simulation is a network in which endpoints can be run: discrete events, simulated time, seeded chance. Hosts
// hang on planes by links; a plane has routes, and a hash of addresses and source port picks one, as ECMP does. Links
// have rate, delay, a queue that marks ECN, loss, duplication, and can be down. What goes one route stays in order,
// except duplicates and late frames; what goes different ones does not.
package simulation

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// Frame is what travels.
type Frame struct {
	Source, Destination netip.AddrPort
	Plane               uint8
	ECN                 dissector.ECN
	Size                int // bytes on the wire
	Payload             []byte
}

// Node is what is attached to a host: an endpoint, or a sender to compare with.
type Node interface {
	Handle(now time.Duration, f *Frame)
	// Poll returns the next frame to send; its payload may be in scratch.
	Poll(now time.Duration, scratch []byte) (Frame, bool)
	NextTimeout() time.Duration
}

// Link is a queue with a wire behind it.
type Link struct {
	Rate      float64       // bit/s; 0: takes no time
	Delay     time.Duration // of the wire
	Queue     int           // bytes that it holds; 0: no bound
	Mark      int           // bytes in it from which on ECN-capable packets are marked CE; 0: never
	Loss      float64       // probability
	Duplicate float64       // probability; the copy comes late
	Late      float64       // probability to be overtaken: the frame comes up to the network's Jitter later
	Down      bool          // loses everything

	busy time.Duration // when what is queued will have left

	Passed, Bytes, Lost, Dropped, Marked uint64
	Longest                              int // bytes, of the queue
}

// Plane is a network of its own.
type Plane struct {
	Routes []*Link
}

// Host is a place in the network.
type Host struct {
	Address netip.Addr
	Node    Node
	Up      []*Link // to each plane
	Down    []*Link // from each plane
	// Backlog is how much an interface takes before its link is free, in time on the wire: what a node has to send
	// beyond waits in the node, once all its interfaces are that busy. 0: no bound.
	Backlog time.Duration

	wakeAt time.Duration
	index  int
}

// Network is the simulated network.
type Network struct {
	Now    time.Duration
	Random *rand.Rand
	Planes []Plane
	Hosts  []*Host
	// OnSend and OnDeliver, when set, see frames that leave a host and arrive at it.
	OnSend, OnDeliver func(h *Host, f *Frame)
	// OnHop, when set, sees frames that arrive at a switch: hop 1 is the sender's, hop 2 the receiver's. It may change
	// the mark.
	OnHop func(hop int, to *Host, f *Frame)
	// Jitter of duplicates and late frames: they come up to so much later.
	Jitter time.Duration

	byAddress map[netip.Addr]*Host
	events    events
	order     uint64
	frames    []*transit
	scratch   []byte
}

// New is a network without hosts.
func New(seed uint64, planes, routes int, route Link) *Network {
	n := &Network{
		Random:    rand.New(rand.NewPCG(seed, 0x6d65746172)), //nolint:gosec // chance that a seed repeats is the point
		byAddress: map[netip.Addr]*Host{}, Jitter: 50 * time.Microsecond, scratch: make([]byte, 0, 10000),
	}
	for range planes {
		var p Plane
		for range routes {
			l := route
			p.Routes = append(p.Routes, &l)
		}
		n.Planes = append(n.Planes, p)
	}
	return n
}

// AddHost hangs a node on all planes by links of its own.
func (n *Network) AddHost(a netip.Addr, node Node, up, down Link) *Host {
	h := &Host{Address: a, Node: node, wakeAt: never, index: len(n.Hosts)}
	for range n.Planes {
		u, d := up, down
		h.Up, h.Down = append(h.Up, &u), append(h.Down, &d)
	}
	n.Hosts = append(n.Hosts, h)
	n.byAddress[a] = h
	return h
}

const never = time.Duration(1<<63 - 1)

// transit is a frame on its way.
type transit struct {
	Frame
	stage uint8 // links that are behind it
	to    *Host
	copy  bool
}

// take copies a frame.
func (t *transit) take(f *Frame) {
	held := t.Payload[:0]
	t.Frame = *f
	t.Payload = held
	t.Payload = append(t.Payload, f.Payload...)
}

// Wake lets a host send, because something was posted to its node.
func (n *Network) Wake(h *Host) { n.drain(h) }

// Run handles events until the time is reached or stop says so, and tells whether stop did. It ends, too, when nothing
// is left to happen.
func (n *Network) Run(until time.Duration, stop func() bool) bool {
	for {
		if stop != nil && stop() {
			return true
		}
		if len(n.events) == 0 || n.events[0].at > until {
			n.Now = max(n.Now, min(until, never))
			return false
		}
		ev := n.events.pop()
		n.Now = ev.at
		if ev.frame != nil {
			n.move(ev.frame)
			continue
		}
		if h := n.Hosts[ev.host]; h.wakeAt == ev.at {
			h.wakeAt = never
			n.drain(h)
		}
	}
}

// drain sends all that a host has to send, and notes when it wants to be woken.
func (n *Network) drain(h *Host) {
	for {
		if h.Backlog > 0 {
			if at := h.busy() - h.Backlog; at > n.Now {
				n.wake(h, at)
				return
			}
		}
		f, ok := h.Node.Poll(n.Now, n.scratch[:0])
		if !ok {
			break
		}
		if n.OnSend != nil {
			n.OnSend(h, &f)
		}
		n.inject(h, &f)
	}
	n.wake(h, h.Node.NextTimeout())
}

// wake makes sure that the host is looked at by then.
func (n *Network) wake(h *Host, at time.Duration) {
	if at < h.wakeAt {
		h.wakeAt = max(at, n.Now)
		n.at(event{at: h.wakeAt, host: h.index})
	}
}

// busy is when the first of the host's links is free: ports send side by side, so one that has more to do than the
// others does not hold them up.
func (h *Host) busy() time.Duration {
	at := never
	for _, l := range h.Up {
		at = min(at, l.busy)
	}
	return at
}

func (n *Network) at(ev event) {
	n.order++
	ev.order = n.order
	n.events.push(ev)
}

func (n *Network) newTransit() *transit {
	if k := len(n.frames); k > 0 {
		t := n.frames[k-1]
		n.frames = n.frames[:k-1]
		return t
	}
	return &transit{}
}

// inject puts a frame on the way.
func (n *Network) inject(h *Host, f *Frame) {
	to := n.byAddress[f.Destination.Addr()]
	if to == nil {
		return
	}
	t := n.newTransit()
	t.take(f)
	t.stage, t.to, t.copy = 0, to, false
	n.pass(h.Up[t.Plane], t)
}

// pass sends a frame through a link.
func (n *Network) pass(l *Link, t *transit) {
	waiting := 0
	if l.Rate > 0 && l.busy > n.Now {
		waiting = int(float64(l.busy-n.Now) * l.Rate / 8e9)
	}
	if l.Down || l.Queue > 0 && waiting+t.Size > l.Queue {
		l.Dropped++
		n.frames = append(n.frames, t)
		return
	}
	l.Longest = max(l.Longest, waiting+t.Size)
	if l.Mark > 0 && waiting >= l.Mark && t.ECN != dissector.ECNNotECT {
		t.ECN = dissector.ECNCE
		l.Marked++
	}
	leaves := n.Now
	if l.Rate > 0 {
		leaves = max(n.Now, l.busy) + time.Duration(float64(t.Size)*8e9/l.Rate)
		l.busy = leaves
	}
	if l.Loss > 0 && n.Random.Float64() < l.Loss {
		l.Lost++
		n.frames = append(n.frames, t)
		return
	}
	l.Passed++
	l.Bytes += uint64(t.Size)
	if l.Duplicate > 0 && !t.copy && n.Random.Float64() < l.Duplicate {
		c := n.newTransit()
		c.take(&t.Frame)
		c.stage, c.to, c.copy = t.stage+1, t.to, true
		n.at(event{at: leaves + l.Delay + time.Duration(n.Random.Int64N(int64(n.Jitter))), frame: c})
	}
	t.stage++
	arrives := leaves + l.Delay
	if l.Late > 0 && n.Random.Float64() < l.Late {
		arrives += time.Duration(n.Random.Int64N(int64(n.Jitter)))
	}
	n.at(event{at: arrives, frame: t})
}

// move lets a frame that left a link go on.
func (n *Network) move(t *transit) {
	if n.OnHop != nil && t.stage <= 2 {
		n.OnHop(int(t.stage), t.to, &t.Frame)
	}
	switch t.stage {
	case 1:
		routes := n.Planes[t.Plane].Routes
		n.pass(routes[n.Hash(&t.Frame)%uint64(len(routes))], t)
	case 2:
		n.pass(t.to.Down[t.Plane], t)
	default:
		if n.OnDeliver != nil {
			n.OnDeliver(t.to, &t.Frame)
		}
		t.to.Node.Handle(n.Now, &t.Frame)
		n.frames = append(n.frames, t)
		n.drain(t.to)
	}
}

// Hash is what picks a frame's route, modulo the number of routes: FNV-1a over addresses and source port.
func (n *Network) Hash(f *Frame) uint64 {
	h := uint64(14695981039346656037)
	mix := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, a := range [2]netip.Addr{f.Source.Addr(), f.Destination.Addr()} {
		raw := a.As16()
		for _, b := range raw[12:] {
			mix(b)
		}
	}
	mix(byte(f.Source.Port()))
	mix(byte(f.Source.Port() >> 8))
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h >> 32
}
