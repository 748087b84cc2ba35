package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

const (
	maxWaitingMerges = 32
	maxFailedMerges  = 100 // of which is remembered why
)

// pair is two captures in the order in which they are merged.
type pair struct{ first, second uuid.UUID }

func (p pair) has(id uuid.UUID) bool { return p.first == id || p.second == id }

// mergeAccount is what is kept of a merge that is done, in one file, beside its lists in another.
type mergeAccount struct {
	Version string // of the service that merged
	Merge   api.Merge
}

// mergeJob is a merge from its place in the queue to its end; one that failed is remembered.
type mergeJob struct {
	pair
	inputs [2]MergeInput
	began  time.Time
	done   chan struct{}

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // nil: not running
	cause   error                   // why it was stopped
	step    MergeStep
	started time.Time // of the reading
	ended   *time.Time
	failure string
}

// merges merges captures, one pair at a time: each takes a core and up to some hundred megabytes. What comes of it lies
// beside the captures' files, in files that begin with the id of the first.
type merges struct {
	opt     *Options
	log     *slog.Logger
	library *library

	mu      sync.Mutex
	wake    *sync.Cond
	queue   []*mergeJob
	jobs    map[pair]*mergeJob // that wait, run or failed
	failed  []*mergeJob        // oldest first
	stopped bool
	worker  sync.WaitGroup

	latest struct { // of which the lists were read last
		sync.Mutex
		pair  pair
		ended time.Time
		lists *MergeLists
	}
}

func newMerges(opt *Options, l *library) *merges {
	m := &merges{opt: opt, log: opt.Logger, library: l, jobs: map[pair]*mergeJob{}}
	m.wake = sync.NewCond(&m.mu)
	l.forget = m.drop
	return m
}

const (
	mergeInfix   = ".merge."
	suffixMerge  = ".json"
	suffixLists  = ".lists.json"
	mergePattern = "*" + mergeInfix // then the second capture's id
)

func (m *merges) path(p pair, suffix string) string {
	return m.library.path(p.first, mergeInfix+p.second.String()+suffix)
}

// start begins the worker, which ends when ctx is done.
func (m *merges) start(ctx context.Context) {
	m.worker.Go(func() {
		for j := m.next(); j != nil; j = m.next() {
			m.work(ctx, j)
		}
	})
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stopped = true
		m.wake.Broadcast()
	})
}

func (m *merges) wait() { m.worker.Wait() }

func (m *merges) next() *mergeJob {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.queue) == 0 && !m.stopped {
		m.wake.Wait()
	}
	if m.stopped {
		return nil
	}
	j := m.queue[0]
	m.queue = m.queue[1:]
	return j
}

// work merges and keeps what comes of it.
func (m *merges) work(service context.Context, j *mergeJob) {
	ctx, cancel := context.WithCancelCause(service)
	defer cancel(nil)
	defer close(j.done)
	err := j.begin(cancel)
	if err == nil {
		var found *Merged
		if found, err = m.opt.Merger.Merge(ctx, j.inputs[0], j.inputs[1], j.advance); err == nil {
			err = m.keep(j, found)
		}
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	m.conclude(ctx, j, err)
}

func (j *mergeJob) begin(cancel context.CancelCauseFunc) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel, j.started = cancel, time.Now()
	return j.cause
}

func (j *mergeJob) advance(step MergeStep) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.step = step
}

// keep writes the lists first: an account without lists is none.
func (m *merges) keep(j *mergeJob, found *Merged) error {
	now := time.Now().UTC()
	account := mergeAccount{Version: m.opt.Version, Merge: j.describe()}
	account.Merge.Status, account.Merge.Progress = api.MergeStatusDone, nil
	account.Merge.EndedAt, account.Merge.Result = &now, &found.Result
	if err := writeJSON(m.path(j.pair, suffixLists), &found.Lists); err != nil {
		return err
	}
	return writeJSON(m.path(j.pair, suffixMerge), &account)
}

// writeJSON replaces a file, so that it is never half written.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("keep %s: %w", filepath.Base(path), err)
	}
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, data, 0o600); err != nil {
		return fmt.Errorf("keep what came of the merge: %w", err)
	}
	return os.Rename(unfinished, path)
}

