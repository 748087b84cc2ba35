//go:build !linux

package pcapfile

import (
	"context"
	"errors"
	"fmt"
)

// Follow needs Linux; see there.
func Follow(_ context.Context, path string, _ Options) (*Source, error) {
	return nil, fmt.Errorf("follow capture %q: %w", path, errors.ErrUnsupported)
}
