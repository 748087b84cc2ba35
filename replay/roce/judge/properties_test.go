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
