package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/semaphore"

	"github.com/rocelens/rocelens/store/wire"
)

// What callers of an [Ingest] tell apart.
var (
	// ErrIngestAway says that rows cannot be stored now. What became of them is uncertain: they have to be sent again.
	ErrIngestAway = errors.New("rows cannot be stored now")
	// ErrIngestRefused says that rows can be stored by no database of this release, and why.
	ErrIngestRefused = errors.New("rows cannot be stored here")
)

// Bounds of an Ingest.
const (
	maxWireBatch  = 256 << 20              // bytes of a batch, decompressed
	ingestMemory  = 512 << 20              // bytes of all batches that are not stored yet
	ingestPause   = 500 * time.Millisecond // between two inserts into a table, to which many agents contribute
	maxIngestRows = 500_000                // of one insert, unless one batch has more
	ingestQueue   = 4096                   // batches for one table
)

// Ingest stores batches that agents send to the service. Those of many agents go into one insert, since ClickHouse makes a
// part on disk of each and no machine could merge as many as a thousand agents would make.
type Ingest struct {
	store  *Store
	log    *slog.Logger
	schema wire.Tables
	memory *semaphore.Weighted
	cancel context.CancelFunc
	done   sync.WaitGroup
	ctx    context.Context //nolint:containedctx // of the goroutines, which begin when the first rows for a table come

	mu     sync.Mutex
	flying map[uuid.UUID]*arrival
	tables map[string]*inserter // by name
	state  IngestState
}

// IngestState is how an Ingest is.
type IngestState struct {
	Batches uint64 // stored since the start
	Rows    uint64
	Inserts uint64
	Waiting uint64 // batches
}

// arrival is a batch that is to be stored.
type arrival struct {
	*wire.Checked
	size      int64
	uncertain bool
	trouble   chan struct{} // closed when a try fails; others follow
	done      chan struct{} // closed when it is stored, or refused for good
	err       error         // valid then
	troubled  bool          // for the inserter
}

// NewIngest makes one for a store. Close it before the store.
func (s *Store) NewIngest(ctx context.Context) (*Ingest, error) {
	tables, err := s.readAgentTables(ctx)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Ingest{
		store: s, log: s.config.Logger, schema: tables, memory: semaphore.NewWeighted(ingestMemory), ctx: running, cancel: cancel,
		flying: map[uuid.UUID]*arrival{}, tables: map[string]*inserter{},
	}, nil
}

// readAgentTables asks which columns agents may write.
func (s *Store) readAgentTables(ctx context.Context) (tables wire.Tables, err error) {
	rows, err := s.conn.Query(ctx, "SELECT table, name FROM system.columns WHERE database = '"+s.config.Database+"' AND default_kind IN ('', 'DEFAULT')")
	if err != nil {
		return nil, fmt.Errorf("ask for the tables of agents: %w", err)
	}
	defer closing(&err, rows)
	tables = wire.Tables{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, fmt.Errorf("ask for the tables of agents: %w", err)
		}
		if !wire.AgentTable.MatchString(table) || wire.NotForAgents[column] {
			continue
		}
		if tables[table] == nil {
			tables[table] = map[string]bool{}
		}
		tables[table][column] = true
	}
	return tables, rows.Err()
}

// Close gives up what is not stored yet, which agents send again.
func (g *Ingest) Close() {
	g.cancel()
	g.done.Wait()
}

// State tells how it is.
func (g *Ingest) State() IngestState {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := g.state
	state.Waiting = uint64(len(g.flying))
	return state
}

// Take stores the batches of a request's body, and returns when all are stored. An error that is neither ErrBadFrames, of which
// nothing is stored, nor ErrIngestRefused leaves it uncertain what is.
func (g *Ingest) Take(ctx context.Context, body []byte) error {
	frames, err := wire.ReadFrames(body)
	if err != nil {
		return err
	}
	sizes, size, err := sizesOf(frames)
	if err != nil {
		return err
	}
	if err := g.memory.Acquire(ctx, size); err != nil {
		return fmt.Errorf("%w: too much waits for the database: %w", ErrIngestAway, err)
	}
	all := make([]*arrival, 0, len(frames))
	for i := range frames {
		batch, err := wire.Check(frames[i].ID, frames[i].Data, g.schema)
		if err != nil {
			g.memory.Release(size)
			if newer, ok := errors.AsType[*wire.NewerError](err); ok {
				return fmt.Errorf("%w: %w", ErrIngestRefused, newer)
			}
			return fmt.Errorf("%w: batch %d: %w", wire.ErrBadFrames, i+1, err)
		}
		all = append(all, &arrival{Checked: batch, size: sizes[i], uncertain: frames[i].Uncertain, trouble: make(chan struct{}), done: make(chan struct{})})
	}
	for i, a := range all {
		if all[i], err = g.enqueue(ctx, a); err != nil {
			for _, left := range all[i:] {
				g.memory.Release(left.size)
			}
			return err
		}
	}
	for _, a := range all {
		if err := a.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sizesOf is what frames take as they are and decompressed, each and together.
func sizesOf(frames []wire.Frame) (sizes []int64, size int64, err error) {
	for i := range frames {
		var header zstd.Header
		if err := header.Decode(frames[i].Data); err != nil || !header.HasFCS || header.FrameContentSize > maxWireBatch {
			return nil, 0, fmt.Errorf("%w: batch %d is none, or is larger than %d MiB", wire.ErrBadFrames, i+1, maxWireBatch>>20)
		}
		sizes = append(sizes, int64(header.FrameContentSize)+int64(len(frames[i].Data)))
		size += sizes[i]
	}
	if size > ingestMemory {
		return nil, 0, fmt.Errorf("%w: the batches are larger than %d MiB together", wire.ErrBadFrames, ingestMemory>>20)
	}
	return sizes, size, nil
}

// enqueue hands a batch to the inserter of its table. One that is on its way already is waited for in place of it.
func (g *Ingest) enqueue(ctx context.Context, a *arrival) (*arrival, error) {
	g.mu.Lock()
	if before := g.flying[a.ID]; before != nil {
		g.mu.Unlock()
		g.memory.Release(a.size)
		return before, nil
	}
	i := g.tables[a.Table]
	if i == nil {
		i = &inserter{ingest: g, table: a.Table, queue: make(chan *arrival, ingestQueue)}
		g.tables[a.Table] = i
		g.done.Go(func() { i.run(g.ctx) })
	}
	if i.away.Load() {
		g.mu.Unlock()
		return a, fmt.Errorf("%w: the database does not take them", ErrIngestAway)
	}
	g.flying[a.ID] = a
	g.mu.Unlock()
	select {
	case i.queue <- a:
		return a, nil
	case <-ctx.Done():
	case <-g.ctx.Done():
	}
	g.mu.Lock()
	delete(g.flying, a.ID)
	g.mu.Unlock()
	return a, fmt.Errorf("%w: too many batches wait for the database", ErrIngestAway)
}

// wait returns when the batch is stored, or a try has failed.
func (a *arrival) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	default:
	}
	select {
	case <-a.done:
		return a.err
	case <-a.trouble:
		return fmt.Errorf("%w: the database does not take them", ErrIngestAway)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrIngestAway, ctx.Err())
	}
}

// end lets go of a batch.
func (g *Ingest) end(a *arrival, err error) {
	g.mu.Lock()
	delete(g.flying, a.ID)
	if err == nil {
		g.state.Batches++
		g.state.Rows += uint64(a.Rows)
	}
	g.mu.Unlock()
	g.memory.Release(a.size)
	a.err = err
	close(a.done)
}
