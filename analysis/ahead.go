package analysis

import (
	"context"

	"github.com/rocelens/rocelens/capture"
)

// aheadBatches is how many batches go round between the reader of a source and its analysis: so many that the one
// need not be woken for each that the other is done with, so few that their bytes stay in the shared cache.
const aheadBatches = 4

// filled is what one call of Next left.
type filled struct {
	batch    *capture.Batch
	progress capture.Progress
	err      error
}

// reader reads a source ahead in a goroutine of its own, so that a second core copies the file while the first one
// analyses it. The bytes of a frame cross over once; decoded packets stay where they are tracked.
type reader struct {
	free chan *capture.Batch
	full chan filled // closed by the goroutine when it ends
	stop context.CancelFunc
}

// readAhead starts to read. The source is the reader's until stopped has returned; batches are used in turns.
func readAhead(ctx context.Context, source capture.Source, batches []capture.Batch) *reader {
	ctx, stop := context.WithCancel(ctx)
	r := &reader{free: make(chan *capture.Batch, len(batches)), full: make(chan filled, len(batches)), stop: stop}
	for i := range batches {
		r.free <- &batches[i]
	}
	go r.read(ctx, source)
	return r
}

func (r *reader) read(ctx context.Context, source capture.Source) {
	defer close(r.full)
	meter, metered := source.(progressor)
	for batch := range r.free {
		if ctx.Err() != nil {
			return
		}
		if cap(batch.Frames) == 0 {
			batch.Frames = make([]capture.Frame, 0, batchFrames)
		}
		f := filled{batch: batch, err: source.Next(batch)}
		if metered {
			f.progress = meter.Progress()
		}
		r.full <- f // has room for all batches that there are
		if f.err != nil {
			return
		}
	}
}

// close ends the reading; a call of Next that blocks is waited for.
func (r *reader) close() {
	r.stop()
	close(r.free)
	for range r.full { // until the goroutine has ended
		continue
	}
}
