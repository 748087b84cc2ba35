//go:build unix

package budget

import (
	"syscall"
	"time"
)

// used is the time that all cores together have worked for this process, in the kernel too.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
