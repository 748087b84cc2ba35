package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/memorylocker"
)

// timedBody keeps each read of a request's body to a time limit, and ends early when it is interrupted.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController

	mu          sync.Mutex
	interrupted error
}

func (b *timedBody) Read(p []byte) (int, error) {
	if err := b.limit(transferTimeout); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	// The server goes on reading in the background, to notice when the client leaves: without this, the limit
	// would end a long query.
	if limited := b.limit(0); limited != nil && !errors.Is(err, io.EOF) {
		return n, limited
	}
	return n, err
}

// limit sets the time limit of what is read next, 0 for none. It returns why there must be no next.
func (b *timedBody) limit(d time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.interrupted != nil {
		return b.interrupted
	}
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	return b.setDeadline(deadline)
}

func (b *timedBody) setDeadline(deadline time.Time) error {
	if err := b.control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// interrupt ends the read that waits, if one does, and all later ones. Their error is cause.
func (b *timedBody) interrupt(cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = cause
	return b.setDeadline(time.Now())
}

// abandon keeps the server from waiting for the rest of a body that was interrupted.
func (b *timedBody) abandon() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.interrupted == nil {
		return nil
	}
	return b.setDeadline(time.Now())
}

// errInterrupted is the cause of contexts of interrupted transfers. It is none of the tus handler's own: on those the
// handler closes the body itself, from another goroutine and without a lock.
var errInterrupted = errors.New("the transfer was interrupted")

// transfer is a request of the tus protocol, which may have to give way.
type transfer struct {
	body   *timedBody // nil without one
	cancel context.CancelCauseFunc
}

func (t *transfer) interrupt(cause error) {
	if t.body != nil {
		if err := t.body.interrupt(cause); err != nil {
			t.cancel(errors.Join(errInterrupted, err))
			return
		}
	}
	t.cancel(errInterrupted)
}

type transferKey struct{}

// yieldingLocker lets a request that comes for an upload interrupt the one that has it, which as a rule waits for bytes
// from a connection that is dead.
type yieldingLocker struct{ *memorylocker.MemoryLocker }

// NewLock implements handler.Locker.
func (l yieldingLocker) NewLock(id string) (handler.Lock, error) {
	lock, err := l.MemoryLocker.NewLock(id)
	return &yieldingLock{lock}, err
}

type yieldingLock struct{ inner handler.Lock }

// Lock implements handler.Lock.
func (l *yieldingLock) Lock(ctx context.Context, _ func()) error {
	return l.inner.Lock(ctx, func() {
		if t, ok := ctx.Value(transferKey{}).(*transfer); ok {
			t.interrupt(handler.ErrUploadInterrupted)
		}
	})
}

// Unlock implements handler.Lock.
func (l *yieldingLock) Unlock() error { return l.inner.Unlock() }
