package scenario

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
	"github.com/rocelens/rocelens/replay/roce"
)

// Run is a scenario that is set up.
type Run struct {
	Network     *simulation.Network
	Hosts       []*Host // clients first
	Connections []*Connection
	config      Config
}

// Result is what came of a run.
type Result struct {
	Finished bool          // all work was done, or its QP failed, before the limit
	Elapsed  time.Duration // simulated
	Faults   []string      // what contradicts the work: wrong data, order, counts
	Errors   []error       // of connections that failed, in their order
	Frames   int           // that passed the tap
}

// New sets up a scenario.
func New(config Config) (*Run, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	r := &Run{config: config}
	r.Network = simulation.New(config.Seed, 1, 1, simulation.Link{
		Delay: config.RouteDelay, Loss: config.Loss, Duplicate: config.Duplicate, Late: config.Late,
	})
	r.Network.Now, r.Network.Jitter = config.Start, config.Jitter
	for i := range config.Clients + config.Servers {
		if err := r.addHost(i, i >= config.Clients); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(config.Seed, 0x726f6365)) //nolint:gosec // chance that a seed repeats is the point
	for i := range config.Connections {
		if err := r.connect(i, random); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Run) addHost(i int, server bool) error {
	c := &r.config
	place, number := byte(0), byte(i+1)
	if server {
		place, number = 1, byte(i-c.Clients+1)
	}
	h := &Host{
		run: r, Server: server, MAC: [6]byte{2, 0, 0, 0, place, number}, memory: newMemory(), byQP: map[*roce.QP]*side{},
		expected: map[uint32]*Connection{}, accepted: map[uint32]*side{},
		Address: netip.AddrFrom4([4]byte{10, 0, place, number}),
	}
	if c.IPv6 {
		h.Address = netip.AddrFrom16([16]byte{0: 0xfd, 13: place, 15: number})
	}
	e := c.Endpoint
	e.Address, e.MAC, e.Memory, e.Accept = h.Address, h.MAC, h.memory, h.accept
	var err error
	if h.Endpoint, err = roce.New(e); err != nil {
		return err
	}
	up := simulation.Link{Rate: c.Rate, Delay: c.EdgeDelay}
	down := simulation.Link{Rate: c.Rate, Delay: c.EdgeDelay, Queue: c.Queue, Mark: c.Mark}
	if server {
		up.Loss, down.Loss = c.LossBack, c.LossForward
	}
	h.place = r.Network.AddHost(h.Address, h, up, down)
	h.place.Backlog = 1 // ns: a frame leaves the endpoint when the link is free
	r.Hosts = append(r.Hosts, h)
	return nil
}

// connect adds a connection and its work.
func (r *Run) connect(i int, random *rand.Rand) error {
	c := &r.config
	client, server := r.Hosts[i%c.Clients], r.Hosts[c.Clients+i%c.Servers]
	psn := func() uint32 {
		if c.NearWrap {
			return 1<<24 - 1 - random.Uint32N(64)
		}
		return random.Uint32N(1 << 24)
	}
	first, second := psn(), psn()
	// Numbers that differ: each connection has its own stretch.
	clientQPN, serverQPN := uint32(0x100+64*i)+random.Uint32N(64), uint32(0x800100+64*i)+random.Uint32N(64)
	conn := &Connection{Index: i, Client: client, Server: server}
	conn.ClientQP, conn.ServerQP = c.QP, c.QP
	a, b := &conn.ClientQP, &conn.ServerQP
	a.QPN, a.RemoteQPN, a.SendPSN, a.ReceivePSN, a.Remote, a.RemoteMAC = clientQPN, serverQPN, first, second, server.Address, server.MAC
	b.QPN, b.RemoteQPN, b.SendPSN, b.ReceivePSN, b.Remote, b.RemoteMAC = serverQPN, clientQPN, second, first, client.Address, client.MAC
	a.SourcePort, b.SourcePort = uint16(49152+random.IntN(16384)), uint16(49152+random.IntN(16384))
	if c.Client != nil {
		c.Client(i, a)
	}
	if c.Server != nil {
		c.Server(i, b)
	}
	back := 0
	if c.BothWays {
		back = c.Messages
	}
	work := func(peer *Host, messages int) *flow {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64())) //nolint:gosec // as above
		return newFlow(c, own, peer, i, conn.ServerQP.MTU, messages)
	}
	forward, backward := work(server, c.Messages), work(client, back)
	conn.clientSide = &side{out: forward, in: backward}
	conn.serverSide = &side{out: backward, in: forward}
	client.sides, server.sides = append(client.sides, conn.clientSide), append(server.sides, conn.serverSide)
	r.Connections = append(r.Connections, conn)
	return conn.start(c.Start, c.Handshake)
}

