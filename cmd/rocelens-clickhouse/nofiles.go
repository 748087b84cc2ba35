package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// noFiles is the engine's working directory. As "clickhouse local" the engine takes it for that of its users' files, lets the
// scalar function file() and the template formats read whatever path they are given, and asks for no grant. But it resolves
// that directory whenever it is given a path, before it opens anything; once the directory is gone, each such attempt is an
// error. The engine can neither start nor end without one, so it is there at both times.
type noFiles string

// enterNoFiles makes the directory in data and makes it the working directory, which the engine needs when it starts.
func enterNoFiles(data string) (noFiles, error) {
	path := filepath.Join(data, "no-files")
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the working directory: %w", err)
	}
	if err := os.Chdir(path); err != nil {
		return "", fmt.Errorf("enter the working directory: %w", err)
	}
	return noFiles(path), nil
}

// remove takes the directory away. Nobody may be let in before.
func (n noFiles) remove() error {
	if err := os.Remove(string(n)); err != nil {
		return fmt.Errorf("remove the working directory, so that SQL cannot read files: %w", err)
	}
	return nil
}

// lendStdin gives the engine another standard input, which ends after this process's own, and not before there is a working
// directory again.
func lendStdin(directory string) error {
	own, err := unix.Dup(0)
	if err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	if err := errors.Join(replace(int(reader.Fd()), 0), reader.Close()); err != nil {
		return fmt.Errorf("replace standard input: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(own), "stdin"))
		if err := errors.Join(os.Chdir(directory), writer.Close()); err != nil {
			fmt.Fprintf(os.Stderr, "rocelens-clickhouse: end the engine: %v\n", err)
			os.Exit(1)
		}
	}()
	return nil
}
