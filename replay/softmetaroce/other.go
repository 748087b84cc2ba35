//go:build !linux

package softmetaroce

import (
	"context"
	"net/netip"
)

// Server serves transfers to any number of peers, on Linux.
type Server struct{ live Live }

// NewServer is [ErrUnsupported] here.
func NewServer(Config, func(*Report)) (*Server, error) { return nil, ErrUnsupported }

// Live is how far the transfers are.
func (s *Server) Live() *Live { return &s.live }

// Serve is [ErrUnsupported] here.
func (s *Server) Serve(context.Context) error { return ErrUnsupported }

// Client is the end that asks for a transfer, on Linux.
type Client struct{ live Live }

// NewClient is [ErrUnsupported] here.
func NewClient(Config, Transfer, ...netip.Addr) (*Client, error) { return nil, ErrUnsupported }

// Live is how far the transfer is.
func (c *Client) Live() *Live { return &c.live }

// Run is [ErrUnsupported] here.
func (c *Client) Run(context.Context) (*Report, error) { return nil, ErrUnsupported }

// RouteTo is [ErrUnsupported] here.
func RouteTo(netip.AddrPort) (own netip.Addr, mtu int, err error) {
	return netip.Addr{}, 0, ErrUnsupported
}
