package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
)

const capturesTable = "captures"

// Status is where a capture stands, as in the column status.
type Status string

// Statuses.
const (
	StatusQueued    Status = "queued"
	StatusAnalyzing Status = "analyzing"
	StatusDone      Status = "done"
	StatusPartial   Status = "partial" // the file ended or broke early; what was before is there
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Capture is an uploaded file and what its analysis tells of it as a whole.
type Capture struct {
	ID          uuid.UUID
	Name        string
	Size        uint64
	SHA256      string // hexadecimal, lower case
	Status      Status
	Message     string // one sentence about the status
	Format      string
	Compression string
	LinkTypes   []uint16
	Interfaces  string // JSON, kept as it is
	AccessIndex string // JSON, kept as it is; empty in lists
	UploadedAt  time.Time
	AnalyzedAt  *time.Time
	FirstPacket *time.Time
	LastPacket  *time.Time
	Totals      *Totals // nil until analysed
	Pause       *Pause  // nil until analysed by a release that tells
	Notes       []string
	Software    string
}

// Totals are the sums over a capture, and the part of them that accuses nobody.
type Totals struct {
	flow.Totals
	MissingAcknowledged uint64 // of MissingPSNs: acknowledged all the same, so the capture missed them, not the receiver
	ICRCRewritten       uint64 // of ICRCErrors: right but for a source port that a device rewrote
}

// CapturePage is a part of the list of captures.
type CapturePage struct {
	Captures []Capture
	Next     string // cursor of the next part; empty at the end
}

// totalColumn is a column of totals: its name and where the number is.
type totalColumn struct {
	name  string
	value func(*Totals) *uint64
}

var totalColumns = []totalColumn{
	{"packets", func(t *Totals) *uint64 { return &t.Packets }},
	{"rdma_packets", func(t *Totals) *uint64 { return &t.RDMAPackets }},
	{"bytes", func(t *Totals) *uint64 { return &t.Bytes }},
	{"rdma_bytes", func(t *Totals) *uint64 { return &t.RDMABytes }},
	{"messages", func(t *Totals) *uint64 { return &t.Messages }},
	{"retransmitted_packets", func(t *Totals) *uint64 { return &t.Retransmitted }},
	{"out_of_order_packets", func(t *Totals) *uint64 { return &t.OutOfOrder }},
	{"mirror_copy_packets", func(t *Totals) *uint64 { return &t.MirrorCopies }},
	{"missing_psns", func(t *Totals) *uint64 { return &t.MissingPSNs }},
	{"missing_psns_acknowledged", func(t *Totals) *uint64 { return &t.MissingAcknowledged }},
	{"nak_packets", func(t *Totals) *uint64 { return &t.Naks }},
	{"rnr_nak_packets", func(t *Totals) *uint64 { return &t.RNRNaks }},
	{"cnp_packets", func(t *Totals) *uint64 { return &t.CNPs }},
	{"ce_packets", func(t *Totals) *uint64 { return &t.CEMarked }},
	{"icrc_errors", func(t *Totals) *uint64 { return &t.ICRCErrors }},
	{"icrc_errors_port_rewritten", func(t *Totals) *uint64 { return &t.ICRCRewritten }},
	{"icrc_undetermined", func(t *Totals) *uint64 { return &t.ICRCUndetermined }},
	{"malformed_packets", func(t *Totals) *uint64 { return &t.Malformed }},
	{"truncated_packets", func(t *Totals) *uint64 { return &t.Truncated }},
	{"unsupported_packets", func(t *Totals) *uint64 { return &t.Unsupported }},
	{"not_rdma_packets", func(t *Totals) *uint64 { return &t.NotRDMA }},
	{"pause_frames", func(t *Totals) *uint64 { return &t.PauseFrames }},
	{"flows", func(t *Totals) *uint64 { return &t.Flows }},
	{"connections", func(t *Totals) *uint64 { return &t.Connections }},
	{"evicted_flows", func(t *Totals) *uint64 { return &t.EvictedFlows }},
}

// captureColumns lists the columns in the order of captureRow; the index stands last, so lists can leave it out.
func captureColumns(index bool) string {
	columns := []string{
		"id", "name", "size", "sha256", "status", "message", "format", "compression", "link_types", "interfaces",
		"uploaded_at", "analyzed_at", "first_packet_at", "last_packet_at", "notes", "software",
	}
	for _, c := range totalColumns {
		columns = append(columns, c.name)
	}
	columns = append(columns, pauseColumns...)
	if index {
		columns = append(columns, "access_index")
	}
	return strings.Join(columns, ", ")
}

// SaveCapture inserts a capture, or replaces the one with its ID. The next read sees it.
func (s *Store) SaveCapture(ctx context.Context, c *Capture) error {
	values := []any{
		c.ID, c.Name, c.Size, c.SHA256, string(c.Status), c.Message, c.Format, c.Compression, nonNil(c.LinkTypes), c.Interfaces,
		c.UploadedAt.UTC(), c.AnalyzedAt, c.FirstPacket, c.LastPacket, nonNil(c.Notes), c.Software,
	}
	for _, column := range totalColumns {
		var value *uint64
		if c.Totals != nil {
			value = column.value(c.Totals)
		}
		values = append(values, value)
	}
	values = append(values, pauseValues(c.Pause)...)
	values = append(values, c.AccessIndex, s.nextVersion())
	err := persist(ctx, s.config.Patience, func() error {
		settings := clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
		batch, err := s.conn.PrepareBatch(settings, "INSERT INTO "+s.table(capturesTable)+" ("+captureColumns(true)+", version)")
		if err != nil {
			return err
		}
		if err := batch.Append(values...); err != nil {
			return errors.Join(err, batch.Abort())
		}
		return batch.Send()
	})
	if err != nil {
		return fmt.Errorf("save capture %s: %w", c.ID, err)
	}
	return nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// nextVersion grows with every call, over restarts too as long as the clock does.
func (s *Store) nextVersion() uint64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lastVersion = max(s.lastVersion+1, uint64(time.Now().UnixNano()))
	return s.lastVersion
}

// scanner is a row of a result.
type scanner interface{ Scan(dest ...any) error }

func scanCapture(row scanner, index bool) (Capture, error) {
	var c Capture
	var status string
	var totals Totals
	numbers := make([]*uint64, len(totalColumns))
	destinations := []any{
		&c.ID, &c.Name, &c.Size, &c.SHA256, &status, &c.Message, &c.Format, &c.Compression, &c.LinkTypes, &c.Interfaces,
		&c.UploadedAt, &c.AnalyzedAt, &c.FirstPacket, &c.LastPacket, &c.Notes, &c.Software,
	}
	for i := range numbers {
		destinations = append(destinations, &numbers[i])
	}
	var pause pauseRow
	destinations = append(destinations, pause.destinations()...)
	if index {
		destinations = append(destinations, &c.AccessIndex)
	}
	if err := row.Scan(destinations...); err != nil {
		return Capture{}, err
	}
	c.Status, c.Pause = Status(status), pause.pause()
	for i, number := range numbers {
		if number != nil {
			*totalColumns[i].value(&totals) = *number
			c.Totals = &totals
		}
	}
	return c, nil
}

// Capture returns one capture, or ErrNotFound.
func (s *Store) Capture(ctx context.Context, id uuid.UUID) (Capture, error) {
	return s.oneCapture(ctx, "id = {id:UUID}", clickhouse.Named("id", id.String()))
}

// CaptureBySHA256 returns the newest capture of a file with this content, hexadecimal, or ErrNotFound.
func (s *Store) CaptureBySHA256(ctx context.Context, sum string) (Capture, error) {
	return s.oneCapture(ctx, "sha256 = {sum:String}", clickhouse.Named("sum", strings.ToLower(sum)))
}

func (s *Store) oneCapture(ctx context.Context, condition string, arguments ...any) (Capture, error) {
	row := s.conn.QueryRow(ctx, "SELECT "+captureColumns(true)+" FROM "+s.table(capturesTable)+
		" FINAL WHERE "+condition+" ORDER BY uploaded_at DESC, id LIMIT 1", arguments...)
	c, err := scanCapture(row, true)
	if errors.Is(err, sql.ErrNoRows) {
		return Capture{}, fmt.Errorf("capture: %w", ErrNotFound)
	}
	if err != nil {
		return Capture{}, fmt.Errorf("read a capture: %w", err)
	}
	return c, nil
}

// Captures lists captures, newest first, from the cursor on; the empty cursor is the beginning.
func (s *Store) Captures(ctx context.Context, cursor string, limit int) (CapturePage, error) {
	condition, arguments := "1", []any{}
	if cursor != "" {
		nanoseconds, id, err := parseCursor(cursor)
		if err != nil {
			return CapturePage{}, err
		}
		condition = "(toUnixTimestamp64Nano(uploaded_at), id) < ({time:Int64}, {id:UUID})"
		arguments = append(arguments, clickhouse.Named("time", strconv.FormatInt(nanoseconds, 10)), clickhouse.Named("id", id.String()))
	}
	captures, err := s.listCaptures(ctx, condition+" ORDER BY uploaded_at DESC, id DESC LIMIT "+strconv.Itoa(limit+1), arguments...)
	if err != nil {
		return CapturePage{}, err
	}
	page := CapturePage{Captures: captures}
	if len(captures) > limit {
		page.Captures = captures[:limit]
		last := page.Captures[limit-1]
		page.Next = makeCursor(last.UploadedAt.UnixNano(), last.ID)
	}
	return page, nil
}

// Interrupted lists captures that a run before has left queued or under analysis, oldest first. Their
// staged rows are gone; what an analysis before that had found is there, and to be sure that it is of one
// analysis the capture has to be analysed again or its results deleted.
func (s *Store) Interrupted(ctx context.Context) ([]Capture, error) {
	return s.listCaptures(ctx, "status IN ('queued', 'analyzing') ORDER BY uploaded_at, id")
}

func (s *Store) listCaptures(ctx context.Context, rest string, arguments ...any) (captures []Capture, err error) {
	rows, err := s.conn.Query(ctx, "SELECT "+captureColumns(false)+" FROM "+s.table(capturesTable)+" FINAL WHERE "+rest, arguments...)
	if err != nil {
		return nil, fmt.Errorf("list captures: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		c, err := scanCapture(rows, false)
		if err != nil {
			return nil, fmt.Errorf("list captures: %w", err)
		}
		captures = append(captures, c)
	}
	return captures, rows.Err()
}

// DeleteResults removes what an analysis of the capture has found, and keeps the capture.
func (s *Store) DeleteResults(ctx context.Context, id uuid.UUID) error {
	defer s.sequences.forget(id)
	for _, table := range dataTables {
		for _, name := range []string{s.staging(table.name), s.table(table.name)} {
			if err := s.dropPartition(ctx, name, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteCapture removes the capture and all rows that were made from it, and returns when they are gone.
func (s *Store) DeleteCapture(ctx context.Context, id uuid.UUID) error {
	if err := s.DeleteResults(ctx, id); err != nil {
		return err
	}
	if err := s.exec(ctx, "ALTER TABLE "+s.table(capturesTable)+" DELETE WHERE id = "+partition(id)); err != nil {
		return fmt.Errorf("delete capture %s: %w", id, err)
	}
	return nil
}

func makeCursor(nanoseconds int64, id uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(nanoseconds, 10) + " " + id.String()))
}

func parseCursor(cursor string) (int64, uuid.UUID, error) {
	wrong := fmt.Errorf("%w: the cursor is none of this list's", ErrBadRequest)
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, uuid.Nil, wrong
	}
	first, second, _ := strings.Cut(string(text), " ")
	nanoseconds, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, uuid.Nil, wrong
	}
	id, err := uuid.Parse(second)
	if err != nil {
		return 0, uuid.Nil, wrong
	}
	return nanoseconds, id, nil
}
