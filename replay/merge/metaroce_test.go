package merge_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// ethernet wraps a frame of the simulation. Its sender does not number its IP packets.
func ethernet(f *simulation.Frame) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, byte(f.ECN)}
	b = binary.BigEndian.AppendUint16(b, uint16(28+len(f.Payload)))
	b = append(b, 0, 0, 0, 0, 64, 17, 0, 0)
	from, to := f.Source.Addr().As4(), f.Destination.Addr().As4()
	b = append(append(b, from[:]...), to[:]...)
	b = binary.BigEndian.AppendUint16(b, f.Source.Port())
	b = binary.BigEndian.AppendUint16(b, f.Destination.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(f.Payload)))
	return append(append(b, 0, 0), f.Payload...)
}

// losses are where packets of a MetaRoCE run are lost: before the first point, between the points, behind them.
type losses struct{ up, route, down, late float64 }

// runMetaRoCE writes from one endpoint to another, seen near the sender and at the receiver's switch.
func runMetaRoCE(t *testing.T, seed uint64, l losses) *truth {
	t.Helper()
	out := &truth{partners: map[uint64]uint64{}}
	link := simulation.Link{Rate: 10e9, Delay: 2 * time.Microsecond}
	up, route, down := link, link, link
	up.Loss, route.Loss, down.Loss, route.Late = l.up, l.route, l.down, l.late
	route.Mark = 40 << 10
	net := simulation.New(seed, 1, 2, route)
	addresses := [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	var ends [2]*metaroce.Endpoint
	var hosts [2]*simulation.Host
	region := make([]byte, 4<<20)
	for i := range ends {
		config := metaroce.DefaultConfig()
		config.Planes = []netip.Addr{addresses[i]}
		config.Memory = metaroce.Regions{1: {Address: 1 << 33, Bytes: region, Access: metaroce.AccessWrite}}
		config.Random = rand.NewPCG(seed, uint64(i))
		end, err := metaroce.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = end
		hosts[i] = net.AddHost(addresses[i], &simulation.Endpoint{Endpoint: end}, up, down)
		hosts[i].Backlog = 5 * time.Microsecond
	}
	see := func(point int, f *simulation.Frame) {
		out.points[point] = append(out.points[point], frame{net.Now, ethernet(f)})
	}
	sender := func(h *simulation.Host, f *simulation.Frame) {
		if h == hosts[0] {
			see(0, f)
		}
	}
	net.OnSend, net.OnDeliver = sender, sender
	net.OnHop = func(hop int, to *simulation.Host, f *simulation.Frame) {
		if (to == hosts[1]) == (hop == 2) { // the switch of the receiver, on the way there and back
			see(1, f)
		}
	}
	c, err := ends[0].Connect(0, addresses[1])
	if err != nil {
		t.Fatal(err)
	}
	net.Wake(hosts[0])
	var event metaroce.Event
	var done metaroce.Completion
	connected, completed := false, 0
	follow := func() {
		for _, e := range ends {
			for e.NextEvent(&event) {
				connected = connected || event.Kind == metaroce.EventConnected
			}
			for e.NextCompletion(&done) {
				completed++
			}
		}
	}
	net.Run(5*time.Second, func() bool { follow(); return connected })
	if !connected {
		t.Fatal("not connected")
	}
	there, back := flowID(addresses[1].As16(), c.PeerID()), flowID(addresses[0].As16(), c.ID())
	out.partners[there], out.partners[back] = back, there
	s, err := c.Stream(0)
	if err != nil {
		t.Fatal(err)
	}
	payload := make([]byte, 64<<10)
	for range 40 {
		if err := s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: payload, RKey: 1, RemoteAddress: 1 << 33}); err != nil {
			t.Fatal(err)
		}
	}
	net.Wake(hosts[0])
	net.Run(net.Now+2*time.Second, func() bool { follow(); return completed >= 40 })
	return out
}

// The same of MetaRoCE: what ACKs name, cover and leave out decides.
func TestFatesOfMetaRoCEAreTrue(t *testing.T) {
	var all census
	for seed := range uint64(seeds(t)) {
		r := rand.New(rand.NewPCG(seed, 5))
		pick := func(values ...float64) float64 { return values[r.IntN(len(values))] }
		l := losses{pick(0, 0, 0.005), pick(0, 0.001, 0.01, 0.03), pick(0, 0, 0.005), pick(0, 0, 0, 0.005)}
		clocks := [2]clock{{missing: pick(0, 0.001, 0.01)}, {
			offset: time.Duration((r.Float64()*2 - 1) * pick(1e3, 1e9, 7.2e12)), drift: (r.Float64()*2 - 1) * 100e-6, missing: pick(0, 0.001, 0.01),
		}}
		run := runMetaRoCE(t, seed, l)
		judge(t, fmt.Sprintf("seed %d (%+v, missing %v %v)", seed, l, clocks[0].missing, clocks[1].missing), run, clocks, false, r, &all)
	}
	t.Logf("%+v", all)
	if all.lost == 0 || all.missed == 0 || all.vague > seeds(t)/20 {
		t.Error("too little was decided")
	}
}
