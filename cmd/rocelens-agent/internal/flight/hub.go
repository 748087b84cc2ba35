package flight

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Options say what is kept, and where it goes.
type Options struct {
	Directory     string // of records that wait
	MaxBytes      int64  // that they may take
	Memory        int    // bytes for each interface
	Cut           int    // bytes kept of a packet
	Before, After time.Duration
	Every         time.Duration // an interface begins a record at most so often
	Window        time.Duration // in which what happens again is the same event
	Rules         Rules
	Host, Version string
	Upload        *Uploader // nil: records stay
	// Row is told what becomes of each event, from any goroutine; nil: nobody is.
	Row    func(*Row)
	Logger *slog.Logger
}

// Fate is what becomes of an event.
type Fate uint8

// Fates.
const (
	FateRecording Fate = iota
	FateRefused
	FateRecorded
	FateUploaded
	FateLost
)

// Row is what is to be told of an event.
type Row struct {
	*Event

	At      time.Time // when that became of it
	Fate    Fate
	Why     string // of what was refused or lost
	Record  string // its file
	Packets uint64 // in that
	Capture uuid.UUID
}

// State is how the recorder is.
type State struct {
	Events    uint64 // that were found since the start, once each
	Last      time.Time
	LastEvent string
	Waiting   int    // records on disk
	Lost      uint64 // records that could not be kept
	Problem   string
}

// Hub writes and uploads what the recorders of an agent take. Its methods may be called from any goroutine.
type Hub struct {
	options            Options
	shelf              *shelf
	jobs               chan func()
	written            chan struct{}
	stop               context.CancelFunc // of uploads
	writing, uploading sync.WaitGroup

	mutex     sync.Mutex
	demanded  time.Time // a record was
	recorders []*Recorder
	seen      map[string]time.Time // events by key
	told      map[string]time.Time // of these: those that were refused
	state     State
}

// maxKeys is how many events are remembered.
const maxKeys = 10_000

// jobQueue is how much may wait for the disk. What does not fit is told of nowhere but in the log.
const jobQueue = 1024

