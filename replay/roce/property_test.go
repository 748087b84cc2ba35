package roce_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/roce"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run the one property run with this seed")
	runs    = flag.Int("runs", 4000, "number of property runs")
)

// Whatever the network loses, doubles, delays or marks, and however unready receivers are: every byte lands at its
// place, completions keep their order, atomics are executed once, every packet on the wire is sound, and all work gets
// done, or the QP says why not.
func TestPropertiesUnderAnyNetwork(t *testing.T) {
	if *oneSeed != 0 {
		if err := propertyRun(*oneSeed); err != nil {
			t.Fatalf("seed %d: %v", *oneSeed, err)
		}
		return
	}
	n := *runs
	if os.Getenv("ROCELENS_RACE") != "" {
		n = min(n, 400) // the detector makes each run ten times slower
	}
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(shard + 1); seed <= uint64(n); seed += shards {
				if err := propertyRun(seed); err != nil {
					t.Fatalf("seed %d: %v\nagain: go test ./replay/roce -run '^TestPropertiesUnderAnyNetwork$' -seed %d", seed, err, seed)
				}
			}
		})
	}
}

// propertyConfig draws a scenario.
func propertyConfig(seed uint64) scenario.Config {
	r := rand.New(rand.NewPCG(seed, 77))
	one := func(of ...float64) float64 { return of[r.IntN(len(of))] }
	c := scenario.DefaultConfig()
	c.Seed, c.Messages, c.BothWays, c.IPv6 = seed, 1+r.IntN(40), r.IntN(2) == 0, r.IntN(4) == 0
	c.Connections, c.Clients = 1+r.IntN(3), 1+r.IntN(2)
	c.NearWrap = r.IntN(2) == 0
	c.QueueDepth = []int{1, 4, 32}[r.IntN(3)]
	c.Loss, c.LossBack = one(0, 0, 0.01, 0.05, 0.2), one(0, 0, 0, 0.1)
	c.Duplicate, c.MarkChance = one(0, 0, 0.02), one(0, 0, 0.05)
	if r.IntN(4) == 0 {
		c.Late = 0.02
	}
	if r.IntN(3) == 0 {
		c.ReceiveAhead, c.Unready = 1+r.IntN(3), 0.1
	}
	if r.IntN(4) == 0 {
		c.Think = 20 * time.Microsecond
	}
	c.Handshake = r.IntN(3) == 0
	if r.IntN(8) == 0 {
		c.OutageAt, c.OutageFor = time.Duration(r.IntN(200))*time.Microsecond, time.Duration(r.IntN(20))*time.Millisecond
	}
	q := &c.QP
	q.MTU = 256 << r.IntN(5)
	q.Timeout = uint8(9 + r.IntN(4)) // 2 to 17 ms
	q.MinRNRTimer = uint8(1 + r.IntN(12))
	q.Window = []int{2, 16, 128, 1024}[r.IntN(4)]
	q.MaxReadAtomic = 1 + r.IntN(16)
	q.MaxDestReadAtomic = q.MaxReadAtomic
	q.Credits = r.IntN(2) == 0
	q.SelectiveRepeat = r.IntN(3) == 0
	q.AckRequestEvery = []int{0, 1, 16}[r.IntN(3)]
	if r.IntN(3) == 0 {
		q.AckCoalescing, q.AckDelay = 2+r.IntN(6), time.Duration(1+r.IntN(50))*time.Microsecond
	}
	c.MaxMessage = []int{300, 4 * q.MTU, 20 * q.MTU}[r.IntN(3)]
	return c
}

func propertyRun(seed uint64) error {
	c := propertyConfig(seed)
	var p dissector.Packet
	var bad error
	c.Tap = func(f scenario.Frame) {
		err := dissector.Decode(f.Data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p)
		if s := dissector.VerifyICRC(&p); bad == nil && (err != nil || s != dissector.ICRCGood) {
			bad = fmt.Errorf("%w, ICRC %v: %x", err, s, f.Data)
		}
	}
	r, err := scenario.New(c)
	if err != nil {
		return err
	}
	result := r.Go()
	switch {
	case bad != nil:
		return bad
	case len(result.Faults) > 0:
		return fmt.Errorf("%v", result.Faults)
	case !result.Finished:
		return fmt.Errorf("not done after %v: %s", result.Elapsed, state(r))
	}
	count(r)
	for _, err := range result.Errors { // eight times in a row without an answer happens by chance when much is lost
		met.failed.Add(1)
		if !errors.Is(err, roce.ErrRetryExceeded) || c.Loss+c.LossBack < 0.1 && c.OutageFor == 0 {
			return fmt.Errorf("a connection failed: %w", err)
		}
	}
	return nil
}

// met is what runs have met with.
var met struct {
	sync.Mutex
	roce.Statistics
	ends   int
	failed atomic.Uint64
}

func count(r *scenario.Run) {
	met.Lock()
	defer met.Unlock()
	sum := reflect.ValueOf(&met.Statistics).Elem()
	for _, c := range r.Connections {
		a, b := c.Ends()
		for _, q := range [2]*roce.QP{a, b} {
			met.ends++
			if q == nil {
				continue
			}
			for i, s := 0, reflect.ValueOf(q.Statistics()); i < s.NumField(); i++ {
				sum.Field(i).SetUint(sum.Field(i).Uint() + s.Field(i).Uint())
			}
		}
	}
}

// The runs meet with everything that they are to prove something about, and seldom fail.
func TestPropertyRunsMeetEverything(t *testing.T) {
	for seed := uint64(1_000_000); seed < 1_000_200; seed++ {
		if err := propertyRun(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	met.Lock()
	defer met.Unlock()
	sum := reflect.ValueOf(met.Statistics)
	for i := range sum.NumField() {
		if sum.Field(i).Uint() < 100 {
			t.Errorf("%s: %d only", sum.Type().Field(i).Name, sum.Field(i).Uint())
		}
	}
	if failed := met.failed.Load(); failed*20 > uint64(met.ends) {
		t.Errorf("%d of %d ends failed", failed, met.ends)
	}
	t.Logf("%+v, %d of %d ends failed", met.Statistics, met.failed.Load(), met.ends)
}

func state(r *scenario.Run) string {
	var s strings.Builder
	for _, c := range r.Connections {
		a, b := c.Ends()
		fmt.Fprintf(&s, "\n%d open, %+v; %d open, %+v", a.Outstanding(), a.Statistics(), b.Outstanding(), b.Statistics())
	}
	return s.String()
}
