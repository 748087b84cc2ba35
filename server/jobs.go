package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

var (
	errCancelled = errors.New("cancelled by a user")
	errDeleted   = errors.New("the capture is being deleted")
	errLarge     = errors.New("the capture is not small")
)

// job is the analysis of one capture, from its place in the queue to its end.
type job struct {
	id      uuid.UUID
	size    int64  // bytes of the uploaded file
	arrival uint64 // its place in the queue
	large   bool   // no longer tried as a small one; written by who has the job
	done    chan struct{}

	mu     sync.Mutex
	cause  error // why it was stopped
	cancel context.CancelCauseFunc
	trial  bool // it ends with errLarge as soon as it turns out not to be small
	step   Step
	began  time.Time // of the phase
}

// stop ends the job, now or as soon as it would begin.
func (j *job) stop(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause == nil {
		j.cause = cause
	}
	if j.cancel != nil {
		j.cancel(cause)
	}
}

// begin ties the job to a context, and says why it must not begin after all.
func (j *job) begin(cancel context.CancelCauseFunc, trial bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel, j.trial = cancel, trial
	return j.cause
}

// why is the cause of the end of a job whose context is done.
func (j *job) why(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause != nil {
		return j.cause // which may have come after errLarge
	}
	return context.Cause(ctx)
}

func (j *job) advance(step Step) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if step.Phase != j.step.Phase {
		j.began = time.Now()
	}
	j.step = step
	if j.trial && step.large() {
		j.cancel(errLarge)
	}
}

// rateAfter is how long a phase must have run before its rate says anything.
const rateAfter = 500 * time.Millisecond

func (j *job) progress(now time.Time) api.Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := api.Progress{Phase: j.step.Phase, Packets: j.step.Packets, Bytes: j.step.Bytes, BytesTotal: j.step.BytesTotal}
	took := now.Sub(j.began)
	if j.step.Phase == api.ProgressPhaseQueued || j.step.Phase == api.ProgressPhaseStoring || took < rateAfter {
		return p // there is no rate of what waits or is already read
	}
	p.PacketsPerSecond = float64(j.step.Packets) / took.Seconds()
	if j.step.Bytes > 0 && j.step.BytesTotal >= j.step.Bytes {
		left := took.Seconds() * float64(j.step.BytesTotal-j.step.Bytes) / float64(j.step.Bytes)
		p.SecondsLeft = &left
	}
	return p
}

// work analyses one capture and leaves its account in the state that follows. A trial puts it back into the queue when it
// turns out not to be small.
func (l *library) work(service context.Context, j *job, trial bool) {
	l.metrics.running.Inc()
	defer l.metrics.running.Dec()
	ctx, cancel := context.WithCancelCause(service)
	defer cancel(nil)
	err := j.begin(cancel, trial)
	var c Account
	if err == nil {
		c, err = l.opt.Captures.Capture(ctx, j.id)
	}
	if err == nil {
		err = l.analysis(ctx, j, &c)
	}
	if err != nil && errors.Is(j.why(ctx), errLarge) && l.postpone(ctx, j, c) {
		return
	}
	l.conclude(ctx, j, c, err)
	l.mu.Lock()
	delete(l.active, j.id)
	l.mu.Unlock()
	close(j.done)
}

// analysis does the work and fills in what it found.
func (l *library) analysis(ctx context.Context, j *job, c *Account) error {
	c.Status, c.Message = api.CaptureStatusAnalyzing, nil
	c.Analyzed, c.AnalyzedAt, c.Totals, c.Pause = false, nil, nil, nil
	c.FirstPacketAt, c.LastPacketAt = nil, nil
	c.Interfaces, c.Notes = []api.CaptureInterface{}, []string{}
	if err := l.save(ctx, *c); err != nil {
		return err
	}
	if c.Size == 0 {
		return &UnreadableError{Reason: "The file is empty: check that the capture ran and that the copy finished."}
	}
	path, unpacked, err := l.prepare(ctx, j)
	if err != nil {
		return err
	}
	if unpacked.Compression != "" {
		c.Compression = &unpacked.Compression
	}
	found, err := l.opt.Analyzer.Analyze(ctx, j.id, path, j.advance)
	if err != nil {
		return unpacked.explain(err)
	}
	now := time.Now().UTC()
	c.Analyzed, c.AnalyzedAt, c.Totals, c.Pause = true, &now, &found.Totals, &found.Pause
	c.FirstPacketAt, c.LastPacketAt = found.First, found.Last
	c.Format, c.AccessIndex, c.LinkTypes = &found.Format, found.AccessIndex, found.LinkTypes
	if found.Interfaces != nil {
		c.Interfaces = found.Interfaces
	}
	if found.Notes != nil {
		c.Notes = found.Notes
	}
	c.Status = api.CaptureStatusDone
	kept := ""
	if unpacked.Fault != "" || found.Fault != "" {
		c.Status = api.CaptureStatusPartial
		if found.Fault == "" { // the data broke off between two packets
			kept = "what came before it was kept: " + counted(found.Totals.Packets, "packet", "packets")
		}
	}
	if message := joinSentences(unpacked.Fault, found.Fault, kept, withoutRDMA(found.Totals, found.Other)); message != "" {
		c.Message = &message
	}
	l.metrics.packets.Add(float64(found.Totals.Packets))
	return l.save(ctx, *c)
}

