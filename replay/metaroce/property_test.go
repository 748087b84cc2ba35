package metaroce_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run the one property run with this seed")
	runs    = flag.Int("runs", 10_000, "number of property runs")
)

// Whatever the network loses, reorders, doubles or breaks: every byte lands once at its place, completions keep their
// order, no acknowledged psn is sent again, no SACK bit is withdrawn, and all work gets done.
func TestPropertiesUnderAnyNetwork(t *testing.T) {
	if *oneSeed != 0 {
		if err := propertyRun(t, *oneSeed); err != nil {
			t.Fatalf("seed %d: %v", *oneSeed, err)
		}
		return
	}
	n := *runs
	if os.Getenv("ROCELENS_RACE") != "" {
		n = min(n, 800) // the detector makes each run ten times slower; CI does all of them without, by "make seeded"
	}
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(shard + 1); seed <= uint64(n); seed += shards {
				if err := propertyRun(t, seed); err != nil {
					t.Fatalf("seed %d: %v\nagain: go test ./replay/metaroce -run '^TestPropertiesUnderAnyNetwork$' -seed %d", seed, err, seed)
				}
			}
		})
	}
}

// Keys of the memory in property runs.
const (
	keyWrite, keyRead, keyAtomic = 1, 2, 3
	base                         = 1 << 33
)

// workload is the work of one side of a property run, and what has to come of it.
type workload struct {
	requests [][]metaroce.WorkRequest // by stream
	receives [][][]byte               // buffers at the peer, by stream
	written  []byte                   // what the peer's memory must become
	readable []byte                   // the peer's memory to be read
	counters []uint64                 // fetch and adds for each counter of the peer
	reads    []readCheck
}

type readCheck struct {
	into []byte
	from int
}

const readableBytes = 6000

// newWorkload draws the work of a side.
func newWorkload(r *rand.Rand, mtu int) *workload {
	w := &workload{readable: randomBytes(r, readableBytes), counters: make([]uint64, 3)}
	streams := 1 + r.IntN(4)
	w.requests = make([][]metaroce.WorkRequest, streams)
	w.receives = make([][][]byte, streams)
	id := uint64(0)
	for range r.IntN(14) {
		s := r.IntN(streams)
		id++
		var size int
		switch r.IntN(4) {
		case 0:
			size = r.IntN(40)
			if r.IntN(20) == 0 {
				size = 200 * mtu // more than a word of the SACK on its way
			}
		case 1:
			size = mtu * r.IntN(4)
		default:
			size = r.IntN(16 * mtu)
		}
		q := metaroce.WorkRequest{ID: id, HasImmediate: r.IntN(3) == 0, Immediate: r.Uint32(), Solicited: r.IntN(4) == 0}
		switch op := r.IntN(8); {
		case op < 3:
			q.Operation, q.RKey, q.RemoteAddress = metaroce.OperationWrite, keyWrite, base+uint64(len(w.written))
			q.Data = randomBytes(r, size)
			w.written = append(w.written, q.Data...)
		case op < 5:
			q.Operation = metaroce.OperationSend
			q.Data = randomBytes(r, size)
			w.receives[s] = append(w.receives[s], make([]byte, size+r.IntN(3)))
		case op < 7:
			size = min(size, readableBytes)
			from := r.IntN(readableBytes - size + 1)
			q.Operation, q.RKey, q.RemoteAddress = metaroce.OperationRead, keyRead, base+uint64(from)
			q.Data = make([]byte, size)
			w.reads = append(w.reads, readCheck{into: q.Data, from: from})
		default:
			i := r.IntN(len(w.counters))
			q.Operation, q.RKey, q.RemoteAddress = metaroce.OperationFetchAndAdd, keyAtomic, base+8*uint64(i)
			q.SwapOrAdd = 1
			w.counters[i]++
		}
		w.requests[s] = append(w.requests[s], q)
	}
	return w
}

// configure draws the configuration of both ends.
func configure(r *rand.Rand) func(side int, c *metaroce.Config) {
	mtus := [2]int{256 << r.IntN(3), 256 << r.IntN(3)}
	return func(side int, c *metaroce.Config) {
		c.MTU = mtus[side]
		c.Paths = 1 + r.IntN(12)
		c.MaxWindow = 1 + r.IntN(256)
		if r.IntN(3) == 0 {
			c.MaxWindow = 1 + r.IntN(8)
		}
		c.InitialWindow = 1 + r.IntN(64)
		c.ACKEvery = 1 + r.IntN(16)
		c.RTOInitial = time.Duration(1+r.IntN(10)) * time.Millisecond
		c.RTOMin = time.Duration(200+r.IntN(800)) * time.Microsecond
		c.RTOMax = time.Duration(5+r.IntN(30)) * time.Millisecond
		c.PathFailedAfter = 1 + r.IntN(4)
		c.MessageWindow = 1 + r.IntN(10)
		c.MaxInboundMessages = 1 + r.IntN(20)
		c.MaxReads = 1 + r.IntN(4)
		c.ConnectionTimeout = time.Hour
		c.RetryAfter = time.Duration(1+r.IntN(300)) * time.Microsecond
		c.TailProbe = r.IntN(3) == 0
		if r.IntN(2) == 0 {
			c.LinkRate = uint32(1000 + r.IntN(100_000))
		}
	}
}

