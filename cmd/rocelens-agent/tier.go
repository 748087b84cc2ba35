package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/rocelens/rocelens/capture/xdp"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/kernel"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
)

// watcher is an interface at work, by whatever tier.
type watcher interface {
	Run(ctx context.Context) error
	Close() error
	SetInterval(d time.Duration)
}

// tierFlags say who looks at packets.
type tierFlags struct {
	Tier          string `env:"ROCELENS_AGENT_TIER" enum:"auto,kernel,packet" default:"packet" help:"packet: each packet is followed here; kernel: programs in the kernel count packets, at a fraction of the cost; auto: kernel where that does for all that is asked for (${default})."`
	KernelEntries int    `name:"kernel-entries" default:"262144" env:"ROCELENS_AGENT_KERNEL_ENTRIES" help:"Entries of the kernel tier's table of each interface, of half a KiB while in use, and 128 bytes before (${default}). A connection takes up to four on each CPU that its packets come to."`
}

const minEntries, maxEntries = 1 << 10, 1 << 24

// needsPackets is what the command asks for that the kernel tier cannot do, empty when there is nothing.
func (c *runCommand) needsPackets() string {
	switch {
	case c.Replay:
		return "the kernel tier cannot replay"
	case c.RecorderMiB > 0:
		return "the kernel tier has no flight recorder"
	}
	return ""
}

func (c *runCommand) checkTier() error {
	if c.KernelEntries < minEntries || c.KernelEntries > maxEntries {
		return fmt.Errorf("--kernel-entries must be between %d and %d", minEntries, maxEntries)
	}
	if cannot := c.needsPackets(); cannot != "" && c.Tier == watch.KernelTier {
		return errors.New(cannot + ": leave out --tier kernel, or --replay and --recorder")
	}
	return nil
}

// watch begins to watch an interface by the tier that was asked for. note is told which it has become, how and why.
func (c *runCommand) watch(name string, into watch.Sink, taps []watch.Tap, note func(tier string), logger *slog.Logger) (watcher, error) {
	var fellBack string
	if c.Tier != watch.PacketTier {
		fellBack = c.needsPackets()
		if fellBack == "" {
			counting, err := c.count(name, into, logger)
			if err == nil {
				how := counting.Attached()
				logger.Info("the kernel counts packets", slog.String("interface", name), slog.String("attached", how.String()), slog.Any("fell_back", how.FellBack))
				note(watch.KernelTier + " (" + how.String() + ")")
				return counting, nil
			}
			if c.Tier == watch.KernelTier {
				return nil, fmt.Errorf("%w%s", err, remedy(err))
			}
			fellBack = "kernel tier: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
	}
	if fellBack != "" {
		logger.Warn("packets are followed one by one", slog.String("interface", name), slog.String("cause", fellBack))
		fellBack = "; " + fellBack
	}
	note(watch.PacketTier)
	flows, err := c.flows()
	if err != nil {
		return nil, err
	}
	following, err := watch.Open(watch.Options{
		Interface: name, Interval: c.Interval, Idle: c.Idle, MaxFlows: flows, Logger: logger, Taps: taps, Share: c.share,
		Capture:  c.capture(),
		Captured: func(how string) { note(watch.PacketTier + " (" + how + fellBack + ")") },
	}, into)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, c.remedy(err))
	}
	return following, nil
}

func (c *runCommand) count(name string, into watch.Sink, logger *slog.Logger) (*kernel.Watch, error) {
	return kernel.Open(kernel.Options{
		Interface: name, Interval: c.Interval, MaxFlows: c.MaxFlows, Logger: logger,
		Count: xdp.Options{Connections: c.KernelEntries, Promiscuous: !c.NoPromiscuous},
	}, into)
}

// remedy is what to do about an error of the kernel tier.
func remedy(err error) string {
	if errors.Is(err, kernel.ErrNoInterface) {
		return ""
	}
	if errors.Is(err, os.ErrPermission) {
		return ": give the agent CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_NET_RAW, or let it follow packets by --tier packet"
	}
	return ": let it follow packets by --tier packet; rocelens-agent doctor says what the kernel has"
}
