package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// property closes the connection and is what it says of a trait, "" when nothing.
func (w *wire) property(name string) string {
	w.judge.Close(&w.report)
	for _, p := range w.report.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// outage is a packet that its requester repeats after each of the waits, without an answer, and that is acknowledged at last.
func (w *wire) outage(waits ...time.Duration) *wire {
	w.tb.Helper()
	w.fresh()
	for _, wait := range waits {
		w.after(wait).only(w.psn - 1)
	}
	return w.after(10 * us).done()
}

func TestWaitsBetweenRepetitionsAreAProperty(t *testing.T) {
	for _, test := range []struct {
		name string
		wire func(w *wire)
		want string
	}{
		{"none", func(w *wire) { w.calm(20) }, ""},
		{"two, which may be chance", func(w *wire) { w.calm(20).outage(67*ms, 134*ms) }, ""},
		{
			"constant", func(w *wire) { w.calm(20).outage(67*ms, 67*ms, 68*ms, 67*ms) },
			"10.0.0.1: one timeout for each repetition: 67ms, 67ms, 68ms, 67ms",
		},
		{
			"constant, one of them missed", func(w *wire) { w.calm(20).outage(67*ms, 134*ms, 67*ms) },
			"10.0.0.1: one timeout for each repetition: 67ms, 134ms, 67ms",
		},
		{
			"adaptive", func(w *wire) { w.calm(20).outage(5600*us, 4100*us, 8400*us, 16700*us, 25100*us, 67100*us, 134200*us) },
			"10.0.0.1: adaptive, a timeout of its own for each repetition: 5.6ms, 4.1ms, 8.4ms, 16.7ms, 25.1ms, 67.1ms, 134.2ms",
		},
		{
			"the longest run counts, each with its own packet",
			func(w *wire) {
				w.calm(20).outage(67*ms, 67*ms).calm(2).outage(8*ms, 16*ms, 32*ms).calm(2).outage(67 * ms)
			},
			"10.0.0.1: adaptive, a timeout of its own for each repetition: 8ms, 16ms, 32ms",
		},
		{
			"more than are kept", func(w *wire) { w.calm(20).outage(ms, ms, ms, ms, ms, ms, ms, ms, ms, ms, 9*ms) },
			"10.0.0.1: one timeout for each repetition: 1ms, 1ms, 1ms, 1ms, 1ms, 1ms, 1ms, 1ms",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWire(t)
			test.wire(w)
			assert.Equal(t, test.want, w.property("retransmission_backoff"))
		})
	}
}

// Sixteen packets are lost, each of which costs a time-out of 65 ms, as in a lab where it ate 1.05 of 1.16 s. Two receivers are not ready.
func TestTimeIsSplitIntoWaitsAndTheRest(t *testing.T) {
	w := newWire(t).calm(20)
	for range 16 {
		w.outage(65 * ms).after(5 * ms).calm(2)
	}
	for range 2 {
		w.fresh().after(10*us).nak(notReady, w.psn-1).after(1300 * us).only(w.psn - 1).after(10 * us).done()
	}
	w.judge.Close(&w.report)
	got := w.report.Directions[0].Waits
	assert.True(t, got.Known)
	assert.EqualValues(t, 16, got.Timer.Times)
	assert.EqualValues(t, 16*65*ms, got.Timer.NS)
	assert.EqualValues(t, 2, got.RNR.Times)
	assert.EqualValues(t, 2600*us, got.RNR.NS)
	rest := time.Duration(got.Lasting - got.Timer.NS - got.RNR.NS)
	assert.InDelta(t, float64(80*ms), float64(rest), float64(2*ms))
	assert.False(t, w.report.Directions[1].Waits.Known, "of who asks for nothing")
}
