package softmetaroce

import (
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket sends the datagrams of a path.
type socket struct {
	fd       int
	local    netip.AddrPort
	pending  []outgoing // of the batch that is being filled
	queued   int        // datagrams that are pending or delayed
	released bool       // no path uses it any more: closed when nothing is queued
	broken   bool       // the impairment has cut its way
}

func family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// bind makes a UDP socket that never lets its datagrams be fragmented: a packet that does not fit is an error.
func bind(local netip.AddrPort) (int, error) {
	fd, err := unix.Socket(family(local.Addr()), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open UDP socket: %w", err)
	}
	level, option, value := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO
	if !local.Addr().Is4() {
		level, option, value = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO
	}
	err = unix.SetsockoptInt(fd, level, option, value)
	if err == nil {
		err = unix.Bind(fd, sockaddr(local))
	}
	if err != nil {
		return -1, errors.Join(fmt.Errorf("bind UDP socket to %s: %w", local, err), unix.Close(fd))
	}
	return fd, nil
}

// openSender binds a socket of a path. Port 0 lets the kernel choose.
func openSender(local netip.AddrPort) (*socket, error) {
	fd, err := bind(local)
	if err != nil {
		return nil, err
	}
	s := &socket{fd: fd, local: local}
	// What does not fit waits in sendmmsg, so a buffer of a few batches is enough; nothing is read from this socket.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask for the name of a UDP socket: %w", err), unix.Close(fd))
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		s.local = netip.AddrPortFrom(local.Addr(), uint16(name.Port))
	case *unix.SockaddrInet6:
		s.local = netip.AddrPortFrom(local.Addr(), uint16(name.Port))
	}
	return s, nil
}

// openReceiver binds the socket that receives on an address. It returns the receive buffer that the kernel gave, bytes,
// and whether the kernel joins datagrams.
func openReceiver(local netip.AddrPort, buffer int, offload bool) (fd, granted int, joined bool, err error) {
	if fd, err = bind(local); err != nil {
		return -1, 0, false, err
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer)
	}
	granted, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err == nil {
		if local.Addr().Is4() {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
		} else {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
		}
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	}
	if err != nil {
		return -1, 0, false, errors.Join(fmt.Errorf("set up UDP socket of %s: %w", local, err), unix.Close(fd))
	}
	joined = offload && unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
	return fd, granted / 2, joined, nil // the kernel counts double, for its own needs
}

// RouteTo is the own address that the kernel would send to the peer from, and the MTU of the way there as far as it is
// known, in bytes with IP headers.
func RouteTo(peer netip.AddrPort) (own netip.Addr, mtu int, err error) {
	fd, err := unix.Socket(family(peer.Addr()), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("open UDP socket: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was sent
	if err := unix.Connect(fd, sockaddr(peer)); err != nil {
		return netip.Addr{}, 0, fmt.Errorf("no way to %s: %w", peer, err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("ask for the name of a UDP socket: %w", err)
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		own = netip.AddrFrom4(name.Addr)
	case *unix.SockaddrInet6:
		own = netip.AddrFrom16(name.Addr)
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	if mtu, err = unix.GetsockoptInt(fd, level, option); err != nil {
		return netip.Addr{}, 0, fmt.Errorf("ask for the MTU of the way to %s: %w", peer, err)
	}
	return own, mtu, nil
}

// rawAddress writes an address as the kernel reads it and returns its length.
func rawAddress(to *unix.RawSockaddrInet6, a netip.AddrPort) uint32 {
	port := a.Port()<<8 | a.Port()>>8
	if nativeBig {
		port = a.Port()
	}
	if a.Addr().Is4() {
		*(*unix.RawSockaddrInet4)(unsafe.Pointer(to)) = unix.RawSockaddrInet4{ //nolint:gosec // the larger of both has room for the smaller
			Family: unix.AF_INET, Port: port, Addr: a.Addr().As4(),
		}
		return unix.SizeofSockaddrInet4
	}
	*to = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port, Addr: a.Addr().As16()}
	return unix.SizeofSockaddrInet6
}

// address reads an address that the kernel wrote.
func address(from *unix.RawSockaddrInet6) netip.AddrPort {
	port := from.Port
	if !nativeBig {
		port = port<<8 | port>>8
	}
	if from.Family == unix.AF_INET {
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(from)) //nolint:gosec // the kernel wrote the smaller into the larger
		return netip.AddrPortFrom(netip.AddrFrom4(four.Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(from.Addr), port)
}

// nativeBig tells whether the machine is big-endian: sockets' ports are.
var nativeBig = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 0 //nolint:gosec // the first byte of two
}()
