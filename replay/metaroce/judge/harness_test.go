package judge_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/judge"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// host is an endpoint whose packets may be altered at its boundary, where the capture does not see it.
type host struct {
	*simulation.Endpoint
	out    func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame
	in     func(now time.Duration, f *simulation.Frame, m *mr0.Packet) bool
	queue  []simulation.Frame
	late   []lateFrame // in order
	packet mr0.Packet
}

type lateFrame struct {
	at    time.Duration
	frame simulation.Frame
}

// delay sends a frame then.
func (h *host) delay(at time.Duration, f simulation.Frame) {
	h.late = append(h.late, lateFrame{at, f})
	slices.SortStableFunc(h.late, func(a, b lateFrame) int { return cmp.Compare(a.at, b.at) })
}

func (h *host) Poll(now time.Duration, scratch []byte) (simulation.Frame, bool) {
	if len(h.late) > 0 && h.late[0].at <= now {
		f := h.late[0].frame
		h.late = h.late[1:]
		return f, true
	}
	for len(h.queue) == 0 {
		f, ok := h.Endpoint.Poll(now, scratch)
		if !ok || h.out == nil {
			return f, ok
		}
		if mr0.Decode(f.Payload, &h.packet) != nil {
			panic("the reference sent what cannot be decoded")
		}
		h.queue = append(h.queue, h.out(now, &f, &h.packet)...)
	}
	f := h.queue[0]
	h.queue = h.queue[1:]
	return f, true
}

func (h *host) NextTimeout() time.Duration {
	if len(h.queue) > 0 {
		return 0
	}
	at := h.Endpoint.NextTimeout()
	if len(h.late) > 0 {
		at = min(at, h.late[0].at)
	}
	return at
}

func (h *host) Handle(now time.Duration, f *simulation.Frame) {
	if h.in != nil {
		if mr0.Decode(f.Payload, &h.packet) == nil && !h.in(now, f, &h.packet) {
			return
		}
	}
	h.Endpoint.Handle(now, f)
}

// rewritten is a frame with another packet in it.
func rewritten(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
	g := *f
	payload := append([]byte(nil), f.Payload[m.PayloadOffset:len(f.Payload)-4]...)
	var err error
	if g.Payload, err = m.AppendDatagram(nil, payload, f.Source, f.Destination); err != nil {
		panic(err)
	}
	return g
}

// kept is a copy of a frame.
func kept(f *simulation.Frame) simulation.Frame {
	g := *f
	g.Payload = append([]byte(nil), f.Payload...)
	return g
}

// uniquePorts hands out ports that no other path of the endpoint has.
type uniquePorts struct {
	random *rand.Rand
	used   map[uint16]bool
}

func (u *uniquePorts) Acquire(_ netip.Addr, _ uint16) uint16 {
	for {
		if p := uint16(49152 + u.random.IntN(16384)); !u.used[p] {
			u.used[p] = true
			return p
		}
	}
}

func (u *uniquePorts) Release(_ netip.Addr, p uint16) { delete(u.used, p) }

// places where a tap may be.
const (
	nearSender = iota
	middle
	nearReceiver
	places
)

var placeNames = [places]string{"near the sender", "in the middle", "near the receiver"}

// taste is what a capture misses.
type taste struct {
	drop   float64       // share of packets
	from   time.Duration // begins then
	oneWay bool          // never sees the way back
	join   time.Duration // the way back is told only from then on
	burst  int           // packets that it misses in a row when it misses one
	outage [2]time.Duration
	clock  func(now time.Duration) (at time.Duration, known bool) // nil: as it should be
}

// tap is a capture of one connection at one place.
type tap struct {
	taste
	judge    *judge.Connection
	random   *rand.Rand
	findings []*finding.Finding
	joined   bool
	skip     int
	report   finding.Connection
}

// world is senders, a receiver, a network between them and taps.
type world struct {
	tb         testing.TB
	net        *simulation.Network
	hosts      []*simulation.Host
	nodes      []*host // the last is the receiver
	memory     []metaroce.Regions
	parameters mr0.Parameters
	taps       [][places][]*tap // by sender
	packet     dissector.Packet
	frame      []byte
	number     [places]uint64
	numbers    [places]map[uint64]string // what packets were, for failures
	trace      bool
	ids        []uint32
	later      []func()

	connections []*metaroce.Connection // of the senders
	accepted    []*metaroce.Connection // of the receiver, by sender
	done        [2]int                 // completions of senders, of the receiver
	failed      bool
}

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i + 1)}) }

