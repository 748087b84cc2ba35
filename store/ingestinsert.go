package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/blocks"
	"github.com/rocelens/rocelens/store/wire"
)

// ingestQueries is how the IDs of inserts begin.
const ingestQueries = "rocelens-ingest-"

// inserter puts batches into one table, those that have come meanwhile together.
//
// What holds for the shipper of one agent holds here: an insert is one block of one partition under a token that is the same
// at each try; and whenever it is uncertain what became of a batch, because the agent or an insert before says so, its rows are
// looked for before it is sent, and counted afterwards.
type inserter struct {
	ingest *Ingest
	table  string
	queue  chan *arrival
	client *ch.Client
	taken  []*arrival  // from the queue; some of them may be stored
	away   atomic.Bool // the database did not take the rows at hand, which are tried again and again
}

// run works until ctx ends.
func (i *inserter) run(ctx context.Context) {
	defer i.disconnect()
	var last time.Time
	for {
		var waiting []*arrival
		select {
		case a := <-i.queue:
			waiting = append(waiting, a)
		case <-ctx.Done():
			i.abandon(nil)
			return
		}
		if err := sleep(ctx, ingestPause-time.Since(last)); err != nil {
			i.abandon(waiting)
			return
		}
		last = time.Now()
		for len(i.queue) > 0 {
			waiting = append(waiting, <-i.queue)
		}
		i.taken = waiting
		for _, group := range grouped(waiting) {
			i.deliver(ctx, group)
		}
		i.taken = nil
	}
}

// sleep waits for as long as ctx lasts.
func sleep(ctx context.Context, duration time.Duration) error {
	if duration <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// abandon lets go of all that waits, when the service ends.
func (i *inserter) abandon(waiting []*arrival) {
	for len(i.queue) > 0 {
		waiting = append(waiting, <-i.queue)
	}
	for _, a := range waiting {
		i.ingest.end(a, fmt.Errorf("%w: the service is stopping", ErrIngestAway))
	}
}

// grouped puts batches together that can be inserted at once.
func grouped(waiting []*arrival) (groups [][]*arrival) {
	open := map[string]int{}
	rows := map[int]int{}
	for _, a := range waiting {
		shape := a.Shape()
		at, found := open[shape]
		if !found || rows[at]+a.Rows > maxIngestRows {
			at = len(groups)
			open[shape] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], a)
		rows[at] += a.Rows
	}
	return groups
}

// deliver returns when each batch of a group is stored or refused. It tries for as long as ctx lasts.
func (i *inserter) deliver(ctx context.Context, group []*arrival) {
	delay := 100 * time.Millisecond
	failed := false
	for taken := 0; len(group) > 0; {
		err := i.try(ctx, &group, failed, &taken)
		if err == nil {
			i.away.Store(false)
			continue // what is left has to be sent again
		}
		i.disconnect()
		code, words, answered := Refusal(err)
		if answered && !passing[code] && ctx.Err() == nil && !errors.Is(err, wire.ErrRunning) {
			if len(group) > 1 { // one that cannot be stored must not keep the others
				for _, a := range group {
					i.deliver(ctx, []*arrival{a})
				}
				return
			}
			i.ingest.log.Error("rows of an agent are refused by the database", slog.String("table", i.table), slog.String("why", words), slog.Int("code", code))
			i.ingest.end(group[0], fmt.Errorf("%w: the database refuses rows for %s: %s", ErrIngestRefused, i.table, words))
			return
		}
		if !failed && ctx.Err() == nil {
			i.ingest.log.Warn("rows of agents cannot be stored", slog.String("table", i.table), slog.Any("cause", err))
		}
		failed = true
		i.warn()
		if sleep(ctx, delay) != nil {
			i.abandon(group)
			return
		}
		delay = min(2*delay, 5*time.Second)
	}
}

// warn lets nobody wait for what may take long.
func (i *inserter) warn() {
	i.away.Store(true)
	for _, a := range i.taken {
		if !a.troubled {
			a.troubled = true
			close(a.trouble)
		}
	}
	for len(i.queue) > 0 {
		i.ingest.end(<-i.queue, fmt.Errorf("%w: the database does not take them", ErrIngestAway))
	}
}

