package attach

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
)

// Interface is a network interface that is looked after: programs stay attached to one that goes down, and say nothing.
type Interface struct {
	Name  string
	Index int
	fd    int // of a socket in the interface's network namespace
}

// Find finds an interface by its name. Errors: capture.ErrNoInterface, capture.ErrDown.
func Find(name string) (*Interface, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	i := &Interface{Name: name, fd: fd}
	if i.Index = i.index(); i.Index == 0 {
		return nil, errors.Join(capture.ErrNoInterface, i.Close())
	}
	if !i.Up() {
		return nil, errors.Join(capture.ErrDown, i.Close())
	}
	return i, nil
}

func (i *Interface) index() int {
	q, err := unix.NewIfreq(i.Name)
	if err != nil || unix.IoctlIfreq(i.fd, unix.SIOCGIFINDEX, q) != nil {
		return 0
	}
	return int(q.Uint32())
}

// Up tells whether the interface is up, and still the same.
func (i *Interface) Up() bool {
	q, err := unix.NewIfreq(i.Name)
	if err != nil || unix.IoctlIfreq(i.fd, unix.SIOCGIFFLAGS, q) != nil {
		return false
	}
	return q.Uint16()&unix.IFF_UP != 0 && i.index() == i.Index
}

// Close forgets the interface.
func (i *Interface) Close() error { return unix.Close(i.fd) }
