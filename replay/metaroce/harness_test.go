package metaroce_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

var addressA, addressB = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

// placements is memory that counts how often each byte was put in place.
type placements struct {
	metaroce.Regions
	times map[uint32][]uint8
}

func (p *placements) Slice(rkey uint32, address uint64, length int, access metaroce.Access) ([]byte, error) {
	b, err := p.Regions.Slice(rkey, address, length, access)
	if err == nil && access == metaroce.AccessWrite {
		if p.times == nil {
			p.times = map[uint32][]uint8{}
		}
		if p.times[rkey] == nil {
			p.times[rkey] = make([]uint8, len(p.Regions[rkey].Bytes))
		}
		from := address - p.Regions[rkey].Address
		for i := range length {
			p.times[rkey][from+uint64(i)]++
		}
	}
	return b, err
}

// pair is two endpoints on a simulated network.
type pair struct {
	t           *testing.T
	net         *simulation.Network
	hosts       [2]*simulation.Host
	ends        [2]*metaroce.Endpoint
	nodes       [2]*simulation.Endpoint
	memory      [2]*placements
	connections [2]*metaroce.Connection
	events      [2][]metaroce.Event
	completions [2][]metaroce.Completion
	posted      [2]map[uint16]int // receive buffers of streams
	watch       *watcher
}

// newPair makes two endpoints with that configuration; change alters what is told to both.
func newPair(t *testing.T, seed uint64, planes, routes int, route simulation.Link, change func(side int, c *metaroce.Config)) *pair {
	t.Helper()
	p := &pair{t: t, net: simulation.New(seed, planes, routes, route)}
	for i, a := range []netip.Addr{addressA, addressB} {
		p.memory[i] = &placements{Regions: metaroce.Regions{}}
		config := metaroce.DefaultConfig()
		for range planes {
			config.Planes = append(config.Planes, a)
		}
		config.Memory = p.memory[i]
		config.Random = rand.NewPCG(seed, uint64(i))
		if change != nil {
			change(i, &config)
		}
		end, err := metaroce.New(config)
		if err != nil {
			t.Fatal(err)
		}
		p.ends[i] = end
		p.nodes[i] = &simulation.Endpoint{Endpoint: end}
		p.hosts[i] = p.net.AddHost(a, p.nodes[i], simulation.Link{Rate: 100e9}, simulation.Link{Rate: 100e9})
	}
	p.watch = newWatcher(p)
	return p
}

// collect takes events and completions.
func (p *pair) collect() {
	var ev metaroce.Event
	var done metaroce.Completion
	for i, e := range p.ends {
		for e.NextEvent(&ev) {
			p.events[i] = append(p.events[i], ev)
			if ev.Kind == metaroce.EventConnected || ev.Kind == metaroce.EventAccepted {
				p.connections[i] = ev.Connection
			}
		}
		for e.NextCompletion(&done) {
			p.completions[i] = append(p.completions[i], done)
		}
	}
}

// run lets the network go on until the condition holds or the time has passed.
func (p *pair) run(d time.Duration, until func() bool) bool {
	return p.net.Run(p.net.Now+d, func() bool {
		p.collect()
		return until != nil && until()
	})
}

// connect connects A to B, trying again when all requests were lost.
func (p *pair) connect() error {
	for range 10 {
		p.connections = [2]*metaroce.Connection{}
		if _, err := p.ends[0].Connect(p.net.Now, addressB); err != nil {
			return err
		}
		p.net.Wake(p.hosts[0])
		failed := false
		p.run(10*time.Second, func() bool {
			for _, ev := range p.events[0] {
				failed = failed || ev.Kind == metaroce.EventTimedOut
			}
			return failed || p.connections[0] != nil
		})
		if p.connections[0] != nil {
			// of several accepted ones that whose answer came
			p.connections[1] = nil
			for _, ev := range p.events[1] {
				if ev.Kind == metaroce.EventAccepted && ev.Connection.ID() == p.connections[0].PeerID() {
					p.connections[1] = ev.Connection
				}
			}
			return nil
		}
		p.events[0] = nil
	}
	return errors.New("no connection after ten rounds of requests")
}

func (p *pair) mustConnect() {
	p.t.Helper()
	if err := p.connect(); err != nil {
		p.t.Fatal(err)
	}
}

