package embedded

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrNoSpace says that the data directory's disk is too full to start.
var ErrNoSpace = errors.New("not enough room on the disk")

// Free is how many bytes an ordinary user can still write on the disk of a path.
func Free(path string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, fmt.Errorf("ask for the room on the disk of %s: %w", path, err)
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

func checkSpace(path string, minimum uint64) error {
	free, err := Free(path)
	if err != nil {
		return err
	}
	if free < minimum {
		return fmt.Errorf("%w: %s has %s free and the database needs %s: make room, or choose another data directory",
			ErrNoSpace, path, size(free), size(minimum))
	}
	return nil
}

// size writes a number of bytes for people.
func size(n uint64) string {
	const mebibyte, gibibyte = 1 << 20, 1 << 30
	if n < gibibyte {
		return fmt.Sprintf("%d MiB", n/mebibyte)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gibibyte)
}
