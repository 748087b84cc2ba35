package portstat

import "path/filepath"

// NewReaderAt reads a machine whose files are below a directory, and whose drivers tell what driver says.
func NewReaderAt(directory, name string, driver func(name string) ([]Value, error)) *Reader {
	return &Reader{
		name: name, sys: filepath.Join(directory, "sys"), config: filepath.Join(directory, "config"), driver: driver, before: map[Key]uint64{},
	}
}

// Wanted tells whether a driver's counter is read.
func Wanted(name string) bool { return wanted(name) }
