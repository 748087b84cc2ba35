package judge

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/replay/finding"
)

// A requester that heeds CNPs slows down, but not so that one CNP shows: the cut may be a fraction of a percent where
// CNPs are rare, and is made up for soon (DCQCN, SIGCOMM 2015, section 3.1). What has to show is a long run of CNPs in
// short succession: there the cuts multiply, and after the run nothing near the rate before it is left. And they show
// only in a requester that always had something to send: one that waits for its application sends below its allowed
// rate, before and after.

const (
	// window is how long a rate is measured for.
	window = int64(250 * time.Microsecond)
	// manyCNPs is how many CNPs in a row must have slowed a requester down. With the gain of 1/256 and alpha near 0,
	// which is where a long calm leaves it, they leave about half of the rate, at the intervals below.
	manyCNPs = 64
	// cnpApart is how far two CNPs of a run are apart at most, and on average.
	cnpApart, cnpApartMean = int64(160 * time.Microsecond), int64(100 * time.Microsecond)
	// leastRate is bytes of a window below which a requester may be at the least rate that congestion control sets:
	// 2 Gbit/s, far above any that is known.
	leastRate = uint64(window) / 4
	// enoughGaps is how many gaps within messages tell how fast the requester sends when it has something.
	enoughGaps = 8
)

// pace follows how fast one requester sends, and the run of CNPs that it gets.
type pace struct {
	start int64
	now   load
	full  load   // of the latest window that is over
	best  uint64 // bytes of the fullest

	last       position // the request before, and whether it leaves its message open
	lastTime   int64
	unfinished bool

	run struct {
		cnps        uint64
		first, last int64
		number      uint64 // of the first CNP
		before      load   // of the full window before it
	}
}

// load is what was sent in a window.
type load struct {
	bytes          uint64
	inside, around int64 // ns between packets of one message, and from message to message
	gaps, starts   uint32
}

// busy tells whether there was always something to send: the next message began as soon as packets of one follow
// each other.
func (l *load) busy() bool {
	if l.gaps < enoughGaps || l.bytes < leastRate {
		return false
	}
	idle := l.around - 2*int64(l.starts)*l.inside/int64(l.gaps)
	return idle < window/10
}

// rate counts a request.
func (d *dialogue) rate(p position, e *event) {
	n := &d.pace
	switch since := e.time - n.start; {
	case since < 0 || n.start == 0:
		n.start, n.now, n.full = e.time, load{}, load{}
	case since >= window:
		n.full = n.now
		if since >= 2*window {
			n.full = load{}
		}
		n.now, n.start = load{}, e.time
		n.best = max(n.best, n.full.bytes)
		if n.run.cnps >= manyCNPs && n.full.bytes != 0 {
			d.slowed(e)
		}
	}
	n.now.bytes += uint64(e.wire)
	if gap := e.time - n.lastTime; p == n.last+1 && gap >= 0 {
		if n.unfinished {
			n.now.gaps++
			n.now.inside += gap
		} else {
			n.now.starts++
			n.now.around += gap
		}
	}
	n.last, n.lastTime, n.unfinished = p, e.time, e.opcode.IsFirst() || e.opcode.IsMiddle()
}

// told takes a CNP for the requester.
func (d *dialogue) told(e *event) {
	r := &d.pace.run
	if r.cnps == 0 || e.time < r.last || e.time-r.last > cnpApart || e.time-r.first > int64(r.cnps)*cnpApartMean+cnpApart {
		r.cnps, r.first, r.number, r.before = 0, e.time, e.number, d.pace.full
	}
	r.cnps++
	r.last = e.time
}

// slowed compares the rate after a run of CNPs with that before it, and with the fastest.
func (d *dialogue) slowed(e *event) {
	r, after := &d.pace.run, &d.pace.full
	run := *r
	r.cnps = 0
	before := &run.before
	if before.bytes == 0 {
		return
	}
	if after.bytes*10 < before.bytes*9 {
		d.c.conforms(finding.RoCECNPIgnored)
		return
	}
	if after.bytes*10 < d.pace.best*9 {
		return // it had slowed down before
	}
	verdict := finding.Undetermined
	if before.busy() && after.busy() {
		verdict = finding.Diverges
	}
	d.c.find(d.lane, finding.RoCECNPIgnored, verdict, e, packets(run.number, e.number), func(f *finding.Finding) {
		f.Expected = fmt.Sprintf("far less than %d bytes in %s", before.bytes, time.Duration(window))
		f.Seen = fmt.Sprintf("%d bytes", after.bytes)
		f.Sentence = fmt.Sprintf("%d CNPs came within %s, from packet %d on; the requester sent %d bytes in %s before, and %d after",
			run.cnps, time.Duration(run.last-run.first).Round(time.Microsecond), run.number, before.bytes, time.Duration(window), after.bytes)
		if verdict == finding.Diverges {
			f.Sentence += ", and had something to send all the time."
		} else {
			f.Sentence += "; its application may have set the rate."
		}
	})
}
