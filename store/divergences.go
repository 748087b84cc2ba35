package store

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/replay/finding"
)

// Rule is what came of a rule over all connections of a capture.
type Rule struct {
	Rule         string `ch:"rule"`
	Diverges     uint64 `ch:"diverges"`
	Undetermined uint64 `ch:"undetermined"`
	Conforms     uint64 `ch:"conforms"` // 0 from agents, which do not tell it
	Connections  uint64 `ch:"connections"`
	Diverging    uint64 `ch:"diverging"`
}

// Rules lists the rules that applied to a capture: those that something diverges from first, then the graver ones.
func (s *Store) Rules(ctx context.Context, capture uuid.UUID) ([]Rule, error) {
	return s.rules(ctx, capture, "")
}

// rules lists rules of a capture; further narrows to some of its connections.
func (s *Store) rules(ctx context.Context, capture uuid.UUID, further string) ([]Rule, error) {
	return rowsAs[Rule](ctx, s, "the rules", "SELECT t.rule AS rule, sum(t.diverges) AS diverges, sum(t.undetermined) AS undetermined,"+
		" sum(t.conforms) AS conforms, count() AS connections, countIf(t.diverges > 0) AS diverging FROM "+s.table(verdictsTable)+
		" AS t WHERE t.capture_id = {capture:UUID}"+further+" GROUP BY t.rule"+
		" ORDER BY diverges > 0 DESC, undetermined > 0 DESC, any(t.severity) DESC, rule", clickhouse.Named("capture", capture.String()))
}

// Divergence is a row of the table divergences.
type Divergence struct {
	ID           uint64     `ch:"id"` // tells it from the others of its capture; the same after another analysis that finds the same
	ConnectionID uint64     `ch:"connection_id"`
	Rule         string     `ch:"rule"`
	Severity     string     `ch:"severity"`
	Verdict      int8       `ch:"verdict"` // a finding.Verdict
	Address      net.IP     `ch:"address"`
	QP           *uint32    `ch:"qp"`
	Path         *uint8     `ch:"path_id"`
	Time         *time.Time `ch:"time"`
	Packets      []uint64   `ch:"packets"`
	Expected     string     `ch:"expected"`
	Seen         string     `ch:"seen"`
	Sentence     string     `ch:"sentence"`
	Source       string     `ch:"source"`
	Next         string     `ch:"next"`
}

// divergenceID is made of what a divergence says, so that links to it outlive another analysis of the same file.
const divergenceID = "sipHash64(t.connection_id, t.rule, toString(t.verdict), t.packets, t.sentence)"

var divergenceColumns = strings.Replace(columnsOf(Divergence{}), "t.`id`", divergenceID, 1)

// DivergenceQuery asks for divergences; zero fields ask for all.
type DivergenceQuery struct {
	Rule       string // by its ID
	Verdict    string // diverges or undetermined
	Connection finding.ConnectionID
	Offset     int
	Limit      int
}

// DivergencePage is a part of the list of divergences.
type DivergencePage struct {
	Divergences []Divergence
	Total       uint64 // that match
}

// Divergences lists places where connections of a capture diverge, or may, the gravest first. A rule that there is not
// is ErrBadRequest.
func (s *Store) Divergences(ctx context.Context, capture uuid.UUID, query DivergenceQuery) (page DivergencePage, err error) {
	page.Divergences, page.Total, err = divergencesOf[Divergence](ctx, s, divergencesTable, divergenceColumns, "t.capture_id = {capture:UUID}", "t.connection_id",
		[]any{clickhouse.Named("capture", capture.String())}, query)
	return page, err
}

// divergencesOf lists rows of a table of divergences that meet a condition and are asked for: the gravest first, then by time,
// and then as told.
func divergencesOf[T any](ctx context.Context, s *Store, table, columns, condition, order string, arguments []any, query DivergenceQuery) (all []T, total uint64, err error) {
	conditions := []string{condition}
	if query.Rule != "" {
		if _, known := finding.Find(query.Rule); !known {
			return nil, 0, fmt.Errorf("%w: there is no rule %q", ErrBadRequest, query.Rule)
		}
		conditions = append(conditions, "t.rule = {rule:String}")
		arguments = append(arguments, clickhouse.Named("rule", query.Rule))
	}
	if query.Verdict != "" {
		conditions = append(conditions, "t.verdict = {verdict:String}")
		arguments = append(arguments, clickhouse.Named("verdict", query.Verdict))
	}
	if query.Connection != 0 {
		conditions = append(conditions, "t.connection_id = "+strconv.FormatUint(uint64(query.Connection), 10))
	}
	from := " FROM " + s.table(table) + " AS t WHERE " + strings.Join(conditions, " AND ")
	if err := s.conn.QueryRow(ctx, "SELECT count()"+from, arguments...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count divergences: %w", err)
	}
	all, err = rowsAs[T](ctx, s, "divergences", "SELECT "+columns+from+" ORDER BY t.verdict, t.severity DESC, t.rule, t.time, "+order+", t.packets LIMIT "+
		strconv.Itoa(query.Limit)+" OFFSET "+strconv.Itoa(query.Offset), arguments...)
	return all, total, err
}

// Divergence returns one divergence of a capture, or ErrNotFound.
func (s *Store) Divergence(ctx context.Context, capture uuid.UUID, id uint64) (Divergence, error) {
	found, err := rowsAs[Divergence](ctx, s, "divergences", "SELECT "+divergenceColumns+" FROM "+s.table(divergencesTable)+" AS t WHERE t.capture_id = {capture:UUID} AND "+divergenceID+" = "+
		strconv.FormatUint(id, 10)+" LIMIT 1", clickhouse.Named("capture", capture.String()))
	if err != nil {
		return Divergence{}, err
	}
	if len(found) == 0 {
		return Divergence{}, fmt.Errorf("divergence %d: %w", id, ErrNotFound)
	}
	return found[0], nil
}
