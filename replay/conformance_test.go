package replay_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// watcher feeds an engine with what a tap sees, and keeps what the engine finds.
type watcher struct {
	engine      *replay.Engine
	random      *rand.Rand
	missing     float64 // share of the frames that the capture misses
	partners    map[uint64]uint64
	packet      dissector.Packet
	number      uint64
	findings    []finding.Finding
	connections []finding.Connection
}

func newWatcher(seed uint64, missing float64) *watcher {
	w := &watcher{random: rand.New(rand.NewPCG(seed, 7)), missing: missing, partners: map[uint64]uint64{}}
	w.engine = replay.New(replay.Config{}, w)
	return w
}

func (w *watcher) Finding(f *finding.Finding)       { w.findings = append(w.findings, *f) }
func (w *watcher) Attempt(*finding.Attempt)         {}
func (w *watcher) Connection(c *finding.Connection) { w.connections = append(w.connections, *c) }

// flowID names a direction by its destination.
func flowID(address [16]byte, qp uint32) uint64 {
	return binary.BigEndian.Uint64(address[8:])<<24 | uint64(qp) | 1<<63
}

// expect tells which directions belong together.
func (w *watcher) expect(connections []*scenario.Connection) {
	for _, c := range connections {
		toServer := flowID(c.Server.Address.As16(), c.ServerQP.QPN)
		toClient := flowID(c.Client.Address.As16(), c.ClientQP.QPN)
		w.partners[toServer], w.partners[toClient] = toClient, toServer
	}
}

func (w *watcher) tap(f scenario.Frame) {
	w.number++
	if w.random.Float64() < w.missing {
		return
	}
	p := &w.packet
	err := dissector.Decode(f.Data, dissector.Meta{
		LinkType: dissector.LinkTypeEthernet, Number: w.number, HasTime: true, Time: int64(f.Time), OriginalLength: uint32(len(f.Data)),
	}, p)
	flow := flowID(p.Network.Destination, p.BTH.DestinationQP)
	s := finding.Sighting{Packet: p, Err: err, ICRC: dissector.VerifyICRC(p), Flow: flow, Partner: w.partners[flow], Pairing: "test"}
	w.engine.Observe(&s)
}

// scenarioOf draws a network, its work and a place to watch it from.
func scenarioOf(seed uint64) (scenario.Config, float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(values ...float64) float64 { return values[r.IntN(len(values))] }
	c := scenario.DefaultConfig()
	c.Seed = seed
	c.Vantage = scenario.Vantage(r.IntN(3))
	c.Connections = 2 + r.IntN(3)
	c.Clients = 1 + r.IntN(2)
	c.BothWays = r.IntN(2) == 0
	c.IPv6 = r.IntN(4) == 0
	c.Messages = 40
	c.Mix = [...]scenario.Mix{scenario.AllOperations, scenario.Writes, scenario.Sends, scenario.Reads}[r.IntN(4)]
	c.Loss = pick(0, 0, 0.001, 0.01, 0.05)
	c.LossBack = pick(0, 0, 0.01)
	c.LossForward = pick(0, 0, 0.01)
	c.Duplicate = pick(0, 0, 0.01)
	c.Late = pick(0, 0, 0, 0.01)
	c.MarkChance = pick(0, 0.001, 0.02, 0.2)
	c.NearWrap = r.IntN(4) == 0
	c.Handshake = r.IntN(2) == 0
	if r.IntN(3) == 0 {
		c.Unready, c.UnreadyFor = 0.1, 2*time.Millisecond
	}
	missing := pick(0, 0.001, 0.01)
	switch r.IntN(6) {
	case 0:
		incast(&c, r)
	case 1:
		c.OutageAt = 200*time.Microsecond + time.Duration(r.Int64N(int64(2*time.Millisecond)))
		c.OutageFor = 10*time.Millisecond + time.Duration(r.Int64N(int64(60*time.Millisecond)))
		c.DetourDelay = 2*time.Microsecond + time.Duration(r.Int64N(int64(100*time.Microsecond)))
		c.Think = 50 * time.Microsecond
	}
	return c, missing
}

// incast lets many clients send to one server, whose port marks and drops what its queue does not hold.
func incast(c *scenario.Config, r *rand.Rand) {
	c.Clients, c.Servers, c.Connections = 8, 1, 8+8*r.IntN(2)
	c.Mix = [...]scenario.Mix{scenario.AllOperations, scenario.Writes, scenario.Sends}[r.IntN(3)]
	c.MaxMessage = 64 << 10
	c.Queue = 32<<10 + r.IntN(256<<10)
	c.Mark = c.Queue / 4
}

// setting is a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// underRace tells whether tests are to be short, because they run under the race detector, which makes them ten times
// as long; `make seeded` runs them all.
func underRace() bool { return os.Getenv("ROCELENS_RACE") != "" }

func conformingSeeds() uint64 {
	if underRace() {
		return 8
	}
	return 120
}

// TestConformingConnectionsDoNotDiverge: whatever the network loses, marks, doubles or reorders, and whatever the
// capture misses, nobody is accused who kept the rules. ROCELENS_REPLAY_SEEDS runs more, ROCELENS_REPLAY_FIRST others.
func TestConformingConnectionsDoNotDiverge(t *testing.T) {
	seeds, first := setting(t, "ROCELENS_REPLAY_SEEDS", conformingSeeds()), setting(t, "ROCELENS_REPLAY_FIRST", 0)
	for part := range uint64(4) {
		t.Run(strconv.FormatUint(part, 10), func(t *testing.T) {
			t.Parallel()
			var sums conformance
			for seed := first + part; seed < first+seeds; seed += 4 {
				sums.add(t, seed)
			}
			t.Logf("%d connections, %.3f %% of %d verdicts undetermined", sums.connections, 100*float64(sums.undetermined)/float64(sums.checked), sums.checked)
		})
	}
}

// These accused somebody once: an atomic of which only the request was left, NAKs that a full queue made vain, a READ
// whose answer told the MTU, an answer of a READ that was lost while a NAK was on its way.
func TestConnectionsThatWereAccusedOnce(t *testing.T) {
	seeds := []uint64{9002137, 156, 293, 412, 9000539}
	if underRace() {
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			var sums conformance
			sums.add(t, seed)
		})
	}
}

// conformance adds up what was said of conforming connections.
type conformance struct {
	connections           int
	undetermined, checked uint64
}

func (s *conformance) add(t *testing.T, seed uint64) {
	t.Helper()
	c, missing := scenarioOf(seed)
	w := newWatcher(seed, missing)
	c.Tap = w.tap
	run, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.expect(run.Connections)
	result := run.Go()
	w.engine.Flush()
	for i := range w.findings {
		if f := &w.findings[i]; f.Verdict == finding.Diverges {
			t.Errorf("seed %d (%v, loss %v/%v/%v, duplicates %v, late %v, %v missing, %d errors): %s: %s [%v]", seed, c.Vantage, c.Loss, c.LossForward, c.LossBack,
				c.Duplicate, c.Late, missing, len(result.Errors), f.Rule, f.Sentence, f.Packets())
		}
	}
	s.connections += len(w.connections)
	for i := range w.connections {
		for _, n := range w.connections[i].Tallies {
			s.undetermined += uint64(n.Undetermined)
			s.checked += uint64(n.Undetermined) + uint64(n.Conforms) + uint64(n.Diverges)
		}
	}
}
