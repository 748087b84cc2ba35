package afpacket

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/clock"
)

// pace is how a NIC's clock stands to the host's.
type pace struct {
	shift   int64 // ns that lead from its time to Unix time
	name    string
	follows bool // something such as phc2sys keeps both together
}

const (
	// together is how far apart two clocks are at most that one is set by the other, with the time that reading takes.
	together = int64(time.Millisecond)
	// taiSeconds is TAI less UTC since 2017, for hosts that were not told.
	taiSeconds = 37
)

// readPHC reads the clock of a NIC by its number.
func readPHC(index int32) (pace, error) {
	if index < 0 {
		return pace{}, errUnread
	}
	f, err := os.Open(fmt.Sprintf("/dev/ptp%d", index))
	if err != nil {
		return pace{}, fmt.Errorf("%w: %w", errUnread, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return paceOf(unix.FdToClockID(int(f.Fd())))
}

// paceOf compares a clock to the host's.
func paceOf(id int32) (pace, error) {
	ahead, err := clock.Ahead(id)
	if err != nil {
		return pace{}, fmt.Errorf("%w: %w", errUnread, err)
	}
	tai := int64(taiSeconds)
	var x unix.Timex
	if _, err := unix.Adjtimex(&x); err == nil && x.Tai != 0 {
		tai = int64(x.Tai)
	}
	for _, known := range []struct {
		name    string
		seconds int64
	}{{"UTC", 0}, {fmt.Sprintf("TAI less %d s", tai), tai}} {
		if shift := known.seconds * nanosPerSecond; ahead-shift < together && shift-ahead < together {
			return pace{-shift, known.name, true}, nil
		}
	}
	return pace{-ahead, "running free, set to the host's time when the capture began", false}, nil
}
