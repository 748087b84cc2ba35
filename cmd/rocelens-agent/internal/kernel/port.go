package kernel

import (
	"golang.org/x/sys/unix"
)

// port asks about a network interface by its name, in the network namespace in which it was opened.
type port struct {
	name string
	fd   int
}

func openPort(name string) (*port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &port{name, fd}, nil
}

// state is the interface's index, 0 when there is none of the name, and whether it is up.
func (p *port) state() (index uint32, up bool) {
	request, err := unix.NewIfreq(p.name)
	if err != nil || unix.IoctlIfreq(p.fd, unix.SIOCGIFINDEX, request) != nil {
		return 0, false
	}
	index = request.Uint32()
	if unix.IoctlIfreq(p.fd, unix.SIOCGIFFLAGS, request) != nil {
		return 0, false
	}
	return index, request.Uint16()&unix.IFF_UP != 0
}

func (p *port) close() error { return unix.Close(p.fd) }
