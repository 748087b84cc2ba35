package embedded

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	tailSize  = 8 << 10
	fileLimit = 1 << 20
)

// tail keeps the end of what the child writes to its standard error, and its beginning in a file of
// bounded size.
type tail struct {
	mutex   sync.Mutex
	last    []byte
	file    *os.File
	written int
}

// Write never fails: a full disk must not stop the child by way of its pipe.
func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.last = append(t.last, p...)
	if excess := len(t.last) - tailSize; excess > 0 {
		t.last = append(t.last[:0], t.last[excess:]...)
	}
	if t.written < fileLimit {
		n, err := t.file.Write(p)
		t.written += n
		if err != nil {
			t.written = fileLimit
		}
	}
	return len(p), nil
}

// reason is the line that the program ends with when it fails.
func (t *tail) reason() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	lines := strings.Split(string(bytes.TrimSpace(t.last)), "\n")
	for _, line := range slices.Backward(lines) {
		if sentence, found := strings.CutPrefix(line, "rocelens-clickhouse: "); found {
			return sentence
		}
	}
	return lines[len(lines)-1]
}
