package afpacket

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// status is the word by which the kernel and we hand the block at hand to each other.
func (s *Source) status() *uint32 {
	return (*uint32)(unsafe.Pointer(&s.ring[s.block*blockSize+blockStatus])) //nolint:gosec // shared with the kernel: it has to be read atomically
}

// release gives everything back to the kernel.
func (s *Source) release() error {
	var errs []error
	if s.ring != nil {
		errs = append(errs, unix.Munmap(s.ring))
		s.ring = nil
	}
	if s.wake >= 0 {
		errs = append(errs, unix.Close(s.wake))
		s.wake = -1
	}
	if s.fd >= 0 {
		s.unstamp()
		errs = append(errs, unix.Close(s.fd))
		s.fd = -1
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close capture on %q: %w", s.name, err)
	}
	return nil
}
