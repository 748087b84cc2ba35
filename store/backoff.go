package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 20 * time.Millisecond
	lastDelay  = 2 * time.Second
)

// persist tries again, ever more slowly, while the error is one that can pass and patience lasts.
func persist(ctx context.Context, patience time.Duration, try func() error) error {
	end := time.Now().Add(patience)
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		err := try()
		if err == nil || !canPass(err) {
			return err
		}
		if cause := ctx.Err(); cause != nil {
			return fmt.Errorf("%w: %w", cause, err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("the database did not take it for %s: %w", patience, err)
		}
		timer := time.NewTimer(delay/2 + rand.N(delay/2+1)) //nolint:gosec // spreads the tries, no secret
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
