package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/systemd"
)

// stuckAfter is how old the latest report of an interface may be, each of which reports at least once a minute.
const stuckAfter = maxInterval + 30*time.Second

// serviced tells systemd, where it has started the agent, that it works, as long as every interface reports, and when
// it is told to end. What it gives waits for the last word.
func (g *gauges) serviced(ctx context.Context, logger *slog.Logger) (stop func()) {
	manager, err := systemd.Connect()
	if err != nil {
		logger.Warn("systemd is not told how the agent is", slog.Any("cause", err))
	}
	if manager == nil {
		return func() {}
	}
	say := func(state string) {
		if err := manager.Say(state); err != nil {
			logger.Warn("systemd cannot be told how the agent is", slog.String("state", state), slog.Any("cause", err))
		}
	}
	say(systemd.Ready)
	ctx, cancel := context.WithCancel(ctx)
	var talking sync.WaitGroup
	talking.Go(func() {
		var tick <-chan time.Time
		if manager.Watchdog > 0 {
			ticker := time.NewTicker(manager.Watchdog / 2)
			defer ticker.Stop()
			tick = ticker.C
		}
		for {
			select {
			case now := <-tick:
				if g.oldest(now) < stuckAfter {
					say(systemd.Alive)
				}
			case <-ctx.Done():
				say(systemd.Stopping)
				return
			}
		}
	})
	return func() {
		cancel()
		talking.Wait()
		_ = manager.Close() // everything has been said
	}
}

// oldest is the age of that report which is the oldest of the latest of each interface.
func (g *gauges) oldest(now time.Time) (age time.Duration) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for name := range g.latest {
		age = max(age, now.Sub(g.latest[name].End))
	}
	return age
}
