package watch

import (
	"sync/atomic"
	"time"
)

// Clock knows when intervals end: at whole multiples of their length since the Unix epoch, so that those of all agents agree.
type Clock struct{ interval atomic.Int64 }

// SetInterval changes how often is reported, from the end of the interval at hand on. It may be called from any goroutine.
func (c *Clock) SetInterval(d time.Duration) { c.interval.Store(int64(d)) }

// UntilEnd is how long the interval at hand still lasts.
func (c *Clock) UntilEnd() time.Duration {
	now, interval := time.Now(), time.Duration(c.interval.Load())
	return now.Truncate(interval).Add(interval).Sub(now)
}