// try inserts a group once, without the batches that are stored already, and leaves in it what is not.
func (i *inserter) try(ctx context.Context, group *[]*arrival, failed bool, taken *int) (err error) {
	if i.client == nil || i.client.IsClosed() {
		if i.client, err = i.ingest.store.dial(ctx); err != nil {
			i.client = nil
			return err
		}
	}
	doubtful := func(a *arrival) bool { return (failed || *taken > 0 || a.uncertain) && a.Table != wire.AgentsTable }
	checked := slices.ContainsFunc(*group, doubtful)
	if checked {
		if err := i.settle(ctx, group, doubtful); err != nil || len(*group) == 0 {
			return err
		}
	}
	if err := i.insert(ctx, *group, *taken); err != nil {
		return err
	}
	if !checked {
		for _, a := range *group {
			i.ingest.end(a, nil)
		}
		*group = nil
		return nil
	}
	// The database may have known the token, and have lost the rows.
	if err := i.settle(ctx, group, func(*arrival) bool { return true }); err != nil || len(*group) == 0 {
		return err
	}
	if *taken++; *taken < wire.MaxTokens {
		return nil
	}
	for _, a := range *group {
		i.ingest.log.Error("the database took rows and has not got them", slog.String("table", i.table), slog.Int("rows", a.Rows))
		i.ingest.end(a, fmt.Errorf("%w: the database took them and has not got them", ErrIngestAway))
	}
	*group = nil
	return nil
}

// settle takes those of the doubtful batches out of the group that are stored, once no insert that may be of them runs.
func (i *inserter) settle(ctx context.Context, group *[]*arrival, doubtful func(*arrival) bool) error {
	var ids, times, prefixes []string
	for _, a := range *group {
		if doubtful(a) {
			ids = append(ids, "'"+a.ID.String()+"'")
			times = append(times, fmt.Sprintf("fromUnixTimestamp64Nano(toInt64(%d))", a.At.UnixNano()))
			prefixes = append(prefixes, "startsWith(query_id, '"+a.ID.String()+"')") // an agent's own insert
		}
	}
	var running proto.ColUInt64
	err := i.client.Do(ctx, ch.Query{
		Body:   "SELECT count() FROM system.processes WHERE startsWith(query_id, '" + ingestQueries + i.table + "-') OR " + strings.Join(prefixes, " OR "),
		Result: proto.Results{{Name: "count()", Data: &running}},
	})
	if code, _, _ := access.Answer(err); err != nil && code != access.CodeNoRight {
		return err
	}
	if len(running) == 1 && running[0] > 0 {
		return wire.ErrRunning
	}
	slices.Sort(times)
	found, err := i.count(ctx, "interval_end IN ("+strings.Join(slices.Compact(times), ", ")+") AND batch IN ("+strings.Join(ids, ", ")+")")
	if err != nil {
		return err
	}
	var left []*arrival
	for _, a := range *group {
		rows := found[a.ID]
		if rows == 0 {
			left = append(left, a)
			continue
		}
		if rows != uint64(a.Rows) {
			i.ingest.log.Error("a part of a batch is stored, the rest is given up", slog.Any("cause", &wire.PartialError{Table: i.table, Stored: rows, Rows: a.Rows}))
		}
		i.ingest.end(a, nil)
	}
	*group = left
	return nil
}

// count is the rows of each batch that a condition finds.
func (i *inserter) count(ctx context.Context, condition string) (map[uuid.UUID]uint64, error) {
	found := map[uuid.UUID]uint64{}
	var ids proto.ColUUID
	var rows proto.ColUInt64
	err := i.client.Do(ctx, ch.Query{
		Body:   "SELECT batch, count() AS rows FROM " + i.ingest.store.table(i.table) + " WHERE " + condition + " GROUP BY batch",
		Result: proto.Results{{Name: "batch", Data: &ids}, {Name: "rows", Data: &rows}},
		OnResult: func(context.Context, proto.Block) error {
			for n := range ids {
				found[ids[n]] = rows[n]
			}
			return nil
		},
	})
	return found, err
}

// insert sends a group as one block.
func (i *inserter) insert(ctx context.Context, group []*arrival, taken int) error {
	batches := make([]*wire.Checked, len(group))
	ids := make([]string, len(group))
	for n, a := range group {
		batches[n], ids[n] = a.Checked, a.ID.String()
	}
	slices.Sort(ids)
	token := sha256.Sum256([]byte(strings.Join(ids, " ")))
	input := wire.Join(batches)
	i.ingest.mu.Lock()
	i.ingest.state.Inserts++
	i.ingest.mu.Unlock()
	return i.client.Do(ctx, ch.Query{
		Body:    "INSERT INTO " + i.ingest.store.table(i.table) + " (" + blocks.ColumnNames(input) + ") VALUES",
		QueryID: ingestQueries + i.table + "-" + uuid.NewString(),
		Input:   input,
		Settings: []ch.Setting{
			ch.SettingInt("async_insert", 0), // the batches were put together here, where it is known what becomes of each
			ch.SettingInt("insert_deduplicate", 1),
			{Key: "deduplicate_insert", Value: "enable"},
			{Key: "insert_deduplication_token", Value: fmt.Sprintf("%x-%d", token, taken), Important: true},
			ch.SettingInt("deduplicate_blocks_in_dependent_materialized_views", 1),
		},
	})
}

func (i *inserter) disconnect() {
	if i.client != nil {
		_ = i.client.Close() // it may have failed already; what matters is that it is gone
		i.client = nil
	}
}
