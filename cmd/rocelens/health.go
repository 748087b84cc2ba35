package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// healthPatience is how long a service that is asked may take.
const healthPatience = 10 * time.Second

// healthCommand asks a running service, for those that watch it and have no other program: a container has none.
type healthCommand struct {
	Listen string `env:"ROCELENS_LISTEN" default:"127.0.0.1:8790" placeholder:"ADDR" help:"Address that the service listens on (${default})."`
}

// Run fails unless the service and its database answer.
func (c *healthCommand) Run(ctx context.Context, std *streams) (err error) {
	address, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: write it as HOST:PORT, for instance 127.0.0.1:8790", c.Listen)
	}
	if address.IP == nil || address.IP.IsUnspecified() {
		address.IP = net.IPv4(127, 0, 0, 1) // a bare container knows no localhost
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url(address)+"api/v1/healthz", http.NoBody)
	if err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no service answers at %s: %w", url(address), err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service at %s is not well: it answers %s", url(address), response.Status)
	}
	_, err = fmt.Fprintln(std.Out, "the service and its database answer")
	return err
}