// stream is a stream of A or B.
func (p *pair) stream(side int, id uint16) *metaroce.Stream {
	p.t.Helper()
	s, err := p.connections[side].Stream(id)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// post posts work and lets it be sent.
func (p *pair) post(side int, stream uint16, r metaroce.WorkRequest) {
	p.t.Helper()
	if err := p.stream(side, stream).Post(r); err != nil {
		p.t.Fatal(err)
	}
	p.net.Wake(p.hosts[side])
}

// watcher sees every packet and holds it against what must hold for all.
type watcher struct {
	p      *pair
	packet mr0.Packet
	sides  [2]sideWatch
	errs   []error
	sent   func(side int, in *mr0.Packet, f *simulation.Frame) // when set, sees what is sent
}

type pathKey struct {
	conn uint32 // of the sender of the sequenced packets
	path uint8
}

// sideWatch is what one side knows as a sender, and has said as a receiver.
type sideWatch struct {
	acked map[pathKey]*ackedSet
	said  map[pathKey]*mr0.ACKH
	bore  map[pathKey]map[uint32]mr0.DH
}

type ackedSet struct {
	cumulative uint32
	begun      bool
	beyond     map[uint32]bool
}

func newWatcher(p *pair) *watcher {
	w := &watcher{p: p}
	for i := range w.sides {
		w.sides[i] = sideWatch{
			acked: map[pathKey]*ackedSet{}, said: map[pathKey]*mr0.ACKH{}, bore: map[pathKey]map[uint32]mr0.DH{},
		}
	}
	p.net.OnSend, p.net.OnDeliver = w.onSend, w.onDeliver
	return w
}

func (w *watcher) side(h *simulation.Host) int {
	if h == w.p.hosts[0] {
		return 0
	}
	return 1
}

func (w *watcher) fail(format string, args ...any) {
	if len(w.errs) < 5 {
		w.errs = append(w.errs, fmt.Errorf("at %v: "+format, append([]any{w.p.net.Now}, args...)...))
	}
}

func (w *watcher) onSend(h *simulation.Host, f *simulation.Frame) {
	side, in := w.side(h), &w.packet
	if err := mr0.Decode(f.Payload, in); err != nil {
		w.fail("sent a malformed packet: %s", mr0.Profile.Explain(in.Fault))
		return
	}
	if !mr0.VerifyICRC(f.Payload, f.Source, f.Destination) {
		w.fail("sent a packet with a wrong ICRC")
	}
	if w.sent != nil {
		w.sent(side, in, f)
	}
	key := pathKey{in.CH.DestConnID, in.CH.PathID}
	s := &w.sides[side]
	switch {
	case in.CH.Type == mr0.TypeACK:
		a := in.ACKH
		if before := s.said[key]; before != nil {
			checkMonotone(w, before, &a)
		}
		s.said[key] = &a
	case in.CH.Type.Sequenced():
		if set := s.acked[key]; set != nil && set.has(in.CH.PSN) {
			w.fail("side %d sent psn %d of path %d again after it was acknowledged", side, in.CH.PSN, in.CH.PathID)
		}
		if s.bore[key] == nil {
			s.bore[key] = map[uint32]mr0.DH{}
		}
		dh := in.DH
		dh.Timestamp = 0
		before, again := s.bore[key][in.CH.PSN]
		if again && in.CH.Flags&mr0.FlagRTX == 0 {
			w.fail("side %d: no RTX on psn %d, which was sent before", side, in.CH.PSN)
		}
		if again && in.CH.Type != mr0.TypeProbe && before != dh {
			w.fail("side %d: psn %d of path %d bears something else than before", side, in.CH.PSN, in.CH.PathID)
		}
		s.bore[key][in.CH.PSN] = dh
	}
}

// checkMonotone tells whether a later ACK acknowledges all that an earlier one did.
func checkMonotone(w *watcher, before, after *mr0.ACKH) {
	d := mr0.PSNDistance(before.CumulativePSN, after.CumulativePSN)
	if d < 0 {
		w.fail("cumulative_psn went back from %d to %d", before.CumulativePSN, after.CumulativePSN)
		return
	}
	for first, last := range before.SACK.Ranges() {
		for i := first; i <= last; i++ {
			if j := i - int(d); j >= 0 && !after.SACK.Has(j) {
				w.fail("SACK bit of psn %d was withdrawn", before.CumulativePSN+1+uint32(i))
			} else if j == -1 {
				w.fail("cumulative_psn %d stands at what was acknowledged before", after.CumulativePSN)
			}
		}
	}
}

func (s *ackedSet) has(psn uint32) bool {
	return s.begun && mr0.PSNBefore(psn, s.cumulative) || s.beyond[psn]
}

// onDeliver notes what a sender learns from an ACK.
func (w *watcher) onDeliver(h *simulation.Host, f *simulation.Frame) {
	in := &w.packet
	if f.Payload[0]&0xf != byte(mr0.TypeACK) || mr0.Decode(f.Payload, in) != nil {
		return
	}
	side := w.side(h)
	c := w.p.connections[side]
	if c == nil || in.CH.DestConnID != c.ID() {
		return
	}
	key := pathKey{c.PeerID(), in.CH.PathID}
	set := w.sides[side].acked[key]
	if set == nil {
		set = &ackedSet{beyond: map[uint32]bool{}}
		w.sides[side].acked[key] = set
	}
	if !set.begun || mr0.PSNBefore(set.cumulative, in.ACKH.CumulativePSN) {
		set.cumulative, set.begun = in.ACKH.CumulativePSN, true
	}
	for first, last := range in.ACKH.SACK.Ranges() {
		for i := first; i <= last; i++ {
			set.beyond[in.ACKH.CumulativePSN+1+uint32(i)] = true
		}
	}
}

// check reports what the watcher has found.
func (p *pair) check() error {
	if len(p.watch.errs) > 0 {
		return p.watch.errs[0]
	}
	return nil
}
