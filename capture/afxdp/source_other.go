//go:build !linux

package afxdp

import (
	"fmt"

	"github.com/rocelens/rocelens/capture"
)

// Open answers capture.ErrUnsupported on systems other than Linux.
func Open(name string, _ Options) (capture.Source, error) {
	return nil, fmt.Errorf("capture by AF_XDP on %q: %w", name, capture.ErrUnsupported)
}
