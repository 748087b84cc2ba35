package flight

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// shelf is the directory of records. Its methods may be called from any goroutine.
type shelf struct {
	directory string
	limit     int64

	mutex   sync.Mutex
	records []*meta // oldest first
	lost    uint64
}

// meta is what is known of a record, in a file beside it.
type meta struct {
	name string // of the record

	Events  []*Event  `json:"events"`
	Packets uint64    `json:"packets"`
	Bytes   int64     `json:"bytes"`
	Upload  string    `json:"upload,omitempty"` // where a server takes it
	Capture uuid.UUID `json:"capture"`          // that it has become there
}

const (
	temporary    = ".new-*"
	suffixRecord = ".pcapng"
	suffixMeta   = ".json"
	keysName     = "events"
)

func (s *shelf) path(name, suffix string) string { return filepath.Join(s.directory, name+suffix) }

// open finds what is there, and removes what was being written when a process ended.
func (s *shelf) open() error {
	files, err := os.ReadDir(s.directory)
	if err != nil {
		return fmt.Errorf("read the directory of records: %w", err)
	}
	for _, f := range files {
		if ok, _ := filepath.Match(temporary, f.Name()); ok {
			if err := os.Remove(filepath.Join(s.directory, f.Name())); err != nil {
				return fmt.Errorf("remove what was being written: %w", err)
			}
			continue
		}
		if name, ok := strings.CutSuffix(f.Name(), suffixMeta); ok && name != keysName {
			if _, err := os.Stat(s.path(name, suffixRecord)); errors.Is(err, fs.ErrNotExist) {
				if err := os.Remove(s.path(name, suffixMeta)); err != nil {
					return fmt.Errorf("remove what is known of a record that is gone: %w", err)
				}
			}
		}
		name, ok := strings.CutSuffix(f.Name(), suffixRecord)
		if !ok {
			continue
		}
		m := &meta{}
		data, err := os.ReadFile(s.path(name, suffixMeta))
		if err == nil {
			err = json.Unmarshal(data, m)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			m = &meta{}
		}
		info, err := f.Info()
		if err != nil {
			return fmt.Errorf("read the directory of records: %w", err)
		}
		m.name, m.Bytes = name, info.Size()
		s.records = append(s.records, m)
	}
	slices.SortFunc(s.records, func(a, b *meta) int { return strings.Compare(a.name, b.name) })
	return nil
}

// add writes a record. Older ones that it takes the room of are returned.
func (s *shelf) add(t *take, o *Options) (m *meta, dropped []*meta, err error) {
	m = &meta{
		name:   t.events[0].Time.UTC().Format("20060102T150405.000") + "-" + t.iface + "-" + t.id.String()[:8],
		Events: t.events,
	}
	for {
		err = s.write(m, t, o)
		if err == nil {
			break
		}
		oldest := s.oldest() // whose room on a full disk may do
		if oldest == nil {
			s.mutex.Lock()
			s.lost++
			s.mutex.Unlock()
			return m, dropped, err
		}
		dropped = append(dropped, oldest)
		s.drop(oldest)
	}
	s.mutex.Lock()
	s.records = append(s.records, m)
	sum := int64(0)
	for _, r := range s.records {
		sum += r.Bytes
	}
	var excess []*meta
	for _, r := range s.records {
		if sum <= s.limit {
			break
		}
		sum -= r.Bytes
		excess = append(excess, r)
	}
	s.mutex.Unlock()
	for _, r := range excess {
		s.drop(r)
	}
	return m, append(dropped, excess...), nil
}

// write writes the files of a record: what is known of it first, so that a record that is there is known.
func (s *shelf) write(m *meta, t *take, o *Options) error {
	err := replace(s.path(m.name, suffixRecord), func(f *os.File) (err error) {
		if m.Packets, m.Bytes, err = t.encode(f, o); err != nil {
			return err
		}
		return s.note(m)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("write a record: %w", err), gone(os.Remove(s.path(m.name, suffixMeta))))
	}
	return nil
}

// note writes what is known of a record.
func (s *shelf) note(m *meta) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replace(s.path(m.name, suffixMeta), func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

func (s *shelf) oldest() *meta {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.records) == 0 {
		return nil
	}
	return s.records[0]
}

// waiting are the records, oldest first.
func (s *shelf) waiting() []*meta {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.records)
}

// remove takes a record away that has arrived.
func (s *shelf) remove(m *meta) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.records = slices.DeleteFunc(s.records, func(r *meta) bool { return r == m })
	return errors.Join(gone(os.Remove(s.path(m.name, suffixRecord))), gone(os.Remove(s.path(m.name, suffixMeta))))
}

// drop takes a record away that has not. What cannot be removed counts as lost, too: the next start finds it.
func (s *shelf) drop(m *meta) {
	_ = s.remove(m) // what is not removed now is found by the next start
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lost++
}

func (s *shelf) state() (waiting int, lost uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.records), s.lost
}

// gone is the error of a removal, none when there was nothing.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
