package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
)

// victim is what is killed, and comes back.
type victim struct {
	name   string
	kill   func()
	revive func()
}

// numberFrom is a number of the environment, or another one.
func numberFrom(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

// kills is how many there are: ROCELENS_KILLS, or few.
func kills(t *testing.T) int {
	t.Helper()
	otherwise := uint64(10)
	if os.Getenv("ROCELENS_RACE") != "" {
		otherwise = 3 // what is killed does not run under the race detector anyway
	}
	return int(numberFrom(t, "ROCELENS_KILLS", otherwise))
}

// scene is an agent that reports what passes on a cable, and the spool that it is seen to fill.
type scene struct {
	random  *rand.Rand
	witness *witness
	config  string // file
	at      vethtest.End
	program string
	process *exec.Cmd
	log     lockedBuffer
}

func (s *scene) start(t *testing.T) {
	t.Helper()
	s.process = exec.Command("ip", "netns", "exec", s.at.Namespace, s.program, "run", "--config", s.config)
	s.process.Stderr = &s.log
	require.NoError(t, s.process.Start())
}

func (s *scene) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.process.Process.Kill())
	_ = s.process.Wait() // it was killed, which is an error
}

// instant waits for a random one: often just behind a moment at which rows were put on disk.
func (s *scene) instant(t *testing.T) {
	t.Helper()
	longest := 1500 * time.Millisecond
	if s.random.IntN(3) > 0 {
		longest = 60 * time.Millisecond
		s.reported(t)
	}
	select {
	case <-time.After(time.Duration(s.random.Int64N(int64(longest)))):
	case <-t.Context().Done():
	}
}

// reported returns when the agent puts something on disk.
func (s *scene) reported(t *testing.T) {
	t.Helper()
	select {
	case <-s.witness.written: // before
	default:
	}
	select {
	case <-s.witness.written:
	case <-time.After(2 * patience):
		t.Fatalf("the agent reports nothing: %s", s.log.Bytes())
	}
}

