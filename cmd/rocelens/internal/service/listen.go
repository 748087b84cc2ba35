package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// listen opens the address. Its errors say what to do.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err == nil {
		return listener, nil
	}
	var unknown *net.AddrError
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another port with --listen", address)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("this user may not listen on %s: choose a port above 1023 with --listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &dns):
		return nil, fmt.Errorf("%s is not an address of this machine: choose another with --listen", address)
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("--listen %s: write it as HOST:PORT, for instance 127.0.0.1:8790", address)
	}
	return nil, fmt.Errorf("listen on %s: %w", address, err)
}
