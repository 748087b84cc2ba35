package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	fatalWindow = 256 << 10 // bytes at the end of the log that are looked at
	fatalLines  = 24        // of the engine's account of its end
)

func (l layout) errorLog() string { return filepath.Join(l.logs(), "clickhouse.err.log") }

// errorLogSize is where the account of a process begins that is about to start.
func (l layout) errorLogSize() int64 {
	info, err := os.Stat(l.errorLog())
	if err != nil {
		return 0
	}
	return info.Size()
}

// fatalSince is how the engine accounts for its end in its log of errors from that size on: signal, query and stack, a
// line each, or why the log cannot be read. It is empty when the engine left nothing.
func (l layout) fatalSince(size int64) string {
	file, err := os.Open(l.errorLog())
	if err != nil {
		return err.Error()
	}
	info, err := file.Stat()
	var log []byte
	if err == nil {
		if size > info.Size() {
			size = 0 // the engine began another log
		}
		log, err = io.ReadAll(io.NewSectionReader(file, max(size, info.Size()-fatalWindow), fatalWindow))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Sprintf("read the engine's log: %v", err)
	}
	return accountOf(string(log))
}

// accountOf picks the messages of the last death out of a log, whose lines are "time [ thread ] {query} <level> source: text".
func accountOf(log string) string {
	const begin = "Short fault info"
	var account []string
	for line := range strings.Lines(log) {
		_, text, fatal := strings.Cut(line, "<Fatal> ")
		if !fatal {
			continue
		}
		if strings.Contains(text, begin) {
			account = account[:0]
		}
		if _, message, ok := strings.Cut(text, ": "); ok {
			text = message
		}
		// The short account holds addresses only; names follow it.
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "#####") && !strings.HasPrefix(text, "Stack trace: 0x") && len(account) < fatalLines {
			account = append(account, text)
		}
	}
	return strings.Join(account, "\n")
}
