package compliance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/dissector"
)

// socket is a UDP socket that sets and reads ECN in the IP header.
type socket struct {
	conn    *net.UDPConn
	raw     syscall.RawConn
	local   netip.AddrPort
	control []byte
	data    []byte
	told    []byte // by the kernel, of what was read
}

// open binds a socket. Port 0 lets the kernel choose.
func open(ctx context.Context, local netip.AddrPort) (*socket, error) {
	network := "udp4"
	if local.Addr().Is6() {
		network = "udp6"
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = prepare(int(fd), local.Addr().Is6()) })
		return errors.Join(err, failed)
	}}
	c, err := config.ListenPacket(ctx, network, local.String())
	if err != nil {
		return nil, fmt.Errorf("bind UDP socket to %s: %w", local, err)
	}
	conn, ok := c.(*net.UDPConn)
	if !ok {
		return nil, errors.Join(ErrUnsupported, c.Close())
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bind UDP socket to %s: %w", local, err), conn.Close())
	}
	s := &socket{conn: conn, raw: raw, control: make([]byte, unix.CmsgSpace(4)), data: make([]byte, 1<<16), told: make([]byte, 256)}
	if name, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		s.local = netip.AddrPortFrom(local.Addr(), uint16(name.Port))
	}
	return s, nil
}

// prepare lets a socket tell the ECN of what comes in, and hold what comes in a burst.
func prepare(fd int, v6 bool) error {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)  // less is less room, no fault
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) // else times are those of reading
	if v6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
}

// send sends a datagram with that ECN.
func (s *socket) send(to netip.AddrPort, payload []byte, ecn dissector.ECN) error {
	level, kind := int32(unix.IPPROTO_IP), int32(unix.IP_TOS)
	if to.Addr().Is6() {
		level, kind = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
	}
	clear(s.control)
	b := s.control
	length := unix.CmsgLen(4)
	if unix.SizeofCmsghdr == 16 {
		binary.NativeEndian.PutUint64(b, uint64(length))
	} else {
		binary.NativeEndian.PutUint32(b, uint32(length))
	}
	binary.NativeEndian.PutUint32(b[unix.SizeofCmsghdr-8:], uint32(level))
	binary.NativeEndian.PutUint32(b[unix.SizeofCmsghdr-4:], uint32(kind))
	binary.NativeEndian.PutUint32(b[unix.CmsgLen(0):], uint32(ecn))
	if _, _, err := s.conn.WriteMsgUDPAddrPort(payload, b, to); err != nil {
		return fmt.Errorf("send to %s: %w", to, err)
	}
	return nil
}

// receive waits for a datagram until the deadline; ok is false when none came. What has come by then is taken, however
// late it is asked for.
func (s *socket) receive(deadline time.Time) (in arrival, ok bool, err error) {
	var r reading
	if err := s.conn.SetReadDeadline(deadline); err != nil {
		return in, false, fmt.Errorf("receive: %w", err)
	}
	err = s.raw.Read(func(fd uintptr) bool {
		r = s.read(fd)
		return !errors.Is(r.err, unix.EAGAIN)
	})
	if errors.Is(err, os.ErrDeadlineExceeded) { // so it is when the deadline had passed before, and nothing was read
		err = s.raw.Control(func(fd uintptr) { r = s.read(fd) })
	}
	switch err = errors.Join(err, r.err); {
	case errors.Is(err, unix.EAGAIN):
		return in, false, nil
	case err != nil:
		return in, false, fmt.Errorf("receive: %w", err)
	}
	in, err = s.arrived(&r)
	return in, err == nil, err
}

// reading is what recvmsg returns.
type reading struct {
	n, used int
	source  unix.Sockaddr
	err     error
}

// read reads without waiting.
func (s *socket) read(fd uintptr) (r reading) {
	for {
		r.n, r.used, _, r.source, r.err = unix.Recvmsg(int(fd), s.data, s.told, unix.MSG_DONTWAIT)
		if !errors.Is(r.err, unix.EINTR) {
			return r
		}
	}
}

// arrived is what was read, and what the kernel tells of it.
func (s *socket) arrived(r *reading) (in arrival, err error) {
	in.data = append([]byte(nil), s.data[:r.n]...)
	switch a := r.source.(type) {
	case *unix.SockaddrInet4:
		in.source = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		in.source = netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	messages, err := unix.ParseSocketControlMessage(s.told[:r.used])
	if err != nil {
		return in, fmt.Errorf("receive: %w", err)
	}
	for i := range messages {
		in.note(&messages[i])
	}
	return in, nil
}

// note takes what the kernel tells of a datagram.
func (a *arrival) note(m *unix.SocketControlMessage) {
	tos := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_TOS
	class := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_TCLASS
	switch {
	case (tos || class) && len(m.Data) >= 4:
		a.ecn = dissector.ECN(binary.NativeEndian.Uint32(m.Data) & 3)
	case (tos || class) && len(m.Data) > 0:
		a.ecn = dissector.ECN(m.Data[0] & 3)
	case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) == 16:
		a.at = time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
	}
}

func (s *socket) close() error { return s.conn.Close() }
