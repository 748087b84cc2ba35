//go:build !race

package compliance_test

import (
	"context"
	"os/exec"
	"runtime"
	"sync"
	"testing"
)

// The race detector makes a host busier than these tests do on purpose: they run without it.

// Nor does a busy host make it fail.
func TestBusyHostIsNoFailure(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var spinning sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		spinning.Go(func() { _ = exec.CommandContext(ctx, "sh", "-c", "while :; do :; done").Run() }) // killed at the end
	}
	n := network()
	serve(t, host(n, 1), nil)
	report := examine(t, host(n, 1), host(n, 2), nil)
	stop()
	spinning.Wait()
	expectNoFailure(t, report)
	t.Logf("%d of %d undetermined", report.Undetermined, len(report.Results))
}
