package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// readClock asks the kernel for its tick, by a program that no packet runs.
func readClock(objects *ebpf.Collection) (clock, error) {
	var tick, at uint64
	_, _, err := objects.Programs[programProgTellTime].Test(make([]byte, 14))
	if err == nil {
		err = errors.Join(objects.Variables[programVarClockTicks].Get(&tick), objects.Variables[programVarClockNs].Get(&at))
	}
	if err != nil {
		return clock{}, fmt.Errorf("read the kernel's clock: %w", err)
	}
	var monotonic, civil, width unix.Timespec
	err = errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic), unix.ClockGettime(unix.CLOCK_REALTIME, &civil),
		unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &width))
	return clock{uint32(tick), int64(at) + civil.Nano() - monotonic.Nano(), width.Nano()}, err
}