// explain says what decompression has to do with a file of which nothing could be read: what came out may be empty or
// cut because the compressed data is.
func (u Unpacked) explain(err error) error {
	unreadable, ok := errors.AsType[*UnreadableError](err)
	switch {
	case !ok || !unreadable.Cut:
		return err
	case u.Fault != "":
		return &UnreadableError{Cut: true, Reason: joinSentences(u.Fault, "no packet could be read before it: copy or capture it again")}
	case u.Compression != "":
		return &UnreadableError{Cut: true, Reason: joinSentences(unreadable.Reason, "that is what came out of the "+u.Compression+" data")}
	}
	return err
}

// prepare leaves the capture decompressed at its place.
func (l *library) prepare(ctx context.Context, j *job) (string, Unpacked, error) {
	path, source := l.path(j.id, suffixCapture), l.path(j.id, suffixSource)
	var unpacked Unpacked
	if _, err := os.Stat(path); err == nil {
		switch data, err := os.ReadFile(source); {
		case errors.Is(err, fs.ErrNotExist):
			return path, unpacked, nil
		case err != nil:
			return "", unpacked, fmt.Errorf("read how the upload was compressed: %w", err)
		default:
			return path, unpacked, json.Unmarshal(data, &unpacked)
		}
	}
	upload := l.path(j.id, suffixUpload)
	if _, err := os.Stat(upload); errors.Is(err, fs.ErrNotExist) {
		return "", unpacked, &UnreadableError{Reason: "The file is no longer in the data directory; upload it again."}
	}
	limit, err := l.room()
	if err != nil {
		return "", unpacked, err
	}
	unfinished := path + ".unfinished"
	j.advance(Step{Phase: api.ProgressPhaseDecompressing})
	unpacked, err = l.opt.Unpacker.Unpack(ctx, upload, unfinished, limit, j.advance)
	if err != nil {
		if removed := os.Remove(unfinished); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
		return "", unpacked, err
	}
	if unpacked.Compression == "" {
		return path, unpacked, os.Rename(upload, path)
	}
	data, err := json.Marshal(unpacked)
	if err != nil {
		return "", unpacked, err
	}
	if err := os.WriteFile(source, data, 0o600); err != nil {
		return "", unpacked, fmt.Errorf("note how the upload was compressed: %w", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return "", unpacked, err
	}
	return path, unpacked, os.Remove(upload)
}

// room is how many bytes may come out of a compressed file.
func (l *library) room() (int64, error) {
	free, err := freeBytes(l.opt.captureDir())
	if err != nil {
		return 0, err
	}
	if free -= l.opt.DiskReserve; free <= 0 {
		return 0, &UnreadableError{Reason: "There is no room on the disk to decompress the file: delete captures, then analyse it again."}
	}
	return min(free, l.opt.MaxUnpacked), nil
}

// conclude saves the state that an analysis ended in, when analysis has not done so itself.
func (l *library) conclude(ctx context.Context, j *job, c Account, err error) {
	if err == nil {
		l.ended(ctx, c)
		return
	}
	cause := err
	if ctx.Err() != nil {
		cause = j.why(ctx)
	}
	if errors.Is(cause, errStopping) || errors.Is(cause, errDeleted) {
		// Taken up again by the next start, or about to vanish.
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if c.Id == uuid.Nil {
		if c, err = l.opt.Captures.Capture(ctx, j.id); err != nil {
			l.log.LogAttrs(ctx, slog.LevelError, "capture not found for its analysis", slog.String("capture", j.id.String()), slog.String("error", err.Error()))
			return
		}
	}
	var message string
	var unreadable *UnreadableError
	switch {
	case errors.Is(cause, errCancelled):
		c.Status = api.CaptureStatusCancelled
	case errors.As(err, &unreadable):
		c.Status, message = api.CaptureStatusFailed, capitalized(unreadable.Reason)
	default:
		c.Status, message = api.CaptureStatusFailed, "The analysis could not be finished: "+capitalized(err.Error())
		l.log.LogAttrs(ctx, slog.LevelError, "analysis failed", slog.String("capture", c.Id.String()), slog.String("error", err.Error()))
	}
	c.Message = nil
	if message != "" {
		c.Message = &message
	}
	c.Analyzed, c.AnalyzedAt, c.Totals, c.Pause = false, nil, nil, nil
	if err := l.opt.Eraser.DeleteResults(ctx, c.Id); err != nil {
		l.log.LogAttrs(ctx, slog.LevelError, "results not removed", slog.String("capture", c.Id.String()), slog.String("error", err.Error()))
	}
	if err := l.save(ctx, c); err != nil {
		l.log.LogAttrs(ctx, slog.LevelError, "status not saved", slog.String("capture", c.Id.String()), slog.String("error", err.Error()))
		return
	}
	l.ended(ctx, c)
}

func (l *library) ended(ctx context.Context, c Account) {
	l.metrics.analyses.WithLabelValues(string(c.Status)).Inc()
	attrs := []slog.Attr{slog.String("capture", c.Id.String()), slog.String("status", string(c.Status))}
	if c.Totals != nil {
		attrs = append(attrs, slog.Int64("packets", c.Totals.Packets), slog.Int64("rdma_packets", c.Totals.RdmaPackets))
	}
	if c.Message != nil {
		attrs = append(attrs, slog.String("message", *c.Message))
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "analysis ended", attrs...)
}
