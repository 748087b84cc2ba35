package server

import (
	"context"
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
	"unicode"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// library keeps the captures: their files, their place in the account, and the queue of their analyses.
//
// A capture's files lie in one directory and begin with its id: ID.upload is what was uploaded until its analysis
// begins, ID.capture what is analysed, and ID.deleted says that the rest is to be removed.
type library struct {
	opt     *Options
	log     *slog.Logger
	metrics *metrics

	intake sync.Mutex // one file is taken in at a time, so that two of the same content become one capture

	mu       sync.Mutex
	wake     *sync.Cond
	queue    []*job // in the order of arrival
	arrivals uint64
	idle     int                // workers that wait for a job
	active   map[uuid.UUID]*job // queued or running
	busy     map[uuid.UUID]bool // being deleted or queued: nothing else may begin
	statuses map[uuid.UUID]api.CaptureStatus
	stopped  bool
	workers  sync.WaitGroup

	forget func(ctx context.Context, id uuid.UUID) error // what was made of a capture beside its rows
}

func newLibrary(opt *Options, m *metrics) *library {
	l := &library{
		opt: opt, log: opt.Logger, metrics: m,
		active: map[uuid.UUID]*job{}, busy: map[uuid.UUID]bool{}, statuses: map[uuid.UUID]api.CaptureStatus{},
	}
	l.wake = sync.NewCond(&l.mu)
	return l
}

const (
	suffixUpload  = ".upload"
	suffixCapture = ".capture"
	suffixSource  = ".source.json"
	suffixDeleted = ".deleted"
)

func (l *library) path(id uuid.UUID, suffix string) string {
	return filepath.Join(l.opt.captureDir(), id.String()+suffix)
}

// recover finishes deletions that were begun, and queues what an earlier run did not finish.
func (l *library) recover(ctx context.Context) error {
	entries, err := os.ReadDir(l.opt.captureDir())
	if err != nil {
		return fmt.Errorf("captures: %w", err)
	}
	for _, entry := range entries {
		name, deleted := strings.CutSuffix(entry.Name(), suffixDeleted)
		id, err := uuid.Parse(name)
		if !deleted || err != nil {
			continue
		}
		if err := l.erase(ctx, id); err != nil {
			return fmt.Errorf("finish the deletion of capture %s: %w", id, err)
		}
	}
	var unfinished []api.Capture
	for cursor := ""; ; {
		page, err := l.opt.Captures.ListCaptures(ctx, cursor, 500)
		if err != nil {
			return fmt.Errorf("list captures: %w", err)
		}
		for _, c := range page.Captures {
			l.setStatus(c.Id, c.Status)
			if c.Status == api.CaptureStatusQueued || c.Status == api.CaptureStatusAnalyzing {
				unfinished = append(unfinished, c)
			}
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	for _, c := range slices.Backward(unfinished) { // oldest first
		l.log.LogAttrs(ctx, slog.LevelInfo, "analysis taken up again", slog.String("capture", c.Id.String()))
		l.enqueue(c.Id, c.Size)
	}
	return nil
}

// received is a whole file that has arrived.
type received struct {
	name string
	path string // on the file system of the captures
	size int64
	sum  string // SHA-256, hex
}

// take makes a capture of a file, or finds the one that was made of the same content. The file is moved or removed.
func (l *library) take(ctx context.Context, r received) (shown api.Capture, created bool, err error) {
	l.intake.Lock()
	defer l.intake.Unlock()
	// A client that leaves now must not leave half a capture.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	c, err := l.opt.Captures.CaptureBySHA256(ctx, r.sum)
	switch {
	case err == nil && l.stored(c.Id):
		if err := os.Remove(r.path); err != nil {
			return shown, false, fmt.Errorf("remove the second copy: %w", err)
		}
		return l.overlaid(c.Capture), false, nil
	case err == nil:
		// The account knows it and the disk does not: an intake or a disk failed. This copy heals it.
		created = false
	case errors.Is(err, ErrNotFound):
		id, err := uuid.NewV7()
		if err != nil {
			return shown, false, fmt.Errorf("make an id: %w", err)
		}
		created = true
		c.Capture = api.Capture{
			Id: id, Name: cleanName(r.name), Size: r.size, Sha256: r.sum, UploadedAt: time.Now().UTC(),
			Interfaces: []api.CaptureInterface{}, Notes: []string{},
		}
	default:
		return shown, false, fmt.Errorf("look for the same file: %w", err)
	}
	c.Status = api.CaptureStatusQueued
	if err := l.save(ctx, c); err != nil {
		return shown, false, err
	}
	if err := os.Rename(r.path, l.path(c.Id, suffixUpload)); err != nil {
		return shown, false, fmt.Errorf("keep the upload: %w", err)
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "capture uploaded", slog.String("capture", c.Id.String()),
		slog.String("name", c.Name), slog.Int64("bytes", c.Size))
	l.enqueue(c.Id, c.Size)
	return l.overlaid(c.Capture), created, nil
}

// cleanName keeps the last part of a path and what can be shown.
func cleanName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		// Marks that turn the direction of writing make a name look like another.
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufffd' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	for len(name) > maxNameLength {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}
	if name = strings.TrimSpace(name); strings.Trim(name, ".") == "" {
		return "unnamed"
	}
	return name
}

// stored tells whether the file of a capture is on the disk.
func (l *library) stored(id uuid.UUID) bool {
	_, err := l.file(id)
	return err == nil
}

// file is where the file of a capture lies, decompressed or as uploaded.
func (l *library) file(id uuid.UUID) (string, error) {
	for _, suffix := range []string{suffixCapture, suffixUpload} {
		path := l.path(id, suffix)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("file of capture %s: %w", id, ErrNotFound)
}

func (l *library) save(ctx context.Context, c Account) error {
	c.Progress = nil
	if err := l.opt.Captures.SaveCapture(ctx, c); err != nil {
		return fmt.Errorf("save capture %s: %w", c.Id, err)
	}
	l.setStatus(c.Id, c.Status)
	return nil
}

// setStatus keeps the figures of captures by status. An empty status forgets the capture.
func (l *library) setStatus(id uuid.UUID, status api.CaptureStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was, ok := l.statuses[id]; ok {
		l.metrics.captures.WithLabelValues(string(was)).Dec()
	}
	if status == "" {
		delete(l.statuses, id)
		return
	}
	l.statuses[id] = status
	l.metrics.captures.WithLabelValues(string(status)).Inc()
}

// account returns a capture as it is kept.
func (l *library) account(ctx context.Context, id uuid.UUID) (Account, error) {
	c, err := l.opt.Captures.Capture(ctx, id)
	if err != nil {
		return c, captureError(id, err)
	}
	return c, nil
}

// get returns a capture as it is at this moment.
func (l *library) get(ctx context.Context, id uuid.UUID) (api.Capture, error) {
	c, err := l.account(ctx, id)
	if err != nil {
		return api.Capture{}, err
	}
	return l.overlaid(c.Capture), nil
}

func captureError(id uuid.UUID, err error) error {
	if errors.Is(err, ErrNotFound) {
		return problemf(kindNotFound, "There is no capture %s; it may have been deleted.", id)
	}
	return err
}

// overlaid adds to what the account says of a capture how far its analysis has come.
func (l *library) overlaid(c api.Capture) api.Capture {
	l.mu.Lock()
	j := l.active[c.Id]
	l.mu.Unlock()
	if j != nil {
		progress := j.progress(time.Now())
		c.Progress = &progress
		c.Status = api.CaptureStatusAnalyzing
		if progress.Phase == api.ProgressPhaseQueued {
			c.Status = api.CaptureStatusQueued
		}
	}
	return c
}

// reserve makes sure that nothing else is begun with a capture meanwhile.
func (l *library) reserve(id uuid.UUID) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[id] {
		return nil, problemf(kindConflict, "The capture is being deleted or queued by another request.")
	}
	l.busy[id] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.busy, id)
	}, nil
}

