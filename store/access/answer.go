package access

import (
	"errors"
	"strings"

	"github.com/ClickHouse/ch-go"
)

// Codes of ClickHouse's errors that mean that the tables are not there, or not as this release knows them.
const (
	CodeNoColumn   = 16
	CodeNoTable    = 60
	CodeNoDatabase = 81
	CodeNoRight    = 497
)

// Answer is ClickHouse's own answer in an error of ch-go: its code, and the first line of what it says. Without an answer, because
// nothing was reached or something else answered, ok is false.
func Answer(err error) (code int, words string, ok bool) {
	exception, ok := errors.AsType[*ch.Exception](err)
	if !ok {
		return 0, "", false
	}
	return int(exception.Code), FirstLine(exception.Message), true
}

// FirstLine is that of what ClickHouse says, without the full stop.
func FirstLine(message string) string {
	words, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSuffix(words, ".")
}
