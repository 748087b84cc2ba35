package pcapfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int64) (*mapping, error) {
	if size <= 0 || size > math.MaxInt {
		return nil, errors.ErrUnsupported
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	// Only advice: a kernel that refuses it reads as well.
	if err := unix.Madvise(data, unix.MADV_SEQUENTIAL); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(os.NewSyscallError("madvise", err), unix.Munmap(data))
	}
	return &mapping{f: f, data: data}, nil
}

// Close unmaps the file.
func (m *mapping) Close() error {
	if m.data == nil {
		return nil
	}
	data := m.data[:cap(m.data)]
	m.data = nil
	return os.NewSyscallError("munmap", unix.Munmap(data))
}
