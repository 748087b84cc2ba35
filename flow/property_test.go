package flow_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/flow"
)

// shorter is how many seeds are tried: few under the race detector, which makes them ten times as long and finds nothing in
// what one goroutine does; `make seeded` tries them all.
func shorter(all, few uint64) uint64 {
	if os.Getenv("ROCELENS_RACE") != "" {
		return few
	}
	return all
}

// directions finds the simulated connection's two records.
func directions(tb testing.TB, r result) (requests, answers flow.Record) {
	tb.Helper()
	for _, x := range r.records {
		switch x.Key.DestinationQP {
		case simQPB:
			requests = x
		case simQPA:
			answers = x
		}
	}
	return requests, answers
}

// TestRetransmissionsEqualTruth lets a simulated connection lose packets on both sides of the capture, which
// sees both directions: what was resent must be counted to the packet.
func TestRetransmissionsEqualTruth(t *testing.T) {
	t.Parallel()
	const wrap = 1<<24 - 40
	for seed := uint64(1); seed <= shorter(40, 5); seed++ {
		for i, c := range []simConfig{
			{messages: 40},
			{messages: 60, lossBefore: 0.02},
			{messages: 60, lossAfter: 0.02},
			{messages: 60, lossBefore: 0.02, lossAfter: 0.02, constantID: true},
			{messages: 60, lossBefore: 0.05, rnr: 0.1, onlyWrites: true},
			{messages: 60, lossBefore: 0.02, lossAfter: 0.02, rnr: 0.05, firstPSN: wrap, constantID: true},
			{messages: 60, lossBefore: 0.05, onlyWrites: true, selective: true},
			{messages: 60, lossBefore: 0.02, lossAfter: 0.02, constantID: true, firstPSN: wrap, skipAtCapture: 30},
		} {
			c.seed = seed
			if c.firstPSN == 0 {
				c.firstPSN = 1000
			}
			frames, truth := simulate(t, c)
			r := track(t, flow.DefaultConfig(), frames)
			requests, answers := directions(t, r)
			exact := requests.Retransmitted.N == truth.resentRequests && answers.Retransmitted.N == truth.resentAnswers && r.totals.OutOfOrder == 0
			if c.skipAtCapture > 0 { // what was asked for before the capture began cannot be known
				exact = requests.Retransmitted.N+answers.Retransmitted.N+r.totals.OutOfOrder == truth.resentRequests+truth.resentAnswers
			}
			if !exact || (requests.MissingPSNs.N != 0 && c.skipAtCapture == 0) ||
				requests.MissingPSNs != requests.MissingAcknowledged || answers.MissingPSNs.N != 0 || r.totals.MirrorCopies != 0 {
				t.Errorf("config %d seed %d: requests resent %d (truth %d) answers %d (truth %d) out of order %d missing %d %d copies %d",
					i, seed, requests.Retransmitted.N, truth.resentRequests, answers.Retransmitted.N, truth.resentAnswers,
					r.totals.OutOfOrder, requests.MissingPSNs.N, answers.MissingPSNs.N, r.totals.MirrorCopies)
			}
			if c.skipAtCapture == 0 && requests.Messages.N != uint64(c.messages) {
				t.Errorf("config %d seed %d: %d messages, want %d", i, seed, requests.Messages.N, c.messages)
			}
			if t.Failed() {
				t.Log(describe(t, frames, r))
				return
			}
		}
	}
}

// describe lists packets for a person.
func describe(tb testing.TB, frames []frame, r result) string {
	tb.Helper()
	var out strings.Builder
	for i, line := range lines(tb, frames) {
		fmt.Fprintf(&out, "%s %03x m%d\n", line, r.flags[uint64(i+1)], r.message[uint64(i+1)])
	}
	return out.String()
}

