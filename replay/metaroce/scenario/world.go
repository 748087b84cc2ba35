package scenario

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/judge"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// World is senders, a receiver, a network between them and taps.
type World struct {
	Net        *simulation.Network
	Hosts      []*simulation.Host
	Nodes      []*Host // the last is the receiver
	memory     []metaroce.Regions
	parameters mr0.Parameters
	Taps       [][Places][]*Tap // by sender
	packet     dissector.Packet
	frame      []byte
	number     [Places]uint64
	// Numbers, when its maps are made, tells what packets were.
	Numbers [Places]map[uint64]string
	ids     []uint32
	Later   []func() // receive buffers that are still to be posted

	Room        int                    // bytes that each receive buffer has at least
	Connections []*metaroce.Connection // of the senders
	Accepted    []*metaroce.Connection // of the receiver, by sender
	Done        [2]int                 // completions of senders, of the receiver
	failed      bool
}

// Address is that of an endpoint: the senders from 0, then the receiver.
func Address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i + 1)}) }

// Config of a world. Change, when set, alters the configuration of an endpoint: the senders from 0, then the receiver.
type Config struct {
	Seed            uint64
	Senders         int
	Planes, Routes  int
	Route, Up, Down simulation.Link
	Parameters      mr0.Parameters // that the endpoints have and the judges assume
	Change          func(i int, c *metaroce.Config)
	Tastes          []Taste // of the taps at each place
}

// New is a world in which nothing has happened.
func New(c Config) (*World, error) {
	seed, senders, parameters := c.Seed, c.Senders, c.Parameters
	w := &World{Net: simulation.New(seed, c.Planes, c.Routes, c.Route), parameters: parameters}
	for i := range senders + 1 {
		config := metaroce.DefaultConfig()
		config.Parameters = parameters
		for range c.Planes {
			config.Planes = append(config.Planes, Address(i))
		}
		regions := metaroce.Regions{
			1: {Address: 1 << 33, Bytes: make([]byte, 4<<20), Access: metaroce.AccessWrite | metaroce.AccessRead},
			2: {Address: 1 << 33, Bytes: make([]byte, 64), Access: metaroce.AccessAtomic},
		}
		config.Memory = regions
		config.Random = rand.NewPCG(seed, uint64(i))
		own := rand.New(rand.NewPCG(seed, uint64(i)+1000)) //nolint:gosec // chance that a seed repeats is the point
		config.SourcePorts = &uniquePorts{random: own, used: map[uint16]bool{}}
		if c.Change != nil {
			c.Change(i, &config)
		}
		end, err := metaroce.New(config)
		if err != nil {
			return nil, err
		}
		node := &Host{Endpoint: &simulation.Endpoint{Endpoint: end}}
		w.Nodes = append(w.Nodes, node)
		w.memory = append(w.memory, regions)
		w.Hosts = append(w.Hosts, w.Net.AddHost(Address(i), node, c.Up, c.Down))
	}
	w.Connections = make([]*metaroce.Connection, senders)
	w.Accepted = make([]*metaroce.Connection, senders)
	w.Taps = make([][Places][]*Tap, senders)
	for i := range w.Taps {
		for place := range Places {
			for k, t := range c.Tastes {
				own := rand.New(rand.NewPCG(seed, uint64(i*1000+place*100+k))) //nolint:gosec // as above
				one := &Tap{Taste: t, Missed: map[uint64]bool{}, random: own}
				one.judge = judge.New(finding.ConnectionID(i), parameters, func(f *finding.Finding) { one.Findings = append(one.Findings, f) })
				w.Taps[i][place] = append(w.Taps[i][place], one)
			}
		}
	}
	w.Net.OnSend = func(h *simulation.Host, f *simulation.Frame) {
		if w.Index(h) < senders {
			w.capture(NearSender, f)
		} else {
			w.capture(NearReceiver, f)
		}
	}
	w.Net.OnDeliver = func(h *simulation.Host, f *simulation.Frame) {
		if w.Index(h) < senders {
			w.capture(NearSender, f)
		} else {
			w.capture(NearReceiver, f)
		}
	}
	w.Net.OnHop = func(hop int, _ *simulation.Host, f *simulation.Frame) {
		if hop == 2 {
			w.capture(Middle, f)
		}
	}
	return w, nil
}

// Index is that of a host: the senders from 0, then the receiver.
func (w *World) Index(h *simulation.Host) int { return indexOf(h.Address) }

func indexOf(a netip.Addr) int {
	raw := a.As4()
	return int(raw[2])<<8 + int(raw[3]) - 1
}

// follow takes events and completions.
func (w *World) follow() {
	var ev metaroce.Event
	var done metaroce.Completion
	last := len(w.Nodes) - 1
	for i, n := range w.Nodes {
		for n.NextEvent(&ev) {
			switch ev.Kind {
			case metaroce.EventConnected:
				w.Connections[i] = ev.Connection
			case metaroce.EventAccepted:
			case metaroce.EventTimedOut, metaroce.EventRejected:
				w.failed = true
			default:
			}
			if ev.Kind == metaroce.EventAccepted {
				for k := range w.Accepted {
					if w.Net.Now >= 0 && w.Accepted[k] == nil && w.pendingPeer(ev.Connection, k) {
						w.Accepted[k] = ev.Connection
					}
				}
			}
		}
		for n.NextCompletion(&done) {
			if i == last {
				w.Done[1]++
			} else {
				w.Done[0]++
			}
		}
	}
}

// pendingPeer tells whether an accepted connection is that of a sender.
func (w *World) pendingPeer(c *metaroce.Connection, sender int) bool {
	return w.ids[sender] == c.PeerID()
}

// Connect connects all senders, and tells whether all are.
func (w *World) Connect() bool {
	last := len(w.Nodes) - 1
	for i := range w.Connections {
		c, err := w.Nodes[i].Connect(w.Net.Now, Address(last))
		if err != nil {
			return false
		}
		w.ids = append(w.ids, c.ID())
		w.Net.Wake(w.Hosts[i])
	}
	return w.Run(2*time.Second, func() bool {
		for i := range w.Connections {
			if w.Connections[i] == nil || w.Accepted[i] == nil {
				return w.failed
			}
		}
		return true
	}) && !w.failed
}

// Run lets time pass, until then or until it is so.
func (w *World) Run(d time.Duration, until func() bool) bool {
	return w.Net.Run(w.Net.Now+d, func() bool {
		w.follow()
		return until != nil && until()
	})
}

// Close ends the judges.
func (w *World) Close() {
	for i := range w.Taps {
		for place := range Places {
			for _, t := range w.Taps[i][place] {
				t.judge.Close(&t.Report)
			}
		}
	}
}
