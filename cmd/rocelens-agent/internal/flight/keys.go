package flight

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// readKeys reads what was recorded before. A file that is damaged counts as empty: at worst an event is recorded twice.
func readKeys(path string) (map[string]time.Time, error) {
	keys := map[string]time.Time{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return keys, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was recorded before: %w", err)
	}
	if err := json.Unmarshal(data, &keys); err != nil || keys == nil {
		return map[string]time.Time{}, nil //nolint:nilerr // as said above
	}
	return keys, nil
}

func writeKeys(path string, keys map[string]time.Time) error {
	data, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return replace(path, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// replace writes a file that is there as a whole or not at all.
func replace(path string, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), temporary)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDirectory(filepath.Dir(path))
}

func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