func lines(tb testing.TB, frames []frame) []string {
	tb.Helper()
	out := make([]string, 0, len(frames))
	for _, f := range frames {
		p := decode(tb, f)
		out = append(out, fmt.Sprintf("%4d %9.3fus qp=%x %-30s psn=%d id=%d syn=%02x", f.meta.Number,
			float64(f.meta.Time-1_700_000_000_000_000_000)/1000, p.BTH.DestinationQP, p.BTH.Opcode, p.BTH.PSN, p.Network.ID, uint8(p.AETH.Syndrome)))
	}
	return out
}

// shuffled delays packets, as a network with several paths or a capture with several queues does: each by up
// to a few places. Time stamps stay where they are.
func shuffled(frames []frame, seed uint64, places int) []frame {
	rng := rand.New(rand.NewPCG(seed, 99))
	order := make([]float64, len(frames))
	index := make([]int, len(frames))
	for i := range frames {
		order[i], index[i] = float64(i), i
		if rng.IntN(4) == 0 {
			order[i] += rng.Float64() * float64(places)
		}
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	out := make([]frame, len(frames))
	for i, j := range index {
		out[i] = frame{frames[j].data, frames[i].meta}
		out[i].meta.OriginalLength = frames[j].meta.OriginalLength
	}
	return out
}

// TestReorderingIsNotRetransmission: nothing was lost, so nothing was sent twice, whatever the order.
func TestReorderingIsNotRetransmission(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= shorter(30, 5); seed++ {
		for i, c := range []simConfig{
			{},
			{constantID: true},
			{constantID: true, firstPSN: 1<<24 - 30},
			{onlyWrites: true},
		} {
			c.seed, c.messages = seed, 80
			for _, places := range []int{2, 5, 12} {
				frames, _ := simulate(t, c)
				frames = shuffled(frames, seed, places)
				r := track(t, flow.DefaultConfig(), frames)
				requests, answers := directions(t, r)
				if r.totals.Retransmitted != 0 || r.totals.MissingPSNs != 0 || r.totals.MirrorCopies != 0 ||
					requests.Duplicates.N+answers.Duplicates.N != 0 {
					t.Errorf("config %d seed %d places %d: resent %d missing %d copies %d duplicates %d", i, seed, places, r.totals.Retransmitted,
						r.totals.MissingPSNs, r.totals.MirrorCopies, requests.Duplicates.N+answers.Duplicates.N)
				}
				if requests.Messages.N != uint64(c.messages) && places < 3 {
					t.Errorf("config %d seed %d: %d messages, want %d", i, seed, requests.Messages.N, c.messages)
				}
				if t.Failed() {
					t.Log(describe(t, frames, r))
					return
				}
			}
		}
	}
}

// TestCaptureDrops: the capture missed packets that the receiver got. None of them may be called lost by the
// network, and nothing resent that was not.
func TestCaptureDrops(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 30; seed++ {
		for i, c := range []simConfig{
			{capture: 0.01},
			{capture: 0.1, constantID: true},
			{capture: 0.3, onlyWrites: true},
			{capture: 0.02, lossBefore: 0.01, lossAfter: 0.01},
		} {
			c.seed, c.messages = seed, 80
			frames, truth := simulate(t, c)
			r := track(t, flow.DefaultConfig(), frames)
			requests, answers := directions(t, r)
			resent := r.totals.Retransmitted + r.totals.OutOfOrder
			if resent > truth.resentRequests+truth.resentAnswers || (i < 3 && resent != 0) {
				t.Errorf("config %d seed %d: resent %d+%d out of order %d, truth %d+%d", i, seed, requests.Retransmitted.N,
					answers.Retransmitted.N, r.totals.OutOfOrder, truth.resentRequests, truth.resentAnswers)
			}
			if i < 3 && requests.MissingPSNs.N < requests.MissingAcknowledged.N {
				t.Errorf("config %d seed %d: missing %d, acknowledged %d", i, seed, requests.MissingPSNs.N, requests.MissingAcknowledged.N)
			}
			if t.Failed() {
				t.Log(describe(t, frames, r))
				return
			}
		}
	}
}
