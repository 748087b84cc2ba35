package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/store/access"
)

// What callers tell apart.
var (
	ErrNotFound   = errors.New("not found")
	ErrClosed     = errors.New("the store is closed")
	ErrAborted    = errors.New("the analysis was given up")
	ErrOldServer  = errors.New("this ClickHouse is too old")
	ErrBadRequest = errors.New("bad request") // a filter, cursor or sort order that makes no sense
)

// QueryError is the database's refusal of a statement, in its own words.
type QueryError struct {
	Code    int    // ClickHouse's error code
	Name    string // of the code, for instance ACCESS_DENIED
	Message string
	NoFiles bool // it wanted a file, which the embedded database refuses by an error that does not say so
}

func (e *QueryError) Error() string { return e.Message }

// DisabledError says why no SQL is taken from users.
type DisabledError struct{ Reason string }

func (e *DisabledError) Error() string { return e.Reason }

// Codes of ClickHouse's errors that pass by themselves.
var passing = map[int]bool{
	159: true, // TIMEOUT_EXCEEDED
	202: true, // TOO_MANY_SIMULTANEOUS_QUERIES
	209: true, // SOCKET_TIMEOUT
	210: true, // NETWORK_ERROR
	225: true, // NO_ZOOKEEPER
	236: true, // ABORTED
	241: true, // MEMORY_LIMIT_EXCEEDED
	242: true, // TABLE_IS_READ_ONLY
	252: true, // TOO_MANY_PARTS
	279: true, // ALL_CONNECTION_TRIES_FAILED
	285: true, // TOO_FEW_LIVE_REPLICAS
	319: true, // UNKNOWN_STATUS_OF_INSERT
	394: true, // QUERY_WAS_CANCELLED
	999: true, // KEEPER_EXCEPTION
}

// Refusal is ClickHouse's own answer in an error of either client: its code, and the first line of what it says. Without an answer,
// because nothing was reached or something else answered, ok is false.
func Refusal(err error) (code int, words string, ok bool) {
	if exception, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return int(exception.Code), access.FirstLine(exception.Message), true
	}
	return access.Answer(err)
}

// canPass tells whether it makes sense to try again: the database is away, or answered that it is busy.
func canPass(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	code, _, answered := Refusal(err)
	return !answered || passing[code]
}

// codeStandardException is the code of errors of the C++ library. One of them is how the embedded database, which has no
// working directory, refuses to read files.
const codeStandardException = 1001

// queryError turns ClickHouse's answer into a QueryError and leaves all else alone.
func (s *Store) queryError(err error) error {
	exception, ok := errors.AsType[*clickhouse.Exception](err)
	if !ok {
		return err
	}
	return s.refused(int(exception.Code), exception.Message)
}

// refused is the database's answer, with a sentence before it where its own words do not say what was refused.
func (s *Store) refused(code int, message string) *QueryError {
	noFiles := code == codeStandardException && strings.Contains(message, "getcwd")
	if noFiles {
		message = "The embedded database gives SQL no files: file() and formats that read templates are refused. ClickHouse says: " + message
	}
	return &QueryError{Code: code, Name: s.errorNames[code], Message: message, NoFiles: noFiles}
}

// readErrorNames asks the server for the names of its error codes, which the native protocol does not send.
func (s *Store) readErrorNames(ctx context.Context) (err error) {
	rows, err := s.conn.Query(ctx, "SELECT toInt64(number), errorCodeToName(number) AS name FROM numbers(2000) WHERE name != ''")
	if err != nil {
		return fmt.Errorf("ask for the names of errors: %w", err)
	}
	defer closing(&err, rows)
	s.errorNames = map[int]string{}
	for rows.Next() {
		var code int64
		var name string
		if err := rows.Scan(&code, &name); err != nil {
			return fmt.Errorf("ask for the names of errors: %w", err)
		}
		s.errorNames[int(code)] = name
	}
	return rows.Err()
}

// closing closes c at the end of a function and keeps an error of that with the function's own.
func closing(err *error, c io.Closer) {
	if closed := c.Close(); closed != nil {
		*err = errors.Join(*err, closed)
	}
}