// analyze queues a capture again.
func (l *library) analyze(ctx context.Context, id uuid.UUID) (api.Capture, error) {
	release, err := l.reserve(id)
	if err != nil {
		return api.Capture{}, err
	}
	defer release()
	c, err := l.account(ctx, id)
	if err != nil {
		return api.Capture{}, err
	}
	l.mu.Lock()
	busy := l.active[id] != nil
	l.mu.Unlock()
	if busy {
		return api.Capture{}, problemf(kindConflict, "The capture is already being analysed.")
	}
	if !l.stored(id) {
		return api.Capture{}, problemf(kindConflict, "The file of this capture is no longer in the data directory; upload it again.")
	}
	c.Status, c.Message = api.CaptureStatusQueued, nil
	if err := l.save(ctx, c); err != nil {
		return api.Capture{}, err
	}
	l.enqueue(id, c.Size)
	return l.overlaid(c.Capture), nil
}

// cancel stops the analysis of a capture and waits until it has stopped.
func (l *library) cancel(ctx context.Context, id uuid.UUID) (api.Capture, error) {
	if _, err := l.get(ctx, id); err != nil {
		return api.Capture{}, err
	}
	if !l.halt(ctx, id, errCancelled) {
		return api.Capture{}, problemf(kindConflict, "The capture is not being analysed.")
	}
	if err := ctx.Err(); err != nil {
		return api.Capture{}, err
	}
	return l.get(ctx, id)
}

