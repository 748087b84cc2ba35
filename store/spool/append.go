package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Add puts an entry behind all others. It is acknowledged by the next Sync. ErrFull and ErrTooLarge concern this entry
// alone; after any other error nothing is kept that was added since the last Sync.
func (s *Spool) Add(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	size := int64(recordHeader + len(e.Data))
	if len(e.Data) > MaxRecord || int64(segmentHeader)+size > s.options.MaxBytes-s.options.Reserve {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(e.Data))
	}
	if err := s.makeRoom(size, e.Urgent); err != nil {
		return s.giveUp(err)
	}
	if s.active == nil {
		if err := s.begin(); err != nil {
			return s.giveUp(err)
		}
	}
	s.buffer = appendRecord(s.buffer[:0], s.next, &e)
	if _, err := s.active.file.WriteAt(s.buffer, s.active.size); err != nil {
		return s.giveUp(err)
	}
	s.active.records = append(s.active.records, place{
		offset: s.active.size, length: uint32(len(e.Data)), units: e.Units, sequence: s.next, time: e.Time,
	})
	s.active.size += size
	s.bytes += size
	s.next++
	return nil
}

// makeRoom leaves the active segment when it has become long enough, and refuses what would pass the bound.
func (s *Spool) makeRoom(size int64, urgent bool) error {
	if s.active != nil && len(s.active.records) > 0 && s.active.size+size > s.options.SegmentBytes {
		if err := s.seal(); err != nil {
			return err
		}
	}
	limit := s.options.MaxBytes
	if !urgent {
		limit -= s.options.Reserve
	}
	needed := func() int64 {
		if s.active == nil {
			return s.bytes + int64(segmentHeader) + size
		}
		return s.bytes + size
	}
	if needed() > limit && s.active != nil && s.active.last() != 0 && s.active.last() <= s.low {
		// All of it has arrived: it only stays because it is written to.
		if err := s.seal(); err != nil {
			return err
		}
	}
	if needed() > limit {
		return fmt.Errorf("%w: %d of %d bytes are taken", ErrFull, s.bytes, s.options.MaxBytes)
	}
	return nil
}

// giveUp takes back what is not acknowledged, unless the error concerns one entry alone.
func (s *Spool) giveUp(err error) error {
	if errors.Is(err, ErrFull) {
		return err
	}
	return fmt.Errorf("write to the spool: %w", errors.Join(err, s.rollBack()))
}

// begin makes the next segment.
func (s *Spool) begin() error {
	seg := &segment{path: filepath.Join(s.directory, fmt.Sprintf("%016x%s", s.next, segmentSuffix)), first: s.next, fresh: true}
	if _, err := rand.Read(seg.id[:]); err != nil {
		return err
	}
	file, err := os.OpenFile(seg.path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	seg.file = file
	header := appendSegmentHeader(nil, seg.id, s.next)
	if _, err := file.WriteAt(header, 0); err != nil {
		return errors.Join(err, file.Close(), os.Remove(seg.path))
	}
	seg.size = int64(len(header))
	s.bytes += seg.size
	s.segments = append(s.segments, seg)
	s.active = seg
	return nil
}

// Sync acknowledges all that was added. After an error nothing is kept that was added since the last Sync.
func (s *Spool) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.sync(); err != nil {
		return s.giveUp(err)
	}
	return nil
}

func (s *Spool) sync() error {
	if s.active == nil || s.active.last() <= s.synced {
		return nil
	}
	if err := s.active.file.Sync(); err != nil {
		return err
	}
	if s.active.fresh {
		if err := syncDirectory(s.directory); err != nil {
			return err
		}
		s.active.fresh = false
	}
	for i := len(s.active.records) - 1; i >= 0 && s.active.records[i].sequence > s.synced; i-- {
		s.state.Records++
		s.state.Units += uint64(s.active.records[i].units)
	}
	s.synced = s.active.last()
	s.look()
	return nil
}

// seal ends the active segment.
func (s *Spool) seal() error {
	if err := s.sync(); err != nil {
		return err
	}
	s.active = nil
	return s.removeConfirmed()
}

// rollBack takes out of the active segment what is not acknowledged, and leaves it: after a failed fsync nobody knows
// what the disk holds of it, and what follows goes into another file.
func (s *Spool) rollBack() error {
	seg := s.active
	if seg == nil {
		return nil
	}
	s.active, s.next = nil, s.synced+1
	s.bytes -= seg.size
	keep := len(seg.records)
	for keep > 0 && seg.records[keep-1].sequence > s.synced {
		keep--
	}
	seg.records = seg.records[:keep]
	if keep == 0 {
		s.segments = s.segments[:len(s.segments)-1]
		return errors.Join(seg.file.Close(), os.Remove(seg.path))
	}
	seg.size = seg.records[keep-1].end()
	s.bytes += seg.size
	return seg.file.Truncate(seg.size)
}
