package wire

import (
	"errors"
	"fmt"
)

// MaxTokens is how many tokens an insert may use up.
const MaxTokens = 3

// ErrRunning says that an earlier insert of the same rows has not ended yet.
var ErrRunning = errors.New("an earlier insert of the same rows is still running")

// PartialError says that some rows of a batch are stored, which one insert of one block cannot do.
type PartialError struct {
	Table  string
	Stored uint64
	Rows   int
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%d of %d rows of a batch are in %s", e.Stored, e.Rows, e.Table)
}