// halt ends the job of a capture, if it has one, and waits for it.
func (l *library) halt(ctx context.Context, id uuid.UUID, cause error) bool {
	l.mu.Lock()
	j := l.active[id]
	waiting := false
	if i := slices.Index(l.queue, j); i >= 0 {
		waiting = true
		l.setQueue(slices.Delete(l.queue, i, i+1))
	}
	if j != nil {
		j.stop(cause) // under the lock: it must not come back to the queue
	}
	l.mu.Unlock()
	if j == nil {
		return false
	}
	if waiting {
		l.work(context.WithoutCancel(ctx), j, false) // which only takes note of the end
	}
	select {
	case <-j.done:
	case <-ctx.Done():
	}
	return true
}

// remove deletes a capture, its rows and its files, whatever is being done with it.
func (l *library) remove(ctx context.Context, id uuid.UUID) error {
	release, err := l.reserve(id)
	if err != nil {
		return err
	}
	defer release()
	if _, err := l.get(ctx, id); err != nil {
		return err
	}
	l.halt(ctx, id, errDeleted)
	if err := ctx.Err(); err != nil {
		return err
	}
	// From here on the deletion is finished by the next start if not by this one.
	if err := os.WriteFile(l.path(id, suffixDeleted), nil, 0o600); err != nil {
		return fmt.Errorf("mark as deleted: %w", err)
	}
	l.intake.Lock() // the same file uploaded now must not find the capture that goes
	defer l.intake.Unlock()
	return l.erase(ctx, id)
}

func (l *library) erase(ctx context.Context, id uuid.UUID) error {
	if err := l.forget(ctx, id); err != nil {
		return fmt.Errorf("delete the merges of capture %s: %w", id, err)
	}
	if err := l.opt.Eraser.DeleteCapture(ctx, id); err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete the rows of capture %s: %w", id, err)
	}
	files, err := filepath.Glob(l.path(id, ".*"))
	if err != nil {
		return fmt.Errorf("files of capture %s: %w", id, err)
	}
	marker := l.path(id, suffixDeleted)
	for _, file := range files {
		if file == marker {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete capture %s: %w", id, err)
		}
	}
	if err := os.Remove(marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete capture %s: %w", id, err)
	}
	l.setStatus(id, "")
	l.log.LogAttrs(ctx, slog.LevelInfo, "capture deleted", slog.String("capture", id.String()))
	return nil
}
