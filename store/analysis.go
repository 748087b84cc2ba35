package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/store/blocks"
)

// blockRows is how many packets an analysis collects before it hands them to the writer. The block before
// is kept back too, so a packet can be revised in memory until at least this many others have followed it.
const blockRows = 4096

// revisionsPerStatement bounds the length of the statement that revises packets in the database.
const revisionsPerStatement = 20000

// Analysis collects what is found in one capture. Its rows go to staging tables, which no user reads, and
// appear under the capture all at once with Commit, in place of what an earlier analysis had found. It is
// for one goroutine. Each Analysis has to be ended by Commit or Abort.
type Analysis struct {
	store    *Store
	id       uuid.UUID
	current  *blocks.PacketBlock
	previous *blocks.PacketBlock
	flows    *blocks.FlowBlock
	paths    *blocks.RecordBlock[blocks.PathRow]
	streams  *blocks.RecordBlock[blocks.StreamRow]
	found    *blocks.RecordBlock[finding.Finding]
	verdicts *blocks.RecordBlock[blocks.VerdictRow]
	replays  *blocks.RecordBlock[blocks.ReplayRow]
	late     map[uint64]flow.Flags // revisions of packets that are out of reach
	rows     map[string]uint64     // by table, as added

	mutex sync.Mutex
	err   error
	over  bool
}

// BeginAnalysis starts the analysis of a capture. What an analysis of it that was never ended has left in
// the staging tables is removed. Two analyses of one capture at a time must not be.
func (s *Store) BeginAnalysis(ctx context.Context, capture uuid.UUID) (*Analysis, error) {
	a := &Analysis{
		store:    s,
		id:       capture,
		current:  takePacketBlock(),
		flows:    blocks.NewFlowBlock(),
		paths:    blocks.NewPathBlock(),
		streams:  blocks.NewStreamBlock(),
		found:    blocks.NewDivergenceBlock(),
		verdicts: blocks.NewVerdictBlock(),
		replays:  blocks.NewReplayBlock(),
		late:     map[uint64]flow.Flags{},
		rows:     map[string]uint64{},
	}
	if err := a.dropStaging(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// Packet adds a packet: Decode's error, the verdict on its ICRC, what the tracker says of it, and the
// offset of its record in the decompressed file, -1 when it is in none. It waits while the database cannot
// keep up. The packet is not kept.
func (a *Analysis) Packet(ctx context.Context, p *dissector.Packet, decodeErr error, icrc dissector.ICRCState, seen flow.Observation, offset int64) error {
	a.current.Append(p, decodeErr, icrc, seen, offset)
	if seen.Revised.Number != 0 {
		a.Revise(seen.Revised)
	}
	if a.current.Rows() < blockRows {
		return nil
	}
	return a.rotate(ctx)
}

// Revise replaces the flags of a packet that was added before. Packet does so for the revision in its
// observation.
func (a *Analysis) Revise(r flow.Revision) {
	if a.current.Revise(r) || a.previous != nil && a.previous.Revise(r) {
		return
	}
	a.late[r.Number] = r.Flags
}

// Flow adds a flow, with its paths and streams. The record is not kept.
func (a *Analysis) Flow(ctx context.Context, r *flow.Record) error {
	a.flows.Append(r)
	if m := r.MetaRoCE; m != nil {
		for i := range m.Paths {
			a.paths.Append(&blocks.PathRow{Flow: r, PathRecord: &m.Paths[i]})
		}
		for i := range m.Streams {
			a.streams.Append(&blocks.StreamRow{Flow: r, StreamRecord: &m.Streams[i]})
		}
	}
	return a.handOver(ctx, blockRows)
}

// Divergence adds a place where a connection diverges from the reference transport, or may. The finding is not kept.
func (a *Analysis) Divergence(ctx context.Context, f *finding.Finding) error {
	a.found.Append(f)
	return a.handOver(ctx, blockRows)
}

// Replay adds what came of a connection held against the reference transport. The report is not kept.
func (a *Analysis) Replay(ctx context.Context, c *finding.Connection) error {
	for i := range c.Tallies {
		if c.Tallies[i] != (finding.Tally{}) {
			a.verdicts.Append(&blocks.VerdictRow{Connection: c.ID, Rule: finding.Rule(i), Tally: c.Tallies[i]})
		}
	}
	for i := range c.Directions {
		if c.Directions[i].Packets != 0 {
			a.replays.Append(&blocks.ReplayRow{Connection: c, Direction: &c.Directions[i]})
		}
	}
	return a.handOver(ctx, blockRows)
}

// rotate sends the previous block and begins a new one.
func (a *Analysis) rotate(ctx context.Context) error {
	if err := a.Err(); err != nil {
		return err
	}
	if err := a.sendPackets(ctx, a.previous); err != nil {
		return err
	}
	a.previous, a.current = a.current, takePacketBlock()
	return nil
}

func (a *Analysis) sendPackets(ctx context.Context, b *blocks.PacketBlock) error {
	if b == nil || b.Rows() == 0 {
		return nil
	}
	return a.send(ctx, packetsTable, &b.Block, giveBack(b))
}

// handOver sends the rows of the other tables, of those that have collected as many as least.
func (a *Analysis) handOver(ctx context.Context, least int) error {
	if b := a.flows; b.Rows() >= least {
		a.flows = blocks.NewFlowBlock()
		if err := a.send(ctx, flowsTable, &b.Block, nil); err != nil {
			return err
		}
	}
	if b := a.paths; b.Rows() >= least {
		a.paths = blocks.NewPathBlock()
		if err := a.send(ctx, pathsTable, &b.Block, nil); err != nil {
			return err
		}
	}
	if b := a.streams; b.Rows() >= least {
		a.streams = blocks.NewStreamBlock()
		if err := a.send(ctx, streamsTable, &b.Block, nil); err != nil {
			return err
		}
	}
	return a.handOverReplay(ctx, least)
}

func (a *Analysis) handOverReplay(ctx context.Context, least int) error {
	if b := a.found; b.Rows() >= least {
		a.found = blocks.NewDivergenceBlock()
		if err := a.send(ctx, divergencesTable, &b.Block, nil); err != nil {
			return err
		}
	}
	if b := a.verdicts; b.Rows() >= least {
		a.verdicts = blocks.NewVerdictBlock()
		if err := a.send(ctx, verdictsTable, &b.Block, nil); err != nil {
			return err
		}
	}
	if b := a.replays; b.Rows() >= least {
		a.replays = blocks.NewReplayBlock()
		return a.send(ctx, replaysTable, &b.Block, nil)
	}
	return nil
}

// send hands rows to the table's writer; release, which may be nil, gives them back.
func (a *Analysis) send(ctx context.Context, table string, rows *blocks.Block, release func()) error {
	a.rows[table] += uint64(rows.Rows())
	return a.store.writers[table].send(ctx, delivery{analysis: a, rows: rows, release: release})
}

// Err is why rows of the analysis could not be stored, nil as long as they could.
func (a *Analysis) Err() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.err
}

func (a *Analysis) fail(err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.err == nil {
		a.err = err
	}
}

func (a *Analysis) isOver() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.over
}