// network draws the routes.
func drawRoute(r *rand.Rand) simulation.Link {
	l := simulation.Link{Delay: time.Duration(r.IntN(30_000)), Rate: 1e9 * float64(1+r.IntN(100))}
	switch r.IntN(4) {
	case 0:
	case 1:
		l.Loss = 0.01
	default:
		l.Loss = 0.3 * r.Float64()
	}
	if r.IntN(2) == 0 {
		l.Duplicate = 0.2 * r.Float64()
	}
	if r.IntN(2) == 0 {
		l.Queue = 4_000 + r.IntN(40_000)
		l.Mark = l.Queue / 2
	}
	return l
}

func propertyRun(t *testing.T, seed uint64) (err error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
			if *oneSeed != 0 {
				panic(v)
			}
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0x70726f70))
	routes := 1 + r.IntN(6)
	p := newPair(t, seed, 1+r.IntN(3), routes, drawRoute(r), configure(r))
	for i := range p.net.Planes {
		for _, l := range p.net.Planes[i].Routes {
			l.Delay = time.Duration(r.IntN(60_000))
		}
	}
	if err := p.connect(); err != nil {
		return err
	}
	p.completions = [2][]metaroce.Completion{}
	mtu := p.connections[0].MTU()
	work := [2]*workload{newWorkload(r, mtu), newWorkload(r, mtu)}
	for side, w := range work {
		peer := p.memory[1-side]
		peer.Regions[keyWrite] = metaroce.Region{Address: base, Bytes: make([]byte, len(w.written)), Access: metaroce.AccessWrite}
		peer.Regions[keyRead] = metaroce.Region{Address: base, Bytes: w.readable, Access: metaroce.AccessRead}
		peer.Regions[keyAtomic] = metaroce.Region{Address: base, Bytes: make([]byte, 8*len(w.counters)), Access: metaroce.AccessAtomic}
	}
	// Some buffers are there from the start, the others come late.
	late := 0
	for side, w := range work {
		for id, buffers := range w.receives {
			early := r.IntN(len(buffers) + 1)
			late += len(buffers) - early
			p.postReceives(1-side, uint16(id), buffers, 0, early)
		}
	}
	for side, w := range work {
		for id, requests := range w.requests {
			for _, q := range requests {
				p.post(side, uint16(id), q)
			}
		}
	}
	p.run(time.Duration(r.IntN(3_000_000)), nil)
	p.breakRoutes(r)
	p.run(time.Duration(r.IntN(3_000_000)), nil)
	for side, w := range work {
		for id, buffers := range w.receives {
			have := p.posted[1-side][uint16(id)]
			p.postReceives(1-side, uint16(id), buffers, have, len(buffers))
		}
	}
	p.breakRoutes(r)
	want := [2]int{}
	for side, w := range work {
		for _, requests := range w.requests {
			want[side] += len(requests)
			for _, q := range requests {
				if q.Operation == metaroce.OperationSend || q.Operation == metaroce.OperationWrite && q.HasImmediate {
					want[1-side]++
				}
			}
		}
	}
	if !p.run(2*time.Minute, func() bool {
		return len(p.completions[0]) >= want[0] && len(p.completions[1]) >= want[1] || len(p.watch.errs) > 0
	}) {
		return fmt.Errorf("stuck at %v: %d and %d completions, want %v; %+v; %+v", p.net.Now, len(p.completions[0]),
			len(p.completions[1]), want, p.connections[0].Statistics(), p.connections[1].Statistics())
	}
	if err := p.check(); err != nil {
		return err
	}
	for side, w := range work {
		if err := w.verify(p, side); err != nil {
			return fmt.Errorf("side %d: %w", side, err)
		}
	}
	return p.disconnect()
}

// postReceives posts some of the buffers of a stream.
func (p *pair) postReceives(side int, stream uint16, buffers [][]byte, from, to int) {
	if p.posted[side] == nil {
		p.posted[side] = map[uint16]int{}
	}
	p.posted[side][stream] = to
	for i := from; i < to; i++ {
		if err := p.stream(side, stream).PostReceive(uint64(i), buffers[i]); err != nil {
			p.t.Fatal(err)
		}
	}
}

