package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/rocelens/rocelens/replay/softmetaroce"
)

type softmetaroceSendCommand struct {
	To      []string  `required:"" placeholder:"HOST[:PORT]" help:"Address of the peer that serves, once for each plane."`
	From    []string  `placeholder:"ADDR" help:"Own address, once for each plane. Default: what the route to the peer says, and 127.0.0.2 for a peer at 127.0.0.1."`
	Size    byteCount `default:"1GiB" placeholder:"SIZE" help:"How much to move (${default})."`
	Op      string    `enum:"write,send,read" default:"write" help:"write, send or read (${default})."`
	Streams int       `default:"4" placeholder:"N" help:"Streams that carry data (${default})."`
	Message byteCount `default:"256KiB" placeholder:"SIZE" help:"Length of a message (${default})."`
	Depth   int       `default:"4" placeholder:"N" help:"Messages of a stream that are under way at once (${default})."`

	endpointFlags `embed:""`
}

// Run moves the data and prints a report.
func (c *softmetaroceSendCommand) Run(ctx context.Context, std *streams) error {
	to, port, err := parsePeers(c.To)
	if err != nil {
		return err
	}
	config, capture, err := c.config()
	if err != nil {
		return err
	}
	report, err := c.run(ctx, std, config, to, port)
	if report != nil {
		err = errors.Join(err, writeTransfer(std.Out, report, c.JSON))
	}
	err = errors.Join(err, closing(capture, c.PCAP))
	if errors.Is(err, context.Canceled) {
		return &exitError{exitInterrupted, errors.New("interrupted before the transfer was done")}
	}
	return err
}

func (c *softmetaroceSendCommand) run(
	ctx context.Context, std *streams, config softmetaroce.Config, to []netip.Addr, port uint16,
) (*softmetaroce.Report, error) {
	config.Port = port
	if err := c.route(&config, to, port); err != nil {
		return nil, err
	}
	client, err := softmetaroce.NewClient(config, softmetaroce.Transfer{
		Operation: c.Op, Size: uint64(c.Size), Message: int(min(c.Message, softmetaroce.MaxMessage+1)), Streams: c.Streams, Depth: c.Depth, Seed: config.Seed,
	}, to...)
	if err != nil {
		return nil, err
	}
	stop := showLive(std, client.Live())
	defer stop()
	return client.Run(ctx)
}

// route finds own addresses and the MTU where the user has named none.
func (c *softmetaroceSendCommand) route(config *softmetaroce.Config, to []netip.Addr, port uint16) error {
	for i, peer := range to {
		own, mtu, err := softmetaroce.RouteTo(netip.AddrPortFrom(peer, port))
		if err != nil {
			return err
		}
		if c.MTU == 0 {
			config.MTU = min(config.MTU, fittingMTU(mtu, peer.Is6()))
		}
		switch {
		case len(c.From) > 0:
			if own, err = netip.ParseAddr(c.From[min(i, len(c.From)-1)]); err != nil {
				return &exitError{exitUsage, fmt.Errorf("--from: %q is no address", c.From[min(i, len(c.From)-1)])}
			}
		case own == peer && peer.Is4() && peer.IsLoopback():
			own = peer.Next() // both ends receive on the same port, so they need two addresses
		case own == peer:
			return fmt.Errorf("the peer at %s is on this host, and both ends receive on port %d: name a second address of this host by --from", peer, port)
		}
		config.Addresses = append(config.Addresses, own.Unmap())
	}
	return nil
}

// closing closes the capture.
func closing(capture io.Closer, name string) error {
	if name == "" {
		return nil
	}
	if err := capture.Close(); err != nil {
		return fmt.Errorf("close the capture: %w", err)
	}
	return nil
}
