package pcapfile

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelens/rocelens/capture"
)

// timeline watches the time stamps of a file. Some tools write zeros where they know no time, and captures of several
// queues or interfaces are not always in order: neither keeps the packets from being read, both are told.
type timeline struct {
	latest int64 // ns; of the packet before
	known  bool  // there was one

	zeros     uint64
	firstZero place

	back      uint64
	firstBack place
	farthest  int64 // ns
}

type place struct {
	number uint64
	offset int64
}

// judge takes the time from frames that have none but zeros, and notes steps back.
func (l *timeline) judge(frames []capture.Frame) {
	for i := range frames {
		f := &frames[i]
		switch {
		case !f.HasTime:
		case f.Time == 0:
			f.HasTime = false
			if l.zeros++; l.zeros == 1 {
				l.firstZero = place{f.Number, f.Offset}
			}
		default:
			if f.Time < l.latest && l.known {
				l.stepBack(f)
			}
			l.latest, l.known = f.Time, true
		}
	}
}

func (l *timeline) stepBack(f *capture.Frame) {
	if l.back++; l.back == 1 {
		l.firstBack = place{f.Number, f.Offset}
	}
	step := l.latest - f.Time
	if step < 0 { // centuries
		step = math.MaxInt64
	}
	l.farthest = max(l.farthest, step)
}

// tell appends what was seen.
func (l *timeline) tell(notes []string) []string {
	if l.zeros > 0 {
		notes = append(notes, fmt.Sprintf("byte %d: packet %d%s stamped with a time of zero, and taken without time",
			l.firstZero.offset, l.firstZero.number, andMore(l.zeros, " is", " are")))
	}
	if l.back > 0 {
		times := "once"
		if l.back > 1 {
			times = fmt.Sprintf("%d times", l.back)
		}
		notes = append(notes, fmt.Sprintf("byte %d: the time goes back at packet %d, %s in all and at most by %v; the order of the file was kept",
			l.firstBack.offset, l.firstBack.number, times, time.Duration(l.farthest)))
	}
	return notes
}

func andMore(n uint64, one, several string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(" and %d more%s", n-1, several)
}
