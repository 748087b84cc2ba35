package watch

import "time"

// SetInterval changes how often is reported, from the end of the interval at hand on. It may be called from any goroutine.
func (w *Watch) SetInterval(d time.Duration) { w.interval.Store(int64(d)) }

func (w *Watch) untilEnd() time.Duration {
	now, interval := time.Now(), time.Duration(w.interval.Load())
	return now.Truncate(interval).Add(interval).Sub(now)
}
