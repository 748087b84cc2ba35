package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

const (
	lockName      = "lock"
	markName      = "confirmed"
	segmentSuffix = ".segment"
	damagedSuffix = ".damaged"
	markLength    = 8 + 4
)

// Open opens the spool in a directory, which is made if it is not there. It reads all that is in it, and cuts off what
// was being written when an earlier process ended.
func Open(directory string, options Options) (*Spool, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	s := &Spool{
		directory: directory, options: options, ahead: map[uint64]struct{}{},
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := s.open(); err != nil {
		for _, segment := range s.segments {
			err = errors.Join(err, segment.file.Close())
		}
		for _, file := range []*os.File{s.mark, s.lock} {
			if file != nil {
				err = errors.Join(err, file.Close())
			}
		}
		return nil, fmt.Errorf("open the spool in %s: %w", directory, err)
	}
	return s, nil
}

func (s *Spool) open() error {
	var err error
	if s.lock, err = os.OpenFile(filepath.Join(s.directory, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return ErrLocked
		}
		return fmt.Errorf("lock it: %w", err)
	}
	if s.mark, err = os.OpenFile(filepath.Join(s.directory, markName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if s.low, err = readMark(s.mark); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(s.directory, "*"+segmentSuffix))
	if err != nil {
		return err
	}
	sort.Strings(paths) // their names are hexadecimal, of one length
	for i, path := range paths {
		if err := s.load(path, i == len(paths)-1); err != nil {
			return err
		}
	}
	s.account()
	if err := s.removeConfirmed(); err != nil {
		return err
	}
	return syncDirectory(s.directory)
}

// load takes up one segment.
func (s *Spool) load(path string, isLast bool) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	found, err := scan(data)
	if err != nil {
		return s.setAside(path, int64(len(data)), isLast)
	}
	if isLast && len(found.records) == 0 {
		s.state.TornBytes += int64(len(data))
		return os.Remove(path)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	seg := &segment{path: path, id: found.id, first: found.first, file: file, records: found.records, size: int64(len(data))}
	s.segments = append(s.segments, seg)
	s.state.DamagedBytes += found.skipped
	tail := int64(len(data)) - found.end
	if tail == 0 {
		return nil
	}
	if !isLast {
		s.state.DamagedBytes += tail
		return nil
	}
	s.state.TornBytes += tail
	seg.size = found.end
	if err := file.Truncate(found.end); err != nil {
		return err
	}
	return file.Sync()
}

// setAside deals with a file whose beginning is no segment's: the last one was being made when the process ended,
// any other is kept for people to look at.
func (s *Spool) setAside(path string, size int64, isLast bool) error {
	if isLast && size <= int64(segmentHeader) {
		s.state.TornBytes += size
		return os.Remove(path)
	}
	s.state.DamagedBytes += size
	return os.Rename(path, strings.TrimSuffix(path, segmentSuffix)+damagedSuffix)
}

// account counts what the segments hold, and finds by the gaps in their numbers what they have lost.
func (s *Spool) account() {
	// The mark may be older than the segments: what was removed before the first of them had been confirmed.
	if len(s.segments) > 0 {
		s.low = max(s.low, s.segments[0].first-1)
	}
	last := s.low
	advance := func(to uint64) {
		if to > last {
			s.state.DamagedRecords += to - last
			last = to
		}
	}
	for _, segment := range s.segments {
		s.bytes += segment.size
		advance(segment.first - 1)
		for i := range segment.records {
			p := &segment.records[i]
			if p.sequence <= last {
				continue // confirmed
			}
			advance(p.sequence - 1)
			last = p.sequence
			s.state.Records++
			s.state.Units += uint64(p.units)
		}
	}
	s.state.ReplayedRecords, s.state.ReplayedUnits = s.state.Records, s.state.Units
	s.synced, s.replayed, s.handed, s.next = last, last, s.low, last+1
}

// readMark is the number up to which all is confirmed. A mark that is torn or absent is 0: then records that have
// arrived are handed out again, which their receiver is prepared for.
func readMark(file *os.File) (uint64, error) {
	var b [markLength]byte
	n, err := file.ReadAt(b[:], 0)
	if n < markLength {
		return 0, ignoreEnd(err)
	}
	if crc32.Checksum(b[:8], castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
		return 0, nil
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

func syncDirectory(directory string) error {
	d, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
