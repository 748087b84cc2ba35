package clock

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// Ahead is the time of a clock less the host's Unix time, ns: of several tries that one counts in which the least time went
// by. id is as clock_gettime takes it.
func Ahead(id int32) (ahead int64, err error) {
	const tries = 9
	least := int64(math.MaxInt64)
	for range tries {
		var before, its, after unix.Timespec
		for _, read := range []struct {
			id   int32
			into *unix.Timespec
		}{{unix.CLOCK_REALTIME, &before}, {id, &its}, {unix.CLOCK_REALTIME, &after}} {
			if err := unix.ClockGettime(read.id, read.into); err != nil {
				return 0, err
			}
		}
		if took := after.Nano() - before.Nano(); took >= 0 && took < least {
			least, ahead = took, its.Nano()-before.Nano()-took/2
		}
	}
	return ahead, nil
}

// Monotonic turns times of the kernel's monotonic clock, by which programs in the kernel tell it, into Unix time. Both
// clocks run alike, but somebody may set the latter.
type Monotonic struct{ ahead int64 }

// step is a difference that no reading of clocks makes by itself.
const step = int64(100 * time.Microsecond)

// Adjust looks whether the host's clock was set. It is due before Unix is called first, and from time to time.
func (m *Monotonic) Adjust() error {
	ahead, err := Ahead(unix.CLOCK_MONOTONIC)
	if err == nil && (ahead-m.ahead > step || m.ahead-ahead > step) {
		m.ahead = ahead
	}
	return err
}

// Unix is a time of the monotonic clock, ns, since the Unix epoch.
func (m *Monotonic) Unix(ns uint64) int64 { return int64(ns) - m.ahead }
