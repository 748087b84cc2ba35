//go:build !linux

package afpacket

import (
	"fmt"

	"github.com/rocelens/rocelens/capture"
)

// Open answers ErrUnsupported on systems other than Linux.
func Open(name string, _ Options) (capture.Source, error) {
	return nil, fmt.Errorf("capture on %q: %w", name, ErrUnsupported)
}
