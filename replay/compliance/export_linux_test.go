package compliance

import (
	"context"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// Socket is a UDP socket with ECN for the proxy that breaks what is served.
type Socket struct{ s *socket }

// OpenSocket binds one.
func OpenSocket(ctx context.Context, local netip.AddrPort) (*Socket, error) {
	s, err := open(ctx, local)
	return &Socket{s}, err
}

// Send sends a datagram.
func (s *Socket) Send(to netip.AddrPort, payload []byte, ecn dissector.ECN) error {
	return s.s.send(to, payload, ecn)
}

// Receive waits for one until the deadline.
func (s *Socket) Receive(deadline time.Time) ([]byte, netip.AddrPort, dissector.ECN, bool, error) {
	in, ok, err := s.s.receive(deadline)
	return in.data, in.source, in.ecn, ok, err
}

// Close closes it.
func (s *Socket) Close() error { return s.s.close() }
