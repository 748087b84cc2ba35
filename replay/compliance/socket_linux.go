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
	local   netip.AddrPort
	control []byte
	data    []byte
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
	s := &socket{conn: conn, control: make([]byte, unix.CmsgSpace(4)), data: make([]byte, 1<<16)}
	if name, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		s.local = netip.AddrPortFrom(local.Addr(), uint16(name.Port))
	}
	return s, nil
}

// prepare lets a socket tell the ECN of what comes in, and hold what comes in a burst.
func prepare(fd int, v6 bool) error {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20) // less is less room, no fault
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

// receive waits for a datagram until the deadline; ok is false when none came. The payload is the caller's.
func (s *socket) receive(deadline time.Time) (payload []byte, source netip.AddrPort, ecn dissector.ECN, ok bool, err error) {
	if err := s.conn.SetReadDeadline(deadline); err != nil {
		return nil, source, 0, false, fmt.Errorf("receive: %w", err)
	}
	var control [128]byte
	n, used, _, source, err := s.conn.ReadMsgUDPAddrPort(s.data, control[:])
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, source, 0, false, nil
		}
		return nil, source, 0, false, fmt.Errorf("receive: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:used])
	if err != nil {
		return nil, source, 0, false, fmt.Errorf("receive: %w", err)
	}
	for _, m := range messages {
		tos := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_TOS
		class := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_TCLASS
		switch {
		case (tos || class) && len(m.Data) >= 4:
			ecn = dissector.ECN(binary.NativeEndian.Uint32(m.Data) & 3)
		case (tos || class) && len(m.Data) > 0:
			ecn = dissector.ECN(m.Data[0] & 3)
		}
	}
	return append([]byte(nil), s.data[:n]...), netip.AddrPortFrom(source.Addr().Unmap(), source.Port()), ecn, true, nil
}

func (s *socket) close() error { return s.conn.Close() }
