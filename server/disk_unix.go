//go:build unix

package server

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes is how much a user may still write below a directory.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("free space of %q: %w", dir, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:unconvert // sizes of disks fit; the types differ by system
}
