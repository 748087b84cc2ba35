package attach

import (
	"errors"
	"fmt"
	"unsafe"

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

// MTU is the most that a frame carries behind its Ethernet header, bytes; 0 where that is not told.
func (i *Interface) MTU() int {
	q, err := unix.NewIfreq(i.Name)
	if err != nil || unix.IoctlIfreq(i.fd, unix.SIOCGIFMTU, q) != nil {
		return 0
	}
	return int(q.Uint32())
}

// channels is struct ethtool_channels.
type channels struct {
	command                                 uint32
	mostRx, mostTx, mostOther, mostCombined uint32
	rx, tx, other, combined                 uint32
}

// ethtool is struct ifreq with a pointer to what is asked.
type ethtool struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte // the union is longer than a pointer
}

// Queues is how many queues frames come by; 1 where the driver does not tell.
func (i *Interface) Queues() int {
	c := channels{command: unix.ETHTOOL_GCHANNELS}
	q := ethtool{data: unsafe.Pointer(&c)} //nolint:gosec // how this ioctl is asked
	copy(q.name[:unix.IFNAMSIZ-1], i.Name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(i.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&q))) //nolint:gosec // an ioctl that package unix has no function for
	if errno != 0 {
		return 1
	}
	return max(1, int(c.rx+c.combined))
}

// Close forgets the interface.
func (i *Interface) Close() error { return unix.Close(i.fd) }