// Open takes up the records that an earlier process has left.
func Open(o Options) (*Hub, error) {
	if err := os.MkdirAll(o.Directory, 0o750); err != nil {
		return nil, fmt.Errorf("make the directory of records: %w", err)
	}
	h := &Hub{
		options: o, jobs: make(chan func(), jobQueue), written: make(chan struct{}, 1),
		told: map[string]time.Time{},
	}
	h.shelf = &shelf{directory: o.Directory, limit: o.MaxBytes}
	var err error
	if h.seen, err = readKeys(h.keyFile()); err != nil {
		return nil, err
	}
	if err := h.shelf.open(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *Hub) keyFile() string { return h.shelf.path(keysName, suffixMeta) }

// Run begins to write and upload, until Close.
func (h *Hub) Run(ctx context.Context) {
	ctx, h.stop = context.WithCancel(ctx)
	h.writing.Go(func() {
		for job := range h.jobs {
			job()
		}
	})
	if h.options.Upload != nil {
		h.uploading.Go(func() { h.upload(ctx) })
	}
}

// Close finishes records that are being made, and writes them. It is called once, after Run, when all watches have ended.
// What is not uploaded then waits for the next start.
func (h *Hub) Close() {
	h.mutex.Lock()
	all := h.recorders
	h.mutex.Unlock()
	for _, r := range all {
		r.end()
	}
	close(h.jobs)
	h.writing.Wait()
	h.stop()
	h.uploading.Wait()
}

// State tells how the recorder is.
func (h *Hub) State() State {
	waiting, lost := h.shelf.state()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	s := h.state
	s.Waiting, s.Lost = waiting, lost
	return s
}

// ErrSoon says that a record was asked for just before.
var ErrSoon = errors.New("a record was asked for just before")

// Demand records what is there now, on every interface, for the reason given. It returns the ids of the events.
func (h *Hub) Demand(kind Kind, sentence string) ([]uuid.UUID, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	now := time.Now()
	if now.Sub(h.demanded) < h.options.Every {
		return nil, ErrSoon
	}
	h.demanded = now
	ids := make([]uuid.UUID, 0, len(h.recorders))
	for _, r := range h.recorders {
		e := &Event{ID: uuid.New(), Kind: kind, Interface: r.name, Time: now.UTC(), Sentence: sentence}
		if r.demand.CompareAndSwap(nil, e) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

// known tells whether an event is one that was recorded already.
func (h *Hub) known(e *Event) bool {
	if e.Kind.asked() {
		return false
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	at, ok := h.seen[e.key()]
	return ok && e.Time.Sub(at).Abs() < h.options.Window
}

// accept notes an event that will be recorded.
func (h *Hub) accept(e *Event) {
	h.count(e)
	if !e.Kind.asked() {
		h.mutex.Lock()
		h.remember(h.seen, e)
		keys := maps.Clone(h.seen)
		h.mutex.Unlock()
		h.do(func() {
			if err := writeKeys(h.keyFile(), keys); err != nil {
				h.options.Logger.Warn("what was recorded cannot be remembered", slog.Any("cause", err))
			}
		})
	}
	h.options.Logger.Info("an event is being recorded", slog.String("interface", e.Interface), slog.String("kind", string(e.Kind)), slog.String("event", e.Sentence))
	h.row(&Row{Event: e, At: time.Now().UTC(), Fate: FateRecording})
}

// refuse notes an event that will not be recorded, once in a window.
func (h *Hub) refuse(e *Event, why string) {
	h.mutex.Lock()
	at, ok := h.told[e.key()]
	again := ok && e.Time.Sub(at).Abs() < h.options.Window && !e.Kind.asked()
	if !again {
		h.remember(h.told, e)
	}
	h.mutex.Unlock()
	if again {
		return
	}
	h.count(e)
	h.row(&Row{Event: e, At: time.Now().UTC(), Fate: FateRefused, Why: why})
}

func (h *Hub) count(e *Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.state.Events++
	h.state.Last, h.state.LastEvent = e.Time, e.Sentence
}

// remember notes an event by its key, and forgets those whose window is over, or all when there are too many.
func (h *Hub) remember(keys map[string]time.Time, e *Event) {
	for key, at := range keys {
		if e.Time.Sub(at).Abs() >= h.options.Window {
			delete(keys, key)
		}
	}
	if len(keys) >= maxKeys {
		clear(keys)
	}
	keys[e.key()] = e.Time
}

// do lets the goroutine that writes do something.
func (h *Hub) do(job func()) bool {
	select {
	case h.jobs <- job:
		return true
	default:
		h.options.Logger.Warn("the disk does not keep up with events")
		return false
	}
}

func (h *Hub) row(r *Row) {
	if h.options.Row != nil {
		h.do(func() { h.options.Row(r) })
	}
}

// write writes a record. Its ring comes back to spares.
func (h *Hub) write(t *take, spares chan<- *ring) {
	job := func() {
		m, dropped, err := h.shelf.add(t, &h.options)
		t.ring.reset()
		spares <- t.ring
		for _, e := range t.events {
			r := &Row{Event: e, At: time.Now().UTC(), Fate: FateRecorded}
			if err != nil {
				r.Fate, r.Why = FateLost, err.Error()
			} else {
				r.Record, r.Packets = m.name, m.Packets
			}
			h.tell(r)
		}
		if err != nil {
			h.options.Logger.Error("a record is lost", slog.Any("cause", err))
		}
		h.dropped(dropped, "newer records needed its room on disk")
		select {
		case h.written <- struct{}{}:
		default:
		}
	}
	if !h.do(job) {
		t.ring.reset()
		spares <- t.ring
	}
}

// dropped tells of records that made room.
func (h *Hub) dropped(all []*meta, why string) {
	for _, m := range all {
		h.options.Logger.Warn("a record is lost", slog.String("record", m.name), slog.String("why", why))
		for _, e := range m.Events {
			h.tell(&Row{Event: e, At: time.Now().UTC(), Fate: FateLost, Why: why, Record: m.name, Packets: m.Packets})
		}
	}
}

// tell is row for the goroutines of the hub itself.
func (h *Hub) tell(r *Row) {
	if h.options.Row != nil {
		h.options.Row(r)
	}
}
