package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rocelens/rocelens/replay/softmetaroce"
)

type softmetaroceServeCommand struct {
	Listen []string  `default:"127.0.0.1:51791" placeholder:"ADDR" help:"Own address, once for each plane (${default}); another than a loopback address has to be named here."`
	Memory byteCount `default:"1GiB" placeholder:"SIZE" help:"Most memory that transfers get together (${default})."`

	endpointFlags `embed:""`
}

// Run serves until it is interrupted.
func (c *softmetaroceServeCommand) Run(ctx context.Context, std *streams) error {
	config, capture, err := c.config()
	if err != nil {
		return err
	}
	config.Memory = int(c.Memory)
	if config.Addresses, config.Port, err = parsePeers(c.Listen); err != nil {
		return errors.Join(err, closing(capture, c.PCAP))
	}
	var printing error
	server, err := softmetaroce.NewServer(config, func(r *softmetaroce.Report) {
		printing = errors.Join(printing, writeTransfer(std.Out, r, c.JSON))
	})
	if err != nil {
		return errors.Join(err, closing(capture, c.PCAP))
	}
	fmt.Fprintf(std.Err, "rocelens: serving MetaRoCE, profile mr0, at %s; Ctrl-C ends it\n", c.Listen[0])
	stop := showLive(std, server.Live())
	err = server.Serve(ctx)
	stop()
	return errors.Join(err, printing, closing(capture, c.PCAP))
}
