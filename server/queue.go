package server

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// The queue of analyses. Workers take what has waited longest. One lane beside them is for small captures, so that these
// need not wait for large ones: it takes a capture that may be small when no worker is free, and gives it back to the queue
// as soon as it turns out to be large. How large a capture is need not show before: a few megabytes of gzip can hold
// a hundred million packets.

// large tells whether a capture is more than the lane of small ones takes.
func (s Step) large() bool {
	switch s.Phase { //nolint:exhaustive // what waits or is being stored is let through
	case api.ProgressPhaseDecompressing:
		return s.Unpacked > smallBytes
	case api.ProgressPhaseAnalyzing:
		return s.BytesTotal > smallBytes || s.Packets > smallPackets
	}
	return false
}

// enqueue puts a capture at the end of the queue.
func (l *library) enqueue(id uuid.UUID, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[id] != nil {
		return
	}
	l.arrivals++
	j := &job{
		id: id, size: size, arrival: l.arrivals, large: size > smallBytes, done: make(chan struct{}),
		step: Step{Phase: api.ProgressPhaseQueued, BytesTotal: size},
	}
	l.active[id] = j
	l.setQueue(append(l.queue, j))
}

// setQueue is called with l.mu held.
func (l *library) setQueue(queue []*job) {
	l.queue = queue
	l.metrics.queue.Set(float64(len(queue)))
	l.wake.Broadcast()
}

// start begins the workers and the lane of small captures. They end when ctx is done.
func (l *library) start(ctx context.Context) {
	l.idle = l.opt.Workers
	for range l.opt.Workers {
		l.workers.Go(func() {
			for j := l.next(); j != nil; j = l.next() {
				l.work(ctx, j, false)
				l.rest()
			}
		})
	}
	l.workers.Go(func() {
		for j := l.nextSmall(); j != nil; j = l.nextSmall() {
			l.work(ctx, j, true)
		}
	})
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stopped = true
		l.wake.Broadcast()
	})
}

func (l *library) wait() { l.workers.Wait() }

// next waits for the job that has waited longest, and makes its worker a busy one; nil when the service ends.
func (l *library) next() *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.stopped {
		l.wake.Wait()
	}
	if l.stopped {
		return nil
	}
	l.idle--
	j := l.queue[0]
	l.setQueue(l.queue[1:])
	return j
}

// rest makes a worker an idle one.
func (l *library) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle++
}

// nextSmall waits for the smallest job that may be one of a small capture, while all workers are busy; nil when the
// service ends.
func (l *library) nextSmall() *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.stopped {
			return nil
		}
		if l.idle == 0 {
			if i := l.smallest(); i >= 0 {
				j := l.queue[i]
				l.setQueue(slices.Delete(l.queue, i, i+1))
				return j
			}
		}
		l.wake.Wait()
	}
}

// smallest finds the job of the smallest file among those that may be small, the first of them; -1: there is none.
func (l *library) smallest() int {
	found := -1
	for i, j := range l.queue {
		if !j.large && (found < 0 || j.size < l.queue[found].size) {
			found = i
		}
	}
	return found
}

// postpone puts a job that was tried as a small one back to its place in the queue. It does not when the job was stopped
// meanwhile.
func (l *library) postpone(ctx context.Context, j *job, c Account) bool {
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	c.Status = api.CaptureStatusQueued
	if err := l.save(saving, c); err != nil { // the next start takes it up just as well under the status before
		l.log.LogAttrs(ctx, slog.LevelWarn, "status not saved", slog.String("capture", j.id.String()), slog.String("error", err.Error()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause != nil {
		return false
	}
	j.cancel, j.trial, j.large = nil, false, true
	j.step = Step{Phase: api.ProgressPhaseQueued, BytesTotal: j.size}
	i, _ := slices.BinarySearchFunc(l.queue, j.arrival, func(q *job, arrival uint64) int { return cmp.Compare(q.arrival, arrival) })
	l.setQueue(slices.Insert(l.queue, i, j))
	return true
}
