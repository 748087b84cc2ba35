package budget

import (
	"context"
	"log/slog"
	"time"
)

// Keep holds the process to so many cores, until ctx ends, by the share of connections that is followed.
func Keep(ctx context.Context, cores float64, share *Share, logger *slog.Logger) {
	c := control{budget: cores, parts: Parts}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	before, at := used(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			taken := used()
			was := c.parts
			parts := c.observe((taken - before).Seconds() / now.Sub(at).Seconds())
			before, at = taken, now
			if parts == was {
				continue
			}
			share.Set(parts)
			tell := logger.Warn
			if parts == Parts {
				tell = logger.Info
			}
			tell("another share of connections is followed, to keep --cpu-budget", slog.Int("followed", parts), slog.Int("of", Parts))
		}
	}
}
