// Package figures measures the reference endpoint of MetaRoCE, profile mr0, in simulation, against the figures that
// Meta has published and against go-back-N RoCEv2 with DCQCN on the same network. The profile is this project's own,
// so what is measured is this endpoint, not Meta's.
package figures

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Fabric is the network of a measurement.
type Fabric struct {
	Rate   float64       // of a host's link to a plane, bit/s
	Hop    time.Duration // delay of each of the three links of a way
	Routes int           // of a plane
	Queue  int           // bytes that the port to a host holds
	Mark   int           // bytes in it from which on packets are marked
}

// DefaultFabric is 100 Gbit/s links, 8 us of round trip, ECMP over 16 routes, 8 MiB of buffer a port.
func DefaultFabric() Fabric {
	return Fabric{Rate: 100e9, Hop: 4 * time.Microsecond / 3, Routes: 16, Queue: 8 << 20, Mark: 200 << 10}
}

// String describes the fabric for people.
func (f Fabric) String() string {
	return fmt.Sprintf("%.0f Gbit/s a plane, round trip %v without load, %d routes, %d KiB a port, marks from %d KiB",
		f.Rate/1e9, f.RoundTrip(), f.Routes, f.Queue>>10, f.Mark>>10)
}

// RoundTrip is the time that a full packet and its ACK take without load.
func (f Fabric) RoundTrip() time.Duration {
	return (6*f.Hop + 2*f.packet() + time.Microsecond/2).Round(time.Microsecond / 10)
}

// packet is the time of a full packet on a link.
func (f Fabric) packet() time.Duration { return time.Duration((4096 + 98) * 8e9 / f.Rate) }

// network is a network of that kind. Routes are three times as fast as links, so that ECMP's accidents do not rule.
func (f Fabric) network(seed uint64, planes int, loss float64) *simulation.Network {
	n := simulation.New(seed, planes, f.Routes, simulation.Link{Delay: f.Hop, Loss: loss})
	for i := range n.Planes {
		for j, l := range n.Planes[i].Routes {
			l.Delay += time.Duration(j) * 100 * time.Nanosecond
		}
	}
	return n
}

// attach hangs a node on the network.
func (f Fabric) attach(n *simulation.Network, a netip.Addr, node simulation.Node) *simulation.Host {
	h := n.AddHost(a, node, simulation.Link{Rate: f.Rate, Delay: f.Hop}, simulation.Link{Rate: f.Rate, Delay: f.Hop, Queue: f.Queue, Mark: f.Mark})
	h.Backlog = time.Microsecond
	return h
}

// address is that of a host by its number.
func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

// end is a host with an endpoint. Its memory takes everything and counts it by key.
type end struct {
	address netip.Addr
	e       *metaroce.Endpoint
	host    *simulation.Host
	placed  []uint64 // bytes by key
	scratch []byte
	latest  map[*metaroce.Connection]time.Duration
	longest time.Duration // between completions of a connection
	errors  int           // of work that did not get done
}

// Slice lets bytes fall into nothing.
func (x *end) Slice(rkey uint32, _ uint64, length int, _ metaroce.Access) ([]byte, error) {
	for int(rkey) >= len(x.placed) {
		x.placed = append(x.placed, 0)
	}
	x.placed[rkey] += uint64(length)
	return x.scratch[:length], nil
}

func (x *end) total() uint64 {
	sum := uint64(0)
	for _, b := range x.placed {
		sum += b
	}
	return sum
}

// outstanding is how many messages a bulk sender has under way: more than a retransmission timer that has doubled holds
// up, since messages complete in order.
const outstanding = 256

// messageBytes is the length of the messages that bulk senders send.
const messageBytes = 256 << 10

var message = make([]byte, messageBytes)

func (f Fabric) end(n *simulation.Network, i int, change func(c *metaroce.Config)) *end {
	x := &end{address: address(i), scratch: make([]byte, 8192), latest: map[*metaroce.Connection]time.Duration{}}
	config := metaroce.DefaultConfig()
	for range n.Planes {
		config.Planes = append(config.Planes, x.address)
	}
	config.LinkRate = uint32(f.Rate / 1e6 * float64(len(n.Planes)))
	config.Memory = x
	config.Random = rand.NewPCG(uint64(i), 77)
	config.ConnectionTimeout = time.Hour
	if change != nil {
		change(&config)
	}
	e, err := metaroce.New(config)
	if err != nil {
		panic(err) // the configuration is this package's own
	}
	x.e = e
	node := &simulation.Endpoint{Endpoint: e}
	node.OnHandle = func(now time.Duration, _ *metaroce.Datagram, _ metaroce.Verdict) {
		var done metaroce.Completion
		for e.NextCompletion(&done) {
			if done.Err != nil {
				x.errors++
			}
			if done.ID == once {
				continue
			}
			x.longest = max(x.longest, now-x.latest[done.Connection])
			x.latest[done.Connection] = now
			x.post(done.Connection, metaroce.WorkRequest{ID: done.ID, Data: message, RKey: uint32(done.ID)})
		}
		var ev metaroce.Event
		for e.NextEvent(&ev) {
		}
	}
	x.host = f.attach(n, x.address, node)
	return x
}

// post posts work to the only stream of a connection.
func (x *end) post(c *metaroce.Connection, r metaroce.WorkRequest) {
	s, err := c.Stream(0)
	if err == nil {
		err = s.Post(r)
	}
	if err != nil {
		panic(err) // connections of a measurement do not end
	}
}

// once is the id of work that nothing follows.
const once = 1 << 40

// greet sends a packet on every path, so that round trips and a hint are known.
func (x *end) greet(n *simulation.Network, c *metaroce.Connection, key uint32) {
	x.post(c, metaroce.WorkRequest{ID: once, Data: message[:c.MTU()*c.Paths()], RKey: key})
	n.Wake(x.host)
}

// connect opens a connection from x to y without a handshake. What it sends is counted under the key.
func (x *end) connect(y *end, key uint32, paths, planes int) *metaroce.Connection {
	say := func(id uint32) mr0.CONN {
		return mr0.CONN{
			SourceConnID: id, PathCount: uint8(paths), PlaneCount: uint8(planes), MTU: 4096, StreamCount: 1, MaxWindow: 256, InitialPSN: 7919 * id,
		}
	}
	here, there := say(2*key+2), say(2*key+3)
	c, err := x.e.Resume(here, there, y.address)
	if err == nil {
		_, err = y.e.Resume(there, here, x.address)
	}
	if err != nil {
		panic(err) // ids are this package's own
	}
	return c
}

// bulk lets a connection send for ever: many messages are always under way.
func (x *end) bulk(n *simulation.Network, c *metaroce.Connection, key uint32) {
	x.latest[c] = n.Now
	for range outstanding {
		x.post(c, metaroce.WorkRequest{ID: uint64(key), Data: message, RKey: key})
	}
	n.Wake(x.host)
}

// Jain is Jain's index of fairness: 1 when all are equal, 1/n when one has all.
func Jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, s := range shares {
		sum += s
		squares += s * s
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