// load sends frames until the test ends it.
func load(t *testing.T, from vethtest.End, frames [][]byte) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace := time.NewTicker(40 * time.Millisecond)
		defer pace.Stop()
		for ctx.Err() == nil {
			from.Send(t, frames)
			<-pace.C
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// Agent, database and service are killed again and again, each at random instants, while packets pass: what was safe on the agent's
// disk is in the database exactly once. ROCELENS_KILLS says how often, ROCELENS_KILLS_SEED by which random numbers.
func TestKillsNeitherLoseNorDouble(t *testing.T) {
	for _, way := range []string{"into the database", "by way of the service"} {
		t.Run(way, func(t *testing.T) { killed(t, way == "by way of the service") })
	}
}

func killed(t *testing.T, throughService bool) {
	t.Helper()
	left, right := vethtest.Pair(t)
	db := ownDatabase(t)
	seed := numberFrom(t, "ROCELENS_KILLS_SEED", rand.Uint64())
	state := t.TempDir()
	s := &scene{
		random: rand.New(rand.NewPCG(seed, 1)), witness: newWitness(t, filepath.Join(state, "spool")),
		config: filepath.Join(t.TempDir(), "agent.toml"), at: right, program: program(t, "rocelens-agent"),
	}
	victims := []victim{
		{"agent", func() { s.kill(t) }, func() { s.start(t) }},
		{"database", func() { require.NoError(t, syscall.Kill(db.ProcessID(), syscall.SIGKILL)) }, nil},
	}
	user, password := db.Credentials()
	target := fmt.Sprintf("clickhouse = %q\nclickhouse-user = %q\nclickhouse-password = %q\n", reach(t, right, db.Address()), user, password)
	if throughService {
		remote := newService(t, db)
		target = fmt.Sprintf("server = %q\nserver-token = %q\n", "http://"+reach(t, right, remote.address), testToken)
		victims = append(victims, victim{"service", func() { remote.kill(t) }, func() { remote.revive(t) }})
	}
	// A spool of 1 MiB has many segments, which come and go.
	text := fmt.Sprintf("interface = [%q]\ninterval = \"1s\"\nstate = %q\nspool = 1\nreplay = true\n%s", right.Interface, state, target)
	require.NoError(t, os.WriteFile(s.config, []byte(text), 0o600))
	s.start(t)
	t.Cleanup(func() { _ = s.process.Process.Kill() })
	end := load(t, left, framesOf(t, "allreduce-loss.pcapng", "metaroce-spray.pcap"))
	defer end()
	s.reported(t)

	died := map[string]int{}
	var order []int
	for n := 0; n < kills(t); {
		if len(order) == 0 {
			order = s.random.Perm(len(victims))
		}
		struck := order[:1+min(len(order)-1, s.random.IntN(5)/4)] // at times two of them
		order = order[len(struck):]
		if s.random.IntN(3) == 0 {
			s.reported(t) // by then it takes the signal
			require.NoError(t, s.process.Process.Signal(syscall.SIGHUP))
		}
		s.instant(t)
		restarts := db.Restarts()
		for _, i := range struck {
			victims[i].kill()
			died[victims[i].name]++
			n++
		}
		for _, i := range s.shuffled(struck) {
			if revive := victims[i].revive; revive != nil {
				revive()
				continue
			}
			require.Eventually(t, func() bool { return db.Restarts() > restarts }, patience, glance)
		}
	}
	end()
	t.Logf("ROCELENS_KILLS_SEED=%d: killed %v", seed, died)

	records := func() []spooled { return s.witness.records(t) }
	if !assert.Eventually(t, func() bool { return difference(t, db, records()) == "" }, 2*patience, 4*glance) {
		t.Fatalf("%s\n%s", difference(t, db, records()), s.log.Bytes())
	}
	require.NoError(t, s.process.Process.Signal(os.Interrupt))
	require.NoError(t, s.process.Wait(), "%s", s.log.Bytes())
	all := records()
	assert.Empty(t, difference(t, db, all))
	assert.Equal(t, "1,0,0", db.ask(t, "SELECT count(), sum(refused_rows), sum(spool_damaged) FROM agents FINAL"))
	assert.Equal(t, "1", db.ask(t, "SELECT uniqExact(agent_id) FROM agent_flows"), "who the agent is")
	rows, packets := map[string]uint64{}, uint64(0)
	for i := range all {
		rows[all[i].table] += all[i].rows
		packets += all[i].packets
	}
	t.Logf("%d records were safe on disk, with rows of %v and %d packets: each is there once", len(all), rows, packets)
	assert.Positive(t, packets)
	assert.GreaterOrEqual(t, len(rows), 5, "tables")
}

func (s *scene) shuffled(all []int) []int {
	all = slices.Clone(all)
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// difference tells records of which not each row is in the database once, and rows that belong to none.
func difference(t *testing.T, db database, all []spooled) string {
	t.Helper()
	want := map[string]string{}
	for i := range all {
		if r := &all[i]; r.table != "agents" { // where the newest of an agent replaces the others
			want[r.id.String()] = fmt.Sprintf("%s,%d,%d", r.table, r.rows, r.packets)
		}
	}
	got := map[string]string{}
	for _, table := range []string{"agent_flows", "agent_paths", "agent_intervals", "agent_divergences", "port_counters"} {
		packets := "0"
		if table == "agent_flows" {
			packets = "sum(packets)"
		}
		for line := range strings.Lines(db.ask(t, "SELECT batch, '"+table+"', count(), "+packets+" FROM "+table+" GROUP BY batch")) {
			id, rest, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(line), `"`, ""), ",")
			got[id] += rest
		}
	}
	var out []string
	for _, id := range slices.SortedFunc(maps.Keys(want), cmp.Compare[string]) {
		if got[id] != want[id] {
			out = append(out, fmt.Sprintf("batch %s: on disk %q, in the database %q", id, want[id], got[id]))
		}
	}
	for id := range got {
		if _, known := want[id]; !known {
			out = append(out, fmt.Sprintf("batch %s: never on disk, in the database %q", id, got[id]))
		}
	}
	return strings.Join(out, "\n")
}
