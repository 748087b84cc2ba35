package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// machines are the ELF machine types of the architectures that the library exists for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkLibrary answers the two mistakes that the loader explains badly: no such file, and a library of
// another architecture.
func checkLibrary(path string) error {
	file, err := elf.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the ClickHouse library is not at %s: install it with \"make library\", or use a server of your own with --clickhouse ADDR", path)
	}
	if err != nil {
		return fmt.Errorf("%s is not a shared library (%w): install it anew with \"make library\", or name another with --library", path, err)
	}
	machine := file.Machine
	if err := file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", path, err)
	}
	if machine != machines[runtime.GOARCH] {
		return fmt.Errorf("%s is built for %s and this machine is %s: install the library of this architecture", path, machine, runtime.GOARCH)
	}
	return nil
}

// checkDirectory makes the data directory and writes to it once.
func checkDirectory(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("the data directory cannot be made: %w", err)
	}
	probe, err := os.CreateTemp(path, ".writable-*")
	if err != nil {
		return directoryError(path, err)
	}
	_, err = probe.WriteString("x")
	err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	return directoryError(path, err)
}

func directoryError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("there is no room left on the disk of %s", path)
	default:
		return fmt.Errorf("the data directory %s is not writable: %w", filepath.Clean(path), err)
	}
}

// explain turns what the engine says on its way down into one sentence, where the cause is known.
func explain(message, data string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	switch {
	case strings.Contains(message, "Address already in use"):
		return fmt.Errorf("a port of the database is in use by another program: %s", first)
	case strings.Contains(message, "No space left on device"), strings.Contains(message, "NOT_ENOUGH_SPACE"):
		return fmt.Errorf("there is no room left on the disk of %s", data)
	default:
		return errors.New(first)
	}
}
