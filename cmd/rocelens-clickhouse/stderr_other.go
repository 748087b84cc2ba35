//go:build !linux

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// divertStderr puts a pipe in the place of file descriptor 2, for the engine to write to, and returns its
// reading end and the standard error that was.
func divertStderr() (reader, original *os.File, err error) {
	kept, err := unix.Dup(2)
	if err != nil {
		return nil, nil, fmt.Errorf("keep standard error: %w", err)
	}
	original = os.NewFile(uintptr(kept), "stderr")
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err := replace(int(writer.Fd()), 2); err != nil {
		return nil, nil, fmt.Errorf("divert standard error: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, nil, fmt.Errorf("divert standard error: %w", err)
	}
	return reader, original, nil
}

// restoreStderr ends the pipe and puts the original back.
func restoreStderr(original *os.File) error {
	return replace(int(original.Fd()), 2)
}

// replace makes the file descriptor to another one for what from is.
func replace(from, to int) error { return unix.Dup2(from, to) }
