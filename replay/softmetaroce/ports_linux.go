package softmetaroce

import (
	"errors"
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ports binds a socket for each path.
type ports struct {
	random   *rand.Rand
	sockets  map[netip.AddrPort]*socket
	released []*socket
	last     *socket // found last
	err      error   // why a socket could not be had
}

// Acquire binds a port that is drawn, so that a seed repeats it, or any when a number of draws were in use. While the
// address of a path that had a port is gone, as with its interface, the path gets a number without a socket: what it
// sends is lost, as on a dead plane, and its next PROBE tries again.
func (t *ports) Acquire(local netip.Addr, previous uint16) uint16 {
	const first, count, draws = 49152, 65536 - 49152, 32
	for i := range draws {
		port := uint16(0)
		if i < draws-1 {
			port = uint16(first + t.random.IntN(count))
		}
		s, err := openSender(netip.AddrPortFrom(local, port))
		switch {
		case errors.Is(err, unix.EADDRINUSE):
			continue
		case errors.Is(err, unix.EADDRNOTAVAIL) && previous != 0 && port != 0 && port != previous:
			return port
		}
		if err != nil {
			t.err = err
			return previous
		}
		t.sockets[s.local] = s
		return s.local.Port()
	}
	t.err = errors.New("no UDP port is free")
	return previous
}

// Release gives a port back once nothing waits to be sent from it.
func (t *ports) Release(local netip.Addr, port uint16) {
	name := netip.AddrPortFrom(local, port)
	if s := t.sockets[name]; s != nil {
		s.released = true
		delete(t.sockets, name)
		t.released = append(t.released, s)
		t.last = nil
	}
}

// find is the socket that is bound to the address and port, nil when a socket could not be had.
func (t *ports) find(name netip.AddrPort) *socket {
	if t.last == nil || t.last.local != name {
		t.last = t.sockets[name]
	}
	return t.last
}

// sweep closes released sockets from which nothing waits to be sent.
func (t *ports) sweep() {
	kept := t.released[:0]
	for _, s := range t.released {
		if s.queued > 0 {
			kept = append(kept, s)
		} else if err := unix.Close(s.fd); err != nil {
			t.err = err
		}
	}
	clear(t.released[len(kept):])
	t.released = kept
}

func (t *ports) close() (err error) {
	for _, s := range t.sockets {
		err = errors.Join(err, unix.Close(s.fd))
	}
	for _, s := range t.released {
		err = errors.Join(err, unix.Close(s.fd))
	}
	t.sockets, t.released = nil, nil
	return err
}
