//go:build !linux

package headers

import (
	"fmt"

	"github.com/rocelens/rocelens/capture"
)

// Open answers capture.ErrUnsupported on systems other than Linux.
func Open(name string, _ Options) (capture.Source, error) {
	return nil, fmt.Errorf("capture headers on %q: %w", name, capture.ErrUnsupported)
}
