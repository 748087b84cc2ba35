package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another service holds the data directory.
var ErrInUse = errors.New("the data directory is in use by another rocelens")

const (
	lockRetry   = 50 * time.Millisecond
	lockTimeout = 30 * time.Second
)

// acquire takes an advisory lock that lasts until the file is closed in this process and in every one that
// inherited it. It waits for patience, since a database whose parent died needs a moment to end in order.
func acquire(ctx context.Context, path string, patience time.Duration) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory is not writable: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(lockRetry)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ErrInUse, file.Close())
		case <-ticker.C:
		}
	}
}
