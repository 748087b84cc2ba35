package shipping

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/spool"
	"github.com/rocelens/rocelens/store/wire"
)

// ShipperConfig says where rows of an agent go.
type ShipperConfig struct {
	Address  string // host:port of the native protocol
	TLS      *tls.Config
	Account  access.Account
	Database string // "rocelens"
	// Server is a service that stores the rows in place of all that.
	Server *ServerTarget

	FirstDelay time.Duration // before a failed insert is tried again, 100 ms; doubled each time
	LastDelay  time.Duration // up to 30 s
	Logger     *slog.Logger
}

func (c ShipperConfig) withDefaults() (ShipperConfig, error) {
	if c.Server != nil {
		if _, err := c.Server.address(); err != nil {
			return c, err
		}
	} else if c.Address == "" {
		return c, errors.New("no address of a ClickHouse server is given")
	}
	if c.Database == "" {
		c.Database = "rocelens"
	}
	if !access.ValidDatabase(c.Database) {
		return c, fmt.Errorf("%q is no name for the database: letters, digits and underscores are", c.Database)
	}
	if c.Account.User == "" {
		c.Account.User = "default"
	}
	if c.FirstDelay <= 0 {
		c.FirstDelay = 100 * time.Millisecond
	}
	if c.LastDelay <= 0 {
		c.LastDelay = 30 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// AgentSpool is what a shipper empties.
type AgentSpool interface {
	Next(ctx context.Context) (spool.Record, error)
	Confirm(sequence uint64) error
	Rewind()
}

// Reasons for which rows are given up.
const (
	RefusedUnreadable = "unreadable" // the spool gave back what is no batch
	RefusedPartial    = "partial"    // the database has stored a part of a batch, and the rest cannot be told from it
	RefusedVanished   = "vanished"   // the database took a batch three times, and has not got it
)

// ShipState is how shipping goes.
type ShipState struct {
	ConfirmedRows    map[string]uint64 // by table
	ConfirmedBatches uint64
	Refused          map[string]uint64 // rows, or batches that nobody can read, by reason
	Failures         uint64            // tries that failed
	LastConfirmed    time.Time
	Problem          string // why the latest try for some table failed, in one sentence; empty once all have worked
}

// trouble is why rows of a table do not arrive.
type trouble struct {
	why   string
	since time.Time
}

// Shipper takes batches of agents out of a spool and puts each into ClickHouse exactly once.
//
// An insert is one block of one partition, which ClickHouse stores as a whole or not at all, under a token by which it
// knows the same insert again. That does not suffice: the database forgets tokens in time, and one that is killed can
// have stored rows and not their token, or the token and not the rows. So whenever it is uncertain what became of an
// insert (its answer was lost, or the agent started anew) the rows are counted before they are sent again, and after.
type Shipper struct {
	config  ShipperConfig
	spool   AgentSpool
	carried uint64 // sequence of the last that was taken to a service, perhaps in vain

	mu       sync.Mutex
	state    ShipState
	troubles map[string]trouble // by table
	progress chan struct{}
}

// NewShipper makes a shipper; Run works.
func NewShipper(config ShipperConfig, from AgentSpool) (*Shipper, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Shipper{
		config: config, spool: from, progress: make(chan struct{}, 1),
		state:    ShipState{ConfirmedRows: map[string]uint64{}, Refused: map[string]uint64{}},
		troubles: map[string]trouble{},
	}, nil
}

// State tells how shipping goes.
func (s *Shipper) State() ShipState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.ConfirmedRows, state.Refused = maps.Clone(state.ConfirmedRows), maps.Clone(state.Refused)
	for _, table := range slices.Sorted(maps.Keys(s.troubles)) {
		state.Problem = s.troubles[table].why
	}
	return state
}

// Progress has an element after a batch was confirmed or given up.
func (s *Shipper) Progress() <-chan struct{} { return s.progress }

// tableQueue is how many batches may wait for the writer of one table before those of others wait with them.
const tableQueue = 4

// shipment is a batch on its way.
type shipment struct {
	*wire.Batch
	record spool.Record
}

// Run ships until ctx ends, which is no error, or the spool fails. What is under way then is shipped by the next one.
func (s *Shipper) Run(ctx context.Context) error {
	if s.config.Server != nil {
		return s.carry(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.spool.Rewind()
	queues := map[string]chan shipment{}
	var writers sync.WaitGroup
	defer writers.Wait()
	defer func() {
		for _, queue := range queues {
			close(queue)
		}
	}()
	for {
		record, err := s.spool.Next(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		b, err := wire.Decode(record.Data)
		if err != nil {
			s.config.Logger.Error("a batch in the spool cannot be read and is given up", slog.Uint64("batch", record.Sequence), slog.Any("cause", err))
			s.refuse(RefusedUnreadable, max(1, uint64(record.Units)))
			if err := s.spool.Confirm(record.Sequence); err != nil {
				return ended(ctx, err)
			}
			continue
		}
		queue := queues[b.Table]
		if queue == nil {
			queue = make(chan shipment, tableQueue)
			queues[b.Table] = queue
			w := &tableWriter{shipper: s, uncertain: true}
			writers.Go(func() {
				defer w.disconnect()
				for next := range queue {
					if err := w.deliver(ctx, next); err != nil {
						cancel(err)
						return
					}
				}
			})
		}
		select {
		case queue <- shipment{b, record}:
		case <-ctx.Done():
			return ended(ctx, ctx.Err())
		}
	}
}

// ended is nil when ctx ended from outside, and otherwise what ended it.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (s *Shipper) dial(ctx context.Context) (*ch.Client, error) {
	// No database is named, since it may not be there yet: each statement says it.
	return ch.Dial(ctx, ch.Options{
		Address: s.config.Address, User: s.config.Account.User, Password: s.config.Account.Password,
		TLS: s.config.TLS, Compression: ch.CompressionLZ4, DialTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		ClientName: "rocelens-agent",
	})
}

// confirm notes that a batch has arrived.
func (s *Shipper) confirm(next shipment) error {
	s.mu.Lock()
	s.state.ConfirmedRows[next.Table] += uint64(next.Rows)
	s.state.ConfirmedBatches++
	s.state.LastConfirmed = time.Now()
	was, troubled := s.troubles[next.Table]
	delete(s.troubles, next.Table)
	s.mu.Unlock()
	if troubled {
		s.config.Logger.Info("rows arrive again", slog.String("table", next.Table), slog.Duration("after", time.Since(was.since)))
	}
	return s.end(next)
}

// end lets go of a batch.
func (s *Shipper) end(next shipment) error {
	err := s.spool.Confirm(next.record.Sequence)
	select {
	case s.progress <- struct{}{}:
	default:
	}
	return err
}

func (s *Shipper) refuse(reason string, rows uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Refused[reason] += rows
}

// failed notes that a try failed. The same trouble is logged once.
func (s *Shipper) failed(table string, err error) {
	problem := s.explain(table, err)
	s.mu.Lock()
	was, troubled := s.troubles[table]
	if !troubled {
		was.since = time.Now()
	}
	s.troubles[table] = trouble{problem, was.since}
	s.state.Failures++
	s.mu.Unlock()
	if was.why != problem {
		s.config.Logger.Warn("rows cannot be stored and wait in the spool", slog.String("why", problem))
	}
}

// explain is one sentence for the person who runs the agent.
func (s *Shipper) explain(table string, err error) string {
	code, words, answered := access.Answer(err)
	where := "the database " + s.config.Database + " at " + s.config.Address
	switch {
	case errors.Is(err, wire.ErrRunning), s.config.Server != nil:
		return err.Error()
	case !answered && tlsTrouble(err, "ClickHouse at "+s.config.Address, "clickhouse") != "":
		return tlsTrouble(err, "ClickHouse at "+s.config.Address, "clickhouse")
	case !answered:
		return fmt.Sprintf("ClickHouse at %s does not answer: %v", s.config.Address, err)
	case code == access.CodeNoColumn, code == access.CodeNoTable, code == access.CodeNoDatabase:
		return fmt.Sprintf("%s has not got the table %s as this agent writes it: bring it up to date with rocelens migrate, or start rocelens serve, of this release or a later one",
			where, table)
	case code == access.CodeNoRight:
		return fmt.Sprintf("the user %s may not write to %s: GRANT INSERT, SELECT ON %s.* TO %s", s.config.Account.User, where, s.config.Database, s.config.Account.User)
	}
	return fmt.Sprintf("%s refuses rows for %s: %s (code %d)", where, table, words, code)
}

// pause waits before the next try, for as long as ctx lasts.
func (s *Shipper) pause(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay/2 + rand.N(delay/2+1)) //nolint:gosec // spreads the tries of many agents, no secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