func (a *Analysis) end() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.over = true
}

// Commit stores what is outstanding and makes all of it visible. When it fails nothing of it is visible,
// what was found before still is, and Abort remains to be called.
func (a *Analysis) Commit(ctx context.Context) error {
	if a.isOver() {
		return ErrAborted
	}
	if err := a.sendPackets(ctx, a.previous); err != nil {
		return err
	}
	a.previous = nil
	if err := a.sendPackets(ctx, a.current); err != nil {
		return err
	}
	a.current = takePacketBlock()
	if err := a.handOver(ctx, 1); err != nil {
		return err
	}
	if err := a.flush(ctx); err != nil {
		return err
	}
	if err := a.Err(); err != nil {
		return err
	}
	if err := a.reviseStored(ctx); err != nil {
		return fmt.Errorf("revise packets of capture %s: %w", a.id, err)
	}
	for _, table := range dataTables {
		if err := a.check(ctx, table.name); err != nil {
			return err
		}
	}
	// From here on there is no half way: a cancellation must not come between the tables.
	ctx = context.WithoutCancel(ctx)
	defer a.store.sequences.forget(a.id)
	for _, table := range dataTables {
		if err := a.publish(ctx, table.name); err != nil {
			return fmt.Errorf("publish the %s of capture %s: %w", table.name, a.id, err)
		}
	}
	a.end()
	return a.dropStaging(ctx)
}

// check compares what is staged with what was added: the last guard against rows lost or doubled on the way.
func (a *Analysis) check(ctx context.Context, table string) error {
	var staged uint64
	err := persist(ctx, a.store.config.Patience, func() error {
		return a.store.conn.QueryRow(ctx, "SELECT count() FROM "+a.store.staging(table)+" WHERE capture_id = "+partition(a.id)).Scan(&staged)
	})
	if err != nil {
		return fmt.Errorf("count the staged %s of capture %s: %w", table, a.id, err)
	}
	if staged != a.rows[table] {
		return fmt.Errorf("the database has %d %s of capture %s where %d were written", staged, table, a.id, a.rows[table])
	}
	return nil
}

// publish puts the staged partition in the place of what an earlier analysis has found.
func (a *Analysis) publish(ctx context.Context, table string) error {
	if a.rows[table] == 0 {
		return a.store.dropPartition(ctx, a.store.table(table), a.id)
	}
	return a.store.exec(ctx, "ALTER TABLE "+a.store.table(table)+" REPLACE PARTITION "+partition(a.id)+" FROM "+a.store.staging(table))
}

// Abort gives the analysis up: none of its rows stays. What an earlier one has found is left alone. After
// Commit it does nothing.
func (a *Analysis) Abort(ctx context.Context) error {
	if a.isOver() {
		return nil
	}
	a.end()
	// What is on its way must have arrived before it can be removed.
	if err := a.flush(ctx); err != nil {
		return err
	}
	return a.dropStaging(ctx)
}

func (a *Analysis) flush(ctx context.Context) error {
	for _, table := range dataTables {
		if err := a.store.writers[table.name].flush(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (a *Analysis) dropStaging(ctx context.Context) error {
	for _, table := range dataTables {
		if err := a.store.dropPartition(ctx, a.store.staging(table.name), a.id); err != nil {
			return err
		}
	}
	return nil
}

// reviseStored patches the flags of packets that have left memory: a mutation of the capture's own staging
// partition, and of no column but flags.
func (a *Analysis) reviseStored(ctx context.Context) error {
	for numbers := range slices.Chunk(slices.Sorted(maps.Keys(a.late)), revisionsPerStatement) {
		var from, to strings.Builder
		for i, number := range numbers {
			if i > 0 {
				from.WriteByte(',')
				to.WriteByte(',')
			}
			from.WriteString(strconv.FormatUint(number, 10))
			to.WriteString(strconv.FormatUint(uint64(a.late[number]), 10))
		}
		statement := "ALTER TABLE " + a.store.staging(packetsTable) +
			" UPDATE flags = transform(number, [" + from.String() + "], CAST([" + to.String() + "], 'Array(UInt16)'), flags)" +
			" IN PARTITION " + partition(a.id) + " WHERE number IN (" + from.String() + ")"
		if err := a.store.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
