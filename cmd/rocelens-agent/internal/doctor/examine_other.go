//go:build !linux

package doctor

import (
	"context"
	"time"

	"github.com/rocelens/rocelens/capture/afpacket"
)

// Options say what to examine.
type Options struct {
	Interface     string
	Send          bool
	Wait          time.Duration
	Sysfs, Status string
}

// Examine answers afpacket.ErrUnsupported on systems other than Linux.
func Examine(context.Context, Options) (*Report, error) { return nil, afpacket.ErrUnsupported }