func newWorld(tb testing.TB, seed uint64, senders, planes, routes int, route, up, down simulation.Link, parameters mr0.Parameters, change func(i int, c *metaroce.Config), tastes []taste) *world {
	tb.Helper()
	w := &world{tb: tb, net: simulation.New(seed, planes, routes, route), parameters: parameters}
	for i := range senders + 1 {
		config := metaroce.DefaultConfig()
		config.Parameters = parameters
		for range planes {
			config.Planes = append(config.Planes, address(i))
		}
		regions := metaroce.Regions{
			1: {Address: 1 << 33, Bytes: make([]byte, 4<<20), Access: metaroce.AccessWrite | metaroce.AccessRead},
			2: {Address: 1 << 33, Bytes: make([]byte, 64), Access: metaroce.AccessAtomic},
		}
		config.Memory = regions
		config.Random = rand.NewPCG(seed, uint64(i))
		config.SourcePorts = &uniquePorts{random: rand.New(rand.NewPCG(seed, uint64(i)+1000)), used: map[uint16]bool{}}
		if change != nil {
			change(i, &config)
		}
		end, err := metaroce.New(config)
		if err != nil {
			tb.Fatal(err)
		}
		node := &host{Endpoint: &simulation.Endpoint{Endpoint: end}}
		w.nodes = append(w.nodes, node)
		w.memory = append(w.memory, regions)
		w.hosts = append(w.hosts, w.net.AddHost(address(i), node, up, down))
	}
	w.connections = make([]*metaroce.Connection, senders)
	w.accepted = make([]*metaroce.Connection, senders)
	w.taps = make([][places][]*tap, senders)
	for i := range w.taps {
		for place := range places {
			for k, t := range tastes {
				one := &tap{taste: t, random: rand.New(rand.NewPCG(seed, uint64(i*1000+place*100+k)))}
				one.judge = judge.New(finding.ConnectionID(i), parameters, func(f *finding.Finding) { one.findings = append(one.findings, f) })
				w.taps[i][place] = append(w.taps[i][place], one)
			}
		}
	}
	w.net.OnSend = func(h *simulation.Host, f *simulation.Frame) {
		if w.index(h) < senders {
			w.capture(nearSender, f)
		} else {
			w.capture(nearReceiver, f)
		}
	}
	w.net.OnDeliver = func(h *simulation.Host, f *simulation.Frame) {
		if w.index(h) < senders {
			w.capture(nearSender, f)
		} else {
			w.capture(nearReceiver, f)
		}
	}
	w.net.OnHop = func(hop int, _ *simulation.Host, f *simulation.Frame) {
		if hop == 2 {
			w.capture(middle, f)
		}
	}
	return w
}

func (w *world) index(h *simulation.Host) int { return indexOf(h.Address) }

func indexOf(a netip.Addr) int {
	raw := a.As4()
	return int(raw[2])<<8 + int(raw[3]) - 1
}

// ethernet wraps a frame of the simulation.
func ethernet(b []byte, f *simulation.Frame, id uint16) []byte {
	b = append(b[:0], 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0)
	b = append(b, 0x45, byte(f.ECN))
	b = binary.BigEndian.AppendUint16(b, uint16(28+len(f.Payload)))
	b = binary.BigEndian.AppendUint16(b, id)
	b = append(b, 0, 0, 64, 17, 0, 0)
	from, to := f.Source.Addr().As4(), f.Destination.Addr().As4()
	b = append(append(b, from[:]...), to[:]...)
	b = binary.BigEndian.AppendUint16(b, f.Source.Port())
	b = binary.BigEndian.AppendUint16(b, f.Destination.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(f.Payload)))
	return append(append(b, 0, 0), f.Payload...)
}

