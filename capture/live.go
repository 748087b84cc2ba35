package capture

import "errors"

// Errors of live sources that callers tell apart. Each is a clause for the person at the command line.
var (
	ErrNoInterface = errors.New("there is no such network interface: ip link lists them")
	ErrDown        = errors.New("the network interface is down or has gone away")
	ErrUnsupported = errors.New("capturing from network interfaces needs Linux")
)
