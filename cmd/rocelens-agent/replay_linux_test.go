package main

import (
	"bytes"
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
	"github.com/rocelens/rocelens/replay/injector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// deviating are the frames of a connection that breaks a rule.
func deviating(t *testing.T, rule string) [][]byte {
	t.Helper()
	for _, d := range injector.Deviations() {
		if d.Rule.String() == rule {
			frames, err := d.Frames(scenario.Middle, 4)
			require.NoError(t, err)
			return frames
		}
	}
	t.Fatalf("%s has no deviation", rule)
	return nil
}

// A connection that breaks a rule while it passes is told of once, and a conforming one beside it is not.
func TestReplayOfWhatPasses(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	agent := start(t, right, append(db.flags(), "--interval", "1s", "--state", t.TempDir(), "--host", "node7", "--replay")...)
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "no heartbeat")
	broken, fine := deviating(t, "roce.partition-key"), framesOf(t, "read-write-mix.pcap")
	left.Send(t, broken)
	left.Send(t, fine)
	sent := len(broken) + len(fine)
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(source_out) >= "+strconv.Itoa(sent)+" FROM agent_intervals") == "1"
	}, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)

	assert.NotEqual(t, "0", db.ask(t, "SELECT count() FROM agent_divergences WHERE rule = 'roce.partition-key' AND verdict = 'diverges'"))
	assert.Equal(t, `"roce.partition-key"`, db.ask(t, "SELECT DISTINCT rule FROM agent_divergences WHERE verdict = 'diverges'"))
	assert.Equal(t, `1,"node7",1,1`, db.ask(t, "SELECT uniqExact(connection_id), any(host), min(length(packets) > 0), uniqExact(interface) FROM agent_divergences WHERE verdict = 'diverges'"))
	assert.Equal(t, "1", db.ask(t, "SELECT sum(divergence_rows) = (SELECT count() FROM agent_divergences) FROM agent_intervals"))
	assert.Equal(t, "1", db.ask(t, "SELECT sum(divergences) >= sum(divergence_rows) FROM agent_intervals"))
	assert.Equal(t, "0", db.ask(t, "SELECT countIf(decode_out != judged + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'replay'), drops)))) FROM agent_intervals"))
	assert.Equal(t, "0", db.ask(t, "SELECT countIf(flow_rows + path_rows + divergence_rows != spooled_rows) FROM agent_intervals"))
	assert.Equal(t, "1", db.ask(t, "SELECT sum(judged) > 0.9 * sum(decode_out) FROM agent_intervals"))
	assert.Equal(t, "0", db.ask(t, "SELECT count() FROM agent_divergences WHERE connection_id NOT IN (SELECT connection_id FROM agent_flows)"))
}

// stalling is a place to print on that can hold up whoever prints.
type stalling struct {
	armed            atomic.Bool
	entered, release chan struct{}
}

func (s *stalling) Write(p []byte) (int, error) {
	if s.armed.Swap(false) {
		close(s.entered)
		<-s.release
	}
	return len(p), nil
}

// A capture that lost packets says nothing of what lies beside the loss, and accuses nobody who keeps the rules.
func TestALossyCaptureAccusesNobody(t *testing.T) {
	var frames [][]byte
	c := scenario.DefaultConfig()
	c.Messages, c.Connections, c.Loss = 1200, 2, 0.001
	c.Tap = func(f scenario.Frame) { frames = append(frames, bytes.Clone(f.Data)) }
	work, err := scenario.New(c)
	require.NoError(t, err)
	work.Go()

	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, code := &stalling{entered: make(chan struct{}), release: make(chan struct{})}, -1
	var stderr lockedBuffer
	done := right.Go(t, func() {
		code = run(ctx, append([]string{"run"}, append(db.flags(), "--interface", right.Interface, "--interval", "1s", "--state", t.TempDir(), "--replay", "--print", "--ring", "2")...), out, &stderr)
	})
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "no heartbeat")
	few, third := 200, len(frames)/3
	left.Send(t, frames[:few]) // for which the ring has room, however busy the machine
	require.Eventually(t, func() bool { return db.ask(t, "SELECT sum(judged) > 0 FROM agent_intervals") == "1" }, patience, glance, "%s", stderr.Bytes())
	out.armed.Store(true)
	<-out.entered // nobody reads the ring now
	left.Send(t, frames[few:2*third])
	close(out.release)
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(drops['source: ring full']) > 0 FROM agent_intervals") == "1"
	}, patience, glance, "%s", stderr.Bytes())
	left.Send(t, frames[2*third:])
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(source_in) >= "+strconv.Itoa(len(frames))+" FROM agent_intervals") == "1"
	}, patience, glance, "%s", stderr.Bytes())
	stop()
	<-done
	require.Zero(t, code, "%s", stderr.Bytes())
	assert.Equal(t, "0", db.ask(t, "SELECT count() FROM agent_divergences WHERE verdict = 'diverges'"))
	assert.Equal(t, "1,1", db.ask(t, "SELECT sum(drops['replay: beside a loss']) > 0, sum(judged) > 0 FROM agent_intervals"))
	assert.Equal(t, "0", db.ask(t, "SELECT countIf(decode_out != judged + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'replay'), drops)))) FROM agent_intervals"))
}