// capture lets the taps of a place see a frame.
func (w *world) capture(place int, f *simulation.Frame) {
	receiver := len(w.nodes) - 1
	lane, sender := 0, indexOf(f.Source.Addr())
	if sender == receiver {
		lane, sender = 1, indexOf(f.Destination.Addr())
	}
	w.number[place]++
	w.frame = ethernet(w.frame, f, uint16(w.number[place]))
	meta := dissector.Meta{
		LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: 1_700_000_000_000_000_000 + int64(w.net.Now),
		Number: w.number[place], OriginalLength: uint32(len(w.frame)),
	}
	err := dissector.Decode(w.frame, meta, &w.packet)
	s := finding.Sighting{Packet: &w.packet, Err: err, ICRC: dissector.ICRCGood}
	if err != nil {
		s.ICRC = dissector.VerifyICRC(&w.packet)
	} else if bad := w.packet.MetaRoCE.MR0.CH.Type == mr0.TypeProbe; !bad && w.number[place]&15 == 0 || w.checkICRC() {
		s.ICRC = dissector.VerifyICRC(&w.packet)
	}
	if w.trace {
		m := &w.packet.MetaRoCE.MR0
		w.numbers[place][meta.Number] = fmt.Sprintf("%d %v lane %d port %d %+v", meta.Number, w.net.Now, lane, w.packet.UDP.SourcePort, *m)
	}
	for _, t := range w.taps[sender][place] {
		if t.skip > 0 {
			t.skip--
			continue
		}
		if t.drop > 0 && t.random.Float64() < t.drop {
			t.skip = max(0, t.burst-1)
			continue
		}
		if w.net.Now < t.from || w.net.Now >= t.outage[0] && w.net.Now < t.outage[1] || lane == 1 && (t.oneWay || w.net.Now < t.join) {
			continue
		}
		s.Packet.Meta = meta
		if t.clock != nil {
			var at time.Duration
			at, s.Packet.Meta.HasTime = t.clock(w.net.Now)
			s.Packet.Meta.Time = 1_700_000_000_000_000_000 + int64(at)
		}
		if t.join > 0 && lane == 1 && !t.joined {
			t.joined = true
			t.judge.Join()
		}
		t.judge.Observe(lane, &s)
	}
}

func (w *world) checkICRC() bool { return w.nodes[0].out != nil || w.nodes[len(w.nodes)-1].out != nil }

// follow takes events and completions.
func (w *world) follow() {
	var ev metaroce.Event
	var done metaroce.Completion
	last := len(w.nodes) - 1
	for i, n := range w.nodes {
		for n.NextEvent(&ev) {
			switch ev.Kind {
			case metaroce.EventConnected:
				w.connections[i] = ev.Connection
			case metaroce.EventAccepted:
			case metaroce.EventTimedOut, metaroce.EventRejected:
				w.failed = true
			default:
			}
			if ev.Kind == metaroce.EventAccepted {
				for k := range w.accepted {
					if w.net.Now >= 0 && w.accepted[k] == nil && w.pendingPeer(ev.Connection, k) {
						w.accepted[k] = ev.Connection
					}
				}
			}
		}
		for n.NextCompletion(&done) {
			if i == last {
				w.done[1]++
			} else {
				w.done[0]++
			}
		}
	}
}

// pendingPeer tells whether an accepted connection is that of a sender.
func (w *world) pendingPeer(c *metaroce.Connection, sender int) bool {
	return w.ids[sender] == c.PeerID()
}

// connect connects all senders.
func (w *world) connect() bool {
	last := len(w.nodes) - 1
	for i := range w.connections {
		c, err := w.nodes[i].Connect(w.net.Now, address(last))
		if err != nil {
			w.tb.Fatal(err)
		}
		w.ids = append(w.ids, c.ID())
		w.net.Wake(w.hosts[i])
	}
	return w.run(2*time.Second, func() bool {
		for i := range w.connections {
			if w.connections[i] == nil || w.accepted[i] == nil {
				return w.failed
			}
		}
		return true
	}) && !w.failed
}

func (w *world) run(d time.Duration, until func() bool) bool {
	return w.net.Run(w.net.Now+d, func() bool {
		w.follow()
		return until != nil && until()
	})
}

// close ends the judges.
func (w *world) close() {
	for i := range w.taps {
		for place := range places {
			for _, t := range w.taps[i][place] {
				t.judge.Close(&t.report)
			}
		}
	}
}

// explain prints a finding with its packets.
func (w *world) explain(place int, f *finding.Finding) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s path %d of %v: %s", f.Rule, f.Verdict, f.Path, f.Endpoint, f.Sentence)
	for _, n := range f.Packets() {
		fmt.Fprintf(&s, "\n    packet %d %s", n, w.numbers[place][n])
	}
	return s.String()
}