// Go runs the scenario to its end, or its limit.
func (r *Run) Go() Result {
	var result Result
	r.tap(&result)
	for _, h := range r.Hosts {
		r.Network.Wake(h.place)
	}
	limit := r.config.Start + r.config.Limit
	result.Finished = r.Network.Run(limit, r.done)
	result.Elapsed = r.Network.Now - r.config.Start
	if result.Finished {
		r.end()
	}
	for _, c := range r.Connections {
		for _, f := range [2]*flow{c.clientSide.out, c.serverSide.out} {
			if result.Finished {
				f.check()
			}
			for _, fault := range f.faults {
				result.Faults = append(result.Faults, fmt.Sprintf("connection %d: %s", c.Index, fault))
			}
			if f.err != nil {
				result.Errors = append(result.Errors, f.err)
			}
		}
	}
	return result
}

// end lets clients disconnect, and what is still on the way pass the tap.
func (r *Run) end() {
	const rest = 10 * time.Millisecond
	if r.config.Handshake {
		for _, c := range r.Connections {
			if c.clientSide.qp.Disconnect(r.Network.Now) == nil {
				r.Network.Wake(c.Client.place)
			}
		}
		r.Network.Run(r.Network.Now+2*time.Second, func() bool {
			for _, c := range r.Connections {
				if c.clientSide.open && c.clientSide.out.err == nil {
					return false
				}
			}
			return true
		})
	}
	r.Network.Run(r.Network.Now+rest, nil)
}

// done tells whether every connection has come to its end.
func (r *Run) done() bool {
	for _, c := range r.Connections {
		if !c.clientSide.out.done() || !c.serverSide.out.done() {
			return false
		}
	}
	return true
}

// tap sets the network's hooks: marks by chance, and the tap at its vantage.
func (r *Run) tap(result *Result) {
	c := &r.config
	see := func(f *simulation.Frame) {
		applyMark(f)
		result.Frames++
		if c.Tap != nil {
			c.Tap(Frame{Time: r.Network.Now, Data: f.Payload})
		}
	}
	at := func(h *simulation.Host, f *simulation.Frame) {
		if n, ok := h.Node.(*Host); ok && c.Vantage != Middle && n.Server == (c.Vantage == NearResponder) {
			see(f)
		}
	}
	r.Network.OnSend, r.Network.OnDeliver = at, at
	r.Network.OnHop = func(hop int, to *simulation.Host, f *simulation.Frame) {
		since, route := r.Network.Now-c.Start-c.OutageAt, r.Network.Planes[0].Routes[0]
		route.Down = since >= 0 && since < c.OutageFor
		if c.DetourDelay != 0 && since >= c.OutageFor {
			route.Delay = c.DetourDelay
		}
		if hop == 1 && c.MarkChance > 0 && f.ECN != dissector.ECNNotECT && r.Network.Random.Float64() < c.MarkChance {
			f.ECN = dissector.ECNCE
		}
		if n, ok := to.Node.(*Host); ok && c.Vantage == Middle && n.Server == (hop == 1) {
			see(f)
		}
	}
}
