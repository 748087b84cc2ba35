package flight

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// upload sends what waits, oldest first, until ctx ends.
func (h *Hub) upload(ctx context.Context) {
	pause := firstPause
	for {
		problem := h.round(ctx)
		if ctx.Err() != nil {
			return
		}
		h.trouble(problem)
		var again <-chan time.Time
		if problem == nil {
			pause = firstPause
		} else {
			timer := time.NewTimer(pause)
			again = timer.C
			pause = min(2*pause, lastPause)
		}
		select {
		case <-h.written:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// round tries each record once. A server that does not answer is not asked again for the others.
func (h *Hub) round(ctx context.Context) (problem error) {
	for _, m := range h.shelf.waiting() {
		err := h.send(ctx, m)
		if err == nil {
			continue
		}
		problem = err
		if _, ok := errors.AsType[*rejected](err); !ok || ctx.Err() != nil {
			return problem
		}
	}
	return problem
}

// send uploads a record, tells of it, and removes it. After each step a new process can go on.
func (h *Hub) send(ctx context.Context, m *meta) error {
	if m.Capture == (uuid.UUID{}) {
		capture, err := h.options.Upload.send(ctx, h.shelf.path(m.name, suffixRecord), m.name+suffixRecord, m.Upload, func(location string) error {
			m.Upload = location
			return h.shelf.note(m)
		})
		if err != nil {
			return err
		}
		m.Capture = capture
		if err := h.shelf.note(m); err != nil {
			return err
		}
		h.options.Logger.Info("a record has been uploaded", slog.String("record", m.name), slog.String("capture", capture.String()))
	}
	for _, e := range m.Events {
		h.tell(&Row{Event: e, At: time.Now().UTC(), Fate: FateUploaded, Record: m.name, Packets: m.Packets, Capture: m.Capture})
	}
	return h.shelf.remove(m)
}

// trouble keeps why records do not arrive, and logs when that changes.
func (h *Hub) trouble(err error) {
	text := ""
	if err != nil {
		text = "records cannot be uploaded: " + err.Error()
	}
	h.mutex.Lock()
	was := h.state.Problem
	h.state.Problem = text
	h.mutex.Unlock()
	switch text {
	case was:
	case "":
		h.options.Logger.Info("records can be uploaded again")
	default:
		h.options.Logger.Warn("records wait on disk", slog.String("why", text))
	}
}
