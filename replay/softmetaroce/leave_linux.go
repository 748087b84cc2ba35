package softmetaroce

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// leaveWithin is how long a peer that ends waits for others to answer its DISCONNECT.
const leaveWithin = 2 * time.Second

// leaving is the end of connections.
type leaving struct {
	since       time.Duration
	connections []*metaroce.Connection
}

// over tells whether all have ended, or have had their time. One that the other side has ended is over: to answer a
// DISCONNECT again is not worth waiting for.
func (l *leaving) over(now time.Duration) bool {
	if now-l.since > leaveWithin {
		return true
	}
	for _, c := range l.connections {
		if s := c.State(); s != metaroce.StateClosed && s != metaroce.StateLingering {
			return false
		}
	}
	return true
}

// reportOf begins a report.
func (p *peer) reportOf(c *metaroce.Connection, t *Transfer, role string) *Report {
	r := &Report{
		Profile: "mr0", Role: role, Operation: t.Operation, Size: t.Size, Message: t.Message, Streams: t.Streams,
		Paths: int(c.Local().PathCount), Connection: p.connection(c), Sockets: p.sockets(), Verdicts: verdicts(p.endpoint),
	}
	if p.impair != nil {
		r.Impairment = p.impair.count
	}
	return r
}

// time sets what a transfer took.
func (r *Report) time(d time.Duration) {
	r.Nanoseconds = int64(d)
	r.Goodput = float64(r.Size) * 8 / d.Seconds()
}
