package store

import (
	"context"
	"errors"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
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

// exceptionCode is the code of ClickHouse's answer, or false when the error is none of its answers.
func exceptionCode(err error) (int, bool) {
	var column *ch.Exception
	if errors.As(err, &column) {
		return int(column.Code), true
	}
	var row *clickhouse.Exception
	if errors.As(err, &row) {
		return int(row.Code), true
	}
	return 0, false
}

// canPass tells whether it makes sense to try again: the database is away, or answered that it is busy.
func canPass(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	code, answered := exceptionCode(err)
	return !answered || passing[code]
}

// queryError turns ClickHouse's answer into a QueryError and leaves all else alone.
func queryError(err error) error {
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) {
		return err
	}
	return &QueryError{Code: int(exception.Code), Name: errorName(exception.Message, exception.Name), Message: exception.Message}
}

// errorName is the upper-case name at the end of ClickHouse's text, in brackets before the version.
func errorName(message, otherwise string) string {
	for end := len(message); end > 0; {
		closing := strings.LastIndexByte(message[:end], ')')
		opening := strings.LastIndexByte(message[:max(closing, 0)], '(')
		if closing < 0 || opening < 0 {
			break
		}
		if word := message[opening+1 : closing]; word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" {
			return word
		}
		end = opening
	}
	return otherwise
}