func (m *merges) conclude(ctx context.Context, j *mergeJob, err error) {
	var unreadable *UnreadableError
	attrs := []slog.Attr{slog.String("first", j.first.String()), slog.String("second", j.second.String())}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(m.jobs, j.pair)
		m.log.LogAttrs(ctx, slog.LevelInfo, "merged", attrs...)
		return
	case errors.Is(err, errCancelled), errors.Is(err, errDeleted), errors.Is(err, errStopping):
		delete(m.jobs, j.pair)
		return
	case errors.As(err, &unreadable):
		j.fail(unreadable.Reason)
	default:
		j.fail("the merge could not be finished: " + err.Error())
		m.log.LogAttrs(ctx, slog.LevelError, "merge failed", append(attrs, slog.String("error", err.Error()))...)
	}
	m.failed = append(m.failed, j)
	if len(m.failed) > maxFailedMerges {
		m.forgetFailure(m.failed[0])
	}
}

func (j *mergeJob) fail(reason string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now().UTC()
	j.ended, j.failure = &now, capitalized(reason)
}

// forgetFailure is called with m.mu held.
func (m *merges) forgetFailure(j *mergeJob) {
	if m.jobs[j.pair] == j {
		delete(m.jobs, j.pair)
	}
	m.failed = slices.DeleteFunc(m.failed, func(f *mergeJob) bool { return f == j })
}

// describe tells how far a merge is.
func (j *mergeJob) describe() api.Merge {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := api.Merge{
		First: api.MergedCapture{Id: j.first, Name: j.inputs[0].Name}, Second: api.MergedCapture{Id: j.second, Name: j.inputs[1].Name},
		Status: api.MergeStatusQueued, BeganAt: j.began, EndedAt: j.ended,
	}
	switch {
	case j.ended != nil:
		out.Status, out.Message = api.MergeStatusFailed, &j.failure
		return out
	case j.cancel == nil:
		out.Progress = &api.MergeProgress{Phase: api.MergeProgressPhaseQueued}
		return out
	}
	out.Status = api.MergeStatusRunning
	p := api.MergeProgress{Phase: j.step.Phase, Packets: j.step.Packets, PacketsTotal: j.step.PacketsTotal}
	if p.Phase == "" {
		p.Phase = api.MergeProgressPhaseAligning
	}
	if took := time.Since(j.started); took >= rateAfter {
		p.PacketsPerSecond = float64(p.Packets) / took.Seconds()
		if p.Packets > 0 && p.PacketsTotal >= p.Packets {
			left := took.Seconds() * float64(p.PacketsTotal-p.Packets) / float64(p.Packets)
			p.SecondsLeft = &left
		}
	}
	out.Progress = &p
	return out
}

// begin queues a merge unless it is under way or done.
func (m *merges) begin(ctx context.Context, p pair) (out api.Merge, queued bool, err error) {
	if p.first == p.second {
		return out, false, problemf(kindInvalid, "A capture cannot be merged with itself: name one of the same traffic that was made at another point.")
	}
	j := &mergeJob{pair: p, began: time.Now().UTC(), done: make(chan struct{})}
	for i, id := range []uuid.UUID{p.first, p.second} {
		release, err := m.library.reserve(id)
		if err != nil {
			return out, false, err
		}
		defer release()
		if j.inputs[i], err = m.input(ctx, id); err != nil {
			return out, false, err
		}
	}
	if done, err := m.account(p); err == nil {
		return done, false, nil
	} else if !errors.Is(err, ErrNotFound) {
		return out, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.jobs[p]; known != nil {
		if out = known.describe(); out.Status != api.MergeStatusFailed {
			return out, false, nil
		}
		m.forgetFailure(known)
	}
	if len(m.queue) >= maxWaitingMerges {
		return out, false, problemf(kindConflict, "%d merges wait already: wait until one is done, or stop one.", len(m.queue))
	}
	m.jobs[p] = j
	m.queue = append(m.queue, j)
	m.wake.Broadcast()
	return j.describe(), true, nil
}

// input is a capture that can be merged, or why it cannot.
func (m *merges) input(ctx context.Context, id uuid.UUID) (MergeInput, error) {
	c, err := m.library.get(ctx, id)
	if err != nil {
		return MergeInput{}, err
	}
	if err := analysed(&c); err != nil {
		return MergeInput{}, err
	}
	path, err := m.library.file(id)
	if errors.Is(err, ErrNotFound) {
		return MergeInput{}, problemf(kindConflict, "The file of %s is no longer in the data directory; upload it again.", c.Name)
	}
	return MergeInput{Name: c.Name, Path: path, Packets: c.Totals.Packets}, err
}

// analysed is an error unless there are results of a capture.
func analysed(c *api.Capture) error {
	if c.Status != api.CaptureStatusDone && c.Status != api.CaptureStatusPartial || c.Totals == nil {
		return problemf(kindConflict, "%s is not analysed: it is %s.", c.Name, c.Status)
	}
	return nil
}

// get is a merge as it is at this moment.
func (m *merges) get(p pair) (api.Merge, error) {
	m.mu.Lock()
	j := m.jobs[p]
	m.mu.Unlock()
	if j != nil {
		return j.describe(), nil
	}
	out, err := m.account(p)
	if errors.Is(err, ErrNotFound) {
		err = problemf(kindNotFound, "These captures are not merged in this order; POST here merges them.")
	}
	return out, err
}

// account reads what is kept of a merge. One of another version of the service is none.
func (m *merges) account(p pair) (api.Merge, error) {
	data, err := os.ReadFile(m.path(p, suffixMerge))
	if errors.Is(err, fs.ErrNotExist) {
		return api.Merge{}, ErrNotFound
	}
	if err != nil {
		return api.Merge{}, fmt.Errorf("read what came of the merge: %w", err)
	}
	var out mergeAccount
	if err := json.Unmarshal(data, &out); err != nil || out.Version != m.opt.Version {
		return api.Merge{}, ErrNotFound
	}
	return out.Merge, nil
}

// list is all merges that a capture has part in, the newest first.
func (m *merges) list(id uuid.UUID) ([]api.Merge, error) {
	files, err := m.files(id)
	if err != nil {
		return nil, err
	}
	out := []api.Merge{}
	for _, file := range files {
		first, second, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), suffixMerge), mergeInfix)
		p, err := parsePair(first, second)
		if !ok || err != nil {
			continue // its lists
		}
		if found, err := m.account(p); err == nil {
			out = append(out, found)
		}
	}
	m.mu.Lock()
	for p, j := range m.jobs {
		if p.has(id) {
			out = append(out, j.describe())
		}
	}
	m.mu.Unlock()
	slices.SortFunc(out, func(a, b api.Merge) int { return b.BeganAt.Compare(a.BeganAt) })
	return out, nil
}

