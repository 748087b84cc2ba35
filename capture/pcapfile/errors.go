package pcapfile

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart. Each is a sentence for the person who brought the file.
var (
	ErrEmpty       = errors.New("the file is empty: check that the capture ran and that the copy finished")
	ErrNotCapture  = errors.New("not a capture that can be read")
	ErrShortHeader = errors.New("the file ends inside its header, so nothing can be read: copy or capture it again")
	// ErrDamaged marks compressed data that could be unpacked only in part.
	ErrDamaged = errors.New("compressed data is damaged")
	// ErrReference marks a frame reference that does not fit the file.
	ErrReference = errors.New("no such frame in the file")
)

// NotCaptureError says what a refused file is, as far as its first bytes tell. It is an ErrNotCapture.
type NotCaptureError struct {
	LooksLike string // "an ERF trace"; "" when nothing is known
	Advice    string // what to do, a clause
}

// Error is one sentence.
func (e *NotCaptureError) Error() string {
	if e.LooksLike == "" {
		return ErrNotCapture.Error() + ": " + e.Advice
	}
	return fmt.Sprintf("%s: it looks like %s; %s", ErrNotCapture.Error(), e.LooksLike, e.Advice)
}

// Unwrap lets errors.Is find ErrNotCapture.
func (e *NotCaptureError) Unwrap() error { return ErrNotCapture }

// damageError is why compressed data could not be read to its end.
type damageError struct{ text string }

func (d *damageError) Error() string { return d.text }
func (d *damageError) Unwrap() error { return ErrDamaged }

// byteCount and haveBytes are "1 byte" or "n bytes", and what goes on with a verb.
func byteCount(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func haveBytes(n int) string {
	if n == 1 {
		return "1 byte is"
	}
	return byteCount(n) + " are"
}
