package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/budget"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
)

// budgetFlags bound what the agent takes of its host.
type budgetFlags struct {
	CPUBudget    float64 `name:"cpu-budget" default:"0" env:"ROCELENS_AGENT_CPU_BUDGET" placeholder:"CORES" help:"Take so many cores at most, for instance 0.5. Above it the packet tier follows a part of all connections only, each whole, and counts what it leaves out; 0: no bound (${default})."`
	MemoryBudget int     `name:"memory-budget" default:"0" env:"ROCELENS_AGENT_MEMORY_BUDGET" placeholder:"MIB" help:"Take so many MiB of memory at most: so many flows are followed as fit beside rings, replay and recorder; 0: no bound (${default})."`
}

const (
	maxCores  = 1 << 10
	maxMemory = 1 << 24 // MiB
	baseMiB   = 96      // of the agent without interfaces, with rows under way
	flowBytes = 1331    // of a flow that is followed
)

func (f *budgetFlags) check() error {
	switch {
	case f.CPUBudget < 0 || f.CPUBudget > maxCores || math.IsNaN(f.CPUBudget) || f.CPUBudget > 0 && f.CPUBudget < .05:
		return fmt.Errorf("--cpu-budget must be 0, or between 0.05 and %d cores", maxCores)
	case f.MemoryBudget < 0 || f.MemoryBudget > maxMemory:
		return fmt.Errorf("--memory-budget must be between 0 and %d MiB", maxMemory)
	}
	return nil
}

// tables is what is bounded by other flags, in MiB of all interfaces, and says so.
func (c *runCommand) tables() (mib int, said string) {
	all := []struct {
		name string
		mib  int
		is   bool
	}{
		{"ring", c.RingMiB, c.Tier != watch.KernelTier},
		{"kernel-entries", c.KernelEntries * 640 >> 20, c.Tier != watch.PacketTier},
		{"replay-memory", c.ReplayMemoryMiB, c.Replay},
		{"recorder", c.RecorderMiB, c.RecorderMiB > 0},
	}
	var parts []string
	for _, t := range all {
		if t.is {
			mib += t.mib
			parts = append(parts, fmt.Sprintf("%d of --%s", t.mib, t.name))
		}
	}
	return mib * len(c.Interfaces), strings.Join(parts, ", ") + " for each interface"
}

// flows is how many flows are followed at most on each interface.
func (c *runCommand) flows() (int, error) {
	if c.MemoryBudget == 0 {
		return c.MaxFlows, nil
	}
	taken, said := c.tables()
	fit := (c.MemoryBudget - baseMiB - taken) << 20 / flowBytes / max(len(c.Interfaces), 1)
	if fit < minFlows {
		return 0, fmt.Errorf("--memory-budget %d leaves no room for flows: the agent itself takes %d MiB, and there are %s", c.MemoryBudget, baseMiB, said)
	}
	return min(fit, c.MaxFlows), nil
}

// keep holds the agent to its budgets until the function that it returns is called.
func (c *runCommand) keep(ctx context.Context, logger *slog.Logger) (stop func()) {
	if c.MemoryBudget > 0 {
		debug.SetMemoryLimit(int64(c.MemoryBudget) << 20)
		if n, err := c.flows(); err == nil && n < c.MaxFlows {
			logger.Info("fewer flows are followed, to keep --memory-budget", slog.Int("flows_of_an_interface", n))
		}
	}
	if c.share == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { budget.Keep(ctx, c.CPUBudget, c.share, logger) })
	return func() {
		cancel()
		keeping.Wait()
	}
}
