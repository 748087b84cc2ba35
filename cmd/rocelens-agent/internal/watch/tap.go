package watch

import (
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// Event is one packet with what is known of it. It and what it points to are valid during the call only.
type Event struct {
	Frame       *capture.Frame
	Packet      *dissector.Packet // Meta.Number counts from the start of the watch
	Err         error             // Decode's answer
	ICRC        dissector.ICRCState
	Observation flow.Observation
	Tracker     *flow.Tracker // that has just observed it
}

// Tap sees each packet as it passes. It is called by the goroutine of the watch, which waits for it.
type Tap interface {
	// Lost tells that the capture lost packets at some moment between two, ns since the Unix epoch, and how many, 0 when
	// nobody knows. It is called before the packets that were captured after the first moment.
	Lost(packets uint64, from, to int64)
	Packet(e *Event)
	// Tick is called about once a second, packets or none.
	Tick(now time.Time)
}

// slack is by how much a packet's time stamp may precede the moment at which the kernel keeps or loses it.
const slack = time.Millisecond

// attend asks the kernel what it lost since it was last asked, and tells the taps.
func (w *Watch) attend() {
	if len(w.options.Taps) == 0 {
		return
	}
	now := time.Now()
	w.count()
	if lost := w.book.Total.Drops[DropRing]; lost != w.told {
		w.missed(lost-w.told, now)
		w.told = lost
	}
	w.asked = now
}

// missed tells the taps that packets were lost since the kernel was last asked.
func (w *Watch) missed(packets uint64, until time.Time) {
	for _, tap := range w.options.Taps {
		tap.Lost(packets, w.asked.Add(-slack).UnixNano(), until.UnixNano())
	}
}

func (w *Watch) tick(now time.Time) {
	w.attend()
	for _, tap := range w.options.Taps {
		tap.Tick(now)
	}
}