// breakRoutes takes routes down and up, but never all of a plane, and sometimes a plane, but not the last.
func (p *pair) breakRoutes(r *rand.Rand) {
	for i := range p.net.Planes {
		routes := p.net.Planes[i].Routes
		dead := len(p.net.Planes) > 1 && i > 0 && r.IntN(4) == 0
		alive := r.IntN(len(routes))
		for j, l := range routes {
			l.Down = dead || j != alive && r.IntN(3) == 0
		}
	}
}

// verify holds what has come of the work of a side against what had to.
func (w *workload) verify(p *pair, side int) error {
	peer := p.memory[1-side]
	if !bytes.Equal(peer.Regions[keyWrite].Bytes, w.written) {
		return errors.New("what was written differs")
	}
	for i, n := range peer.times[keyWrite] {
		if n != 1 {
			return fmt.Errorf("byte %d was placed %d times", i, n)
		}
	}
	for i, c := range w.reads {
		if !bytes.Equal(c.into, w.readable[c.from:c.from+len(c.into)]) {
			return fmt.Errorf("READ %d got other bytes", i)
		}
	}
	originals := map[[2]uint64]bool{}
	next := make([]uint32, len(w.requests))
	for _, done := range p.completions[side] {
		if done.Received {
			continue
		}
		if done.Err != nil {
			return fmt.Errorf("stream %d msn %d: %w", done.StreamID, done.MSN, done.Err)
		}
		if done.MSN != next[done.StreamID] {
			return fmt.Errorf("stream %d completed msn %d, want %d", done.StreamID, done.MSN, next[done.StreamID])
		}
		q := w.requests[done.StreamID][done.MSN]
		next[done.StreamID]++
		if done.ID != q.ID {
			return fmt.Errorf("stream %d msn %d has id %d, want %d", done.StreamID, done.MSN, done.ID, q.ID)
		}
		if q.Operation == metaroce.OperationFetchAndAdd {
			key := [2]uint64{q.RemoteAddress, done.Original}
			if originals[key] || done.Original >= w.counters[(q.RemoteAddress-base)/8] {
				return fmt.Errorf("an atomic found %d, which another has found, or too much", done.Original)
			}
			originals[key] = true
		}
	}
	return w.verifyReceived(p, side)
}

// verifyReceived looks at what the peer was handed up.
func (w *workload) verifyReceived(p *pair, side int) error {
	type want struct {
		msn uint32
		q   metaroce.WorkRequest
		id  uint64
	}
	expected := make([][]want, len(w.requests))
	for s, requests := range w.requests {
		sends := uint64(0)
		for msn, q := range requests {
			switch {
			case q.Operation == metaroce.OperationSend:
				if got := w.receives[s][sends][:len(q.Data)]; !bytes.Equal(got, q.Data) {
					return fmt.Errorf("SEND %d of stream %d arrived otherwise", sends, s)
				}
				expected[s] = append(expected[s], want{msn: uint32(msn), q: q, id: sends})
				sends++
			case q.Operation == metaroce.OperationWrite && q.HasImmediate:
				expected[s] = append(expected[s], want{msn: uint32(msn), q: q})
			}
		}
	}
	for _, done := range p.completions[1-side] {
		if !done.Received {
			continue
		}
		if len(expected[done.StreamID]) == 0 {
			return fmt.Errorf("stream %d: one completion too many: %+v", done.StreamID, done)
		}
		x := expected[done.StreamID][0]
		expected[done.StreamID] = expected[done.StreamID][1:]
		if done.MSN != x.msn || done.ID != x.id || done.Operation != x.q.Operation || int(done.Length) != len(x.q.Data) ||
			done.HasImmediate != x.q.HasImmediate || done.HasImmediate && done.Immediate != x.q.Immediate || done.Solicited != x.q.Solicited {
			return fmt.Errorf("stream %d: completion %+v, want %+v", done.StreamID, done, x)
		}
	}
	return nil
}

// disconnect ends the connection from A's side, which must always come to an end.
func (p *pair) disconnect() error {
	p.connections[0].Disconnect(p.net.Now)
	p.net.Wake(p.hosts[0])
	c := p.connections[0]
	if !p.run(10*time.Second, func() bool { return c.State() == metaroce.StateClosed }) {
		return errors.New("DISCONNECT did not end")
	}
	last := p.events[0][len(p.events[0])-1]
	if last.Kind != metaroce.EventDisconnected || last.Disconnect != mr0.DisconnectReasonNormal || last.Err != nil {
		return fmt.Errorf("last event is %+v", last)
	}
	return nil
}