func parsePair(first, second string) (p pair, err error) {
	if p.first, err = uuid.Parse(first); err == nil {
		p.second, err = uuid.Parse(second)
	}
	return p, err
}

// files are those of all merges that a capture has part in.
func (m *merges) files(id uuid.UUID) ([]string, error) {
	var out []string
	for _, pattern := range []string{m.library.path(id, mergeInfix+"*"), filepath.Join(m.opt.captureDir(), mergePattern+id.String()+"*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// lists reads the lists of a merge that is done.
func (m *merges) lists(p pair) (*MergeLists, error) {
	found, err := m.get(p)
	if err != nil {
		return nil, err
	}
	if found.Result == nil {
		return nil, problemf(kindConflict, "The merge is %s: there is nothing of it yet.", found.Status)
	}
	m.latest.Lock()
	defer m.latest.Unlock()
	if m.latest.pair == p && m.latest.ended.Equal(*found.EndedAt) {
		return m.latest.lists, nil
	}
	data, err := os.ReadFile(m.path(p, suffixLists))
	if err != nil {
		return nil, fmt.Errorf("read what came of the merge: %w", err)
	}
	out := &MergeLists{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("read what came of the merge: %w", err)
	}
	m.latest.pair, m.latest.ended, m.latest.lists = p, *found.EndedAt, out
	return out, nil
}

// remove stops a merge, or forgets what came of it.
func (m *merges) remove(ctx context.Context, p pair) error {
	if _, err := m.get(p); err != nil {
		return err
	}
	if err := m.halt(ctx, p, errCancelled); err != nil {
		return err
	}
	for _, suffix := range []string{suffixMerge, suffixLists} {
		if err := os.Remove(m.path(p, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// halt ends a merge that waits or runs, and forgets one that failed.
func (m *merges) halt(ctx context.Context, p pair, cause error) error {
	m.mu.Lock()
	j := m.jobs[p]
	waiting := slices.Index(m.queue, j)
	if waiting >= 0 {
		m.queue = slices.Delete(m.queue, waiting, waiting+1)
		delete(m.jobs, p)
		close(j.done)
	}
	m.mu.Unlock()
	if j == nil {
		return nil
	}
	j.mu.Lock()
	j.cause = cause
	if j.cancel != nil {
		j.cancel(cause)
	}
	j.mu.Unlock()
	select {
	case <-j.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetFailure(j)
	return nil
}

// drop ends and forgets all merges of a capture that is deleted.
func (m *merges) drop(ctx context.Context, id uuid.UUID) error {
	m.mu.Lock()
	var all []pair
	for p := range m.jobs {
		if p.has(id) {
			all = append(all, p)
		}
	}
	m.mu.Unlock()
	for _, p := range all {
		if err := m.halt(ctx, p, errDeleted); err != nil {
			return err
		}
	}
	files, err := m.files(id)
	for _, file := range files {
		if removed := os.Remove(file); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}
