package watch

import "time"

// reshare takes over which share of connections is to be followed. When it changes, all begin anew, and the taps are told of a
// loss: of a connection that was not followed nobody knows what it did meanwhile.
func (w *Watch) reshare() {
	if w.options.Share == nil {
		return
	}
	parts := w.options.Share.Parts()
	if parts == w.parts {
		return
	}
	w.parts = parts
	w.tracker.Flush()
	w.missed(0, time.Now())
}
