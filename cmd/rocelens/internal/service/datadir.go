package service

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// dataDir is a data directory that belongs to this process while it is open.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir makes the directory if need be, and locks it. Its errors say what to do.
func openDataDir(path string) (*dataDir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", path, err)
	}
	path = absolute
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, dataDirError(path, err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, dataDirError(path, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := holderOf(lock)
		err = errors.Join(err, lock.Close())
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s is used by another rocelens%s: stop it, or choose another directory with --data", path, holder)
		}
		return nil, dataDirError(path, err)
	}
	d := &dataDir{path: path, lock: lock}
	if err := d.sign(); err != nil {
		return nil, errors.Join(dataDirError(path, err), d.close())
	}
	return d, nil
}

// sign writes the process id, for the message that a second process prints.
func (d *dataDir) sign() error {
	if err := d.lock.Truncate(0); err != nil {
		return err
	}
	_, err := d.lock.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	return err
}

func holderOf(lock *os.File) string {
	data, err := io.ReadAll(io.NewSectionReader(lock, 0, 32))
	if pid := strings.TrimSpace(string(data)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// close gives the directory up. The lock file stays: removing it would race with the next process.
func (d *dataDir) close() error { return d.lock.Close() }

func dataDirError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("no room is left on the disk of the data directory %s: free some, or choose another directory with --data", path)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the data directory %s cannot be written: choose another with --data, or change its owner", path)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		return fmt.Errorf("%s is not a directory: choose another with --data", path)
	}
	return fmt.Errorf("data directory %s: %w", path, err)
}
