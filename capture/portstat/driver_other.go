//go:build !linux

package portstat

import "errors"

// driverCounters are there on Linux alone.
func driverCounters(string) ([]Value, error) { return nil, errors.ErrUnsupported }
