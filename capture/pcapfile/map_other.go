//go:build !linux

package pcapfile

import (
	"errors"
	"os"
)

func mapFile(*os.File, int64) (*mapping, error) { return nil, errors.ErrUnsupported }

// Close has nothing to do where nothing is mapped.
func (m *mapping) Close() error { return nil }
