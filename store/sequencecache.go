package store

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
)

const (
	// sequenceMemory bounds what is kept of all flows together, bytes.
	sequenceMemory = 128 << 20
	// sequenceIdle is how long it is kept after the last window was asked for.
	sequenceIdle = 5 * time.Minute
)

type sequenceKey struct {
	capture uuid.UUID
	flow    flow.ID
}

// sequenceCache keeps the sequences that were looked at last, since whoever zooms and pans asks for one window after
// another of the same flow.
type sequenceCache struct {
	mostRows int // of one flow

	mutex   sync.Mutex
	entries map[sequenceKey]*sequenceEntry
	clock   uint64
	idle    *time.Timer
}

type sequenceEntry struct {
	done chan struct{} // closed when it was read, or could not be
	kept *keptSequence // nil when it could not be
	used uint64
}

func newSequenceCache() *sequenceCache {
	return &sequenceCache{mostRows: mostSequenceRows, entries: map[sequenceKey]*sequenceEntry{}}
}

// get returns what is kept of a flow, or loads it. Of callers who want the same one loads it, and the others wait.
func (c *sequenceCache) get(ctx context.Context, key sequenceKey, load func() (*keptSequence, error)) (*keptSequence, error) {
	for {
		e, found := c.enter(key)
		if !found {
			kept, err := load()
			c.loaded(key, e, kept)
			return kept, err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e.kept != nil {
			return e.kept, nil
		}
		// Who loaded it had an error, perhaps only because they left.
	}
}

func (c *sequenceCache) enter(key sequenceKey) (e *sequenceEntry, found bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.idle == nil {
		c.idle = time.AfterFunc(sequenceIdle, c.clear)
	} else {
		c.idle.Reset(sequenceIdle)
	}
	if e, found = c.entries[key]; !found {
		e = &sequenceEntry{done: make(chan struct{})}
		c.entries[key] = e
	}
	c.clock++
	e.used = c.clock
	return e, found
}

// loaded ends the wait for an entry, and makes room for it.
func (c *sequenceCache) loaded(key sequenceKey, e *sequenceEntry, kept *keptSequence) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	e.kept = kept
	close(e.done)
	if c.entries[key] != e {
		return // forgotten in the meantime
	}
	if kept == nil {
		delete(c.entries, key)
		return
	}
	for {
		sum := 0
		var oldest sequenceKey
		least := e.used
		for key, one := range c.entries {
			if one.kept == nil {
				continue
			}
			sum += one.kept.weight()
			if one.used < least {
				oldest, least = key, one.used
			}
		}
		if sum <= sequenceMemory || least == e.used {
			return
		}
		delete(c.entries, oldest)
	}
}

// forget drops what is kept of a capture, whose packets are others now, or gone.
func (c *sequenceCache) forget(capture uuid.UUID) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for key := range c.entries {
		if key.capture == capture {
			delete(c.entries, key)
		}
	}
}

func (c *sequenceCache) clear() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	clear(c.entries)
}

func (c *sequenceCache) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.idle != nil {
		c.idle.Stop()
	}
}
