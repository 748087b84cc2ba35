//go:build !linux

package compliance

import (
	"context"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// socket is [ErrUnsupported] here.
type socket struct{ local netip.AddrPort }

func open(context.Context, netip.AddrPort) (*socket, error) { return nil, ErrUnsupported }

func (*socket) send(netip.AddrPort, []byte, dissector.ECN) error { return ErrUnsupported }

func (*socket) receive(time.Time) (arrival, bool, error) { return arrival{}, false, ErrUnsupported }

func (*socket) close() error { return nil }
