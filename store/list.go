package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
)

// ListQuery asks for rows of a table whose rows belong to flows.
type ListQuery struct {
	Flow           flow.ID // 0: of all flows
	BothDirections bool    // with Flow: of the connection
	Sort           string  // a key of the list's sorts; empty: its first column
	Descending     bool
	Filter         string // words that must all match
	Offset         int
	Limit          int
}

// list is a table that can be listed by [ListQuery].
type list struct {
	table   string
	columns string
	key     string            // of a row within its flow
	sorts   map[string]string // to expressions of t; unknown values stand last
	words   map[string]string // of a filter, to conditions
	counted map[string]string // words that a number follows, as in plane1, to conditions with %d
	noun    string            // "paths"
}

// rowsOf reads a page of a list, and counts the rows that match. A sort order or a word that makes no sense is
// ErrBadRequest.
func rowsOf[T any](ctx context.Context, s *Store, l *list, capture uuid.UUID, query ListQuery) (rows []T, total uint64, err error) {
	sort, known := l.sorts[query.Sort]
	if query.Sort == "" {
		sort, known = l.key, true
	}
	if !known {
		return nil, 0, fmt.Errorf("%w: %s cannot be sorted by %q", ErrBadRequest, l.noun, query.Sort)
	}
	conditions := []string{"t.capture_id = {capture:UUID}"}
	filter, arguments, err := l.filter(query.Filter)
	if err != nil {
		return nil, 0, err
	}
	arguments = append(arguments, clickhouse.Named("capture", capture.String()))
	if query.Flow != 0 {
		flows, err := s.flowCondition(ctx, capture, query.Flow, query.BothDirections)
		if err != nil {
			return nil, 0, err
		}
		conditions = append(conditions, flows)
	}
	condition := strings.Join(append(conditions, filter...), " AND ")
	from := " FROM " + s.table(l.table) + " AS t WHERE " + condition
	if err := s.conn.QueryRow(ctx, "SELECT count()"+from, arguments...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count %s: %w", l.noun, err)
	}
	direction := " ASC"
	if query.Descending {
		direction = " DESC"
	}
	statement := "SELECT " + l.columns + from + " ORDER BY t." + sort + direction + " NULLS LAST, t.connection_id, t.flow_id, t." + l.key +
		", t.first_number LIMIT " + strconv.Itoa(query.Limit) + " OFFSET " + strconv.Itoa(query.Offset)
	found, err := s.conn.Query(ctx, statement, arguments...)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", l.noun, err)
	}
	defer closing(&err, found)
	for found.Next() {
		var row T
		if err := found.ScanStruct(&row); err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", l.noun, err)
		}
		rows = append(rows, row)
	}
	return rows, total, found.Err()
}

// flowCondition chooses the rows of a flow, or of its connection.
func (s *Store) flowCondition(ctx context.Context, capture uuid.UUID, id flow.ID, bothDirections bool) (string, error) {
	ids := []string{strconv.FormatUint(uint64(id), 10)}
	if bothDirections {
		one, err := s.Flow(ctx, capture, id)
		if err != nil {
			return "", err
		}
		if one.ReverseID != 0 {
			ids = append(ids, strconv.FormatUint(uint64(one.ReverseID), 10))
		}
	}
	return "t.flow_id IN (" + strings.Join(ids, ", ") + ")", nil
}

// filter turns the words of a filter into conditions. A word is one of the list's, a number, which is the row's key, or
// what a filter of flows takes for an address.
func (l *list) filter(text string) (conditions []string, arguments []any, err error) {
	for i, word := range strings.Fields(strings.ToLower(text)) {
		name := "w" + strconv.Itoa(i)
		condition, known := l.words[word]
		if !known {
			condition, known = l.numbered(word)
		}
		if !known {
			var value string
			if condition, value, err = addressPart(word, name); err != nil {
				return nil, nil, fmt.Errorf("%w: %q is no address, no number of one of the %s, and no finding", ErrBadRequest, word, l.noun)
			}
			arguments = append(arguments, clickhouse.Named(name, value))
		}
		conditions = append(conditions, "("+condition+")")
	}
	return conditions, arguments, nil
}

// numbered is the condition of a word that is, or ends in, a number.
func (l *list) numbered(word string) (condition string, known bool) {
	name := strings.TrimRight(word, "0123456789")
	number, err := strconv.ParseUint(word[len(name):], 10, 16)
	format, known := l.counted[name]
	if err != nil || !known {
		return "", false
	}
	return fmt.Sprintf(format, number), true
}
