package spool

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sort"
)

// Next waits for the next acknowledged record and hands it out. Records come in order, each once, until Rewind. The
// error is ctx's or ErrClosed.
func (s *Spool) Next(ctx context.Context) (Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Record{}, err
		}
		record, found, err := s.take()
		if found || err != nil {
			return record, err
		}
		select {
		case <-s.wake:
		case <-s.done:
			return Record{}, ErrClosed
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
}

// look makes Next look for records again.
func (s *Spool) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take hands out the next record if there is one. A record that cannot be read any more is counted and passed over.
func (s *Spool) take() (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Record{}, false, ErrClosed
	}
	for {
		segment, p := s.find()
		if p == nil {
			return Record{}, false, nil
		}
		s.handed = p.sequence
		if !s.waiting(p.sequence) {
			continue
		}
		raw := make([]byte, recordHeader+int(p.length))
		_, err := segment.file.ReadAt(raw, p.offset)
		if err == nil && readHeader(raw).sequence == p.sequence && intact(raw) {
			return Record{
				Segment: segment.id, Sequence: p.sequence, Units: p.units, Time: p.time,
				Data: raw[recordHeader:], Replayed: p.sequence <= s.replayed,
			}, true, nil
		}
		s.state.DamagedRecords++
		s.state.DamagedBytes += int64(len(raw))
		if err := s.confirm(p.sequence); err != nil {
			return Record{}, false, err
		}
	}
}

// find is the first acknowledged record behind the one that was handed out last.
func (s *Spool) find() (*segment, *place) {
	for _, segment := range s.segments {
		if segment.last() <= s.handed {
			continue
		}
		i := sort.Search(len(segment.records), func(i int) bool { return segment.records[i].sequence > s.handed })
		if p := &segment.records[i]; p.sequence <= s.synced {
			return segment, p
		}
		return nil, nil
	}
	return nil, nil
}

// Rewind makes Next hand out once more what it has handed out and nobody has confirmed.
func (s *Spool) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed = s.low
	s.look()
}

// Confirm says that a record has arrived: it will not be handed out again, not even by the next process. Records may be
// confirmed in any order. A process that is killed right behind it can forget the confirmation.
func (s *Spool) Confirm(sequence uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return s.confirm(sequence)
}

func (s *Spool) confirm(sequence uint64) error {
	if !s.waiting(sequence) {
		return nil
	}
	for _, segment := range s.segments {
		if segment.last() < sequence {
			continue
		}
		i := sort.Search(len(segment.records), func(i int) bool { return segment.records[i].sequence >= sequence })
		if p := segment.records[i]; p.sequence == sequence {
			s.state.Records--
			s.state.Units -= uint64(p.units)
		}
		break
	}
	s.ahead[sequence] = struct{}{}
	before := s.low
	for s.low < s.synced {
		_, confirmed := s.ahead[s.low+1]
		if !confirmed && s.exists(s.low+1) {
			break
		}
		s.low++
		delete(s.ahead, s.low)
	}
	if s.low == before {
		return nil
	}
	if err := s.writeMark(); err != nil {
		return err
	}
	return s.removeConfirmed()
}

// exists tells whether there is a record of that number: those that were damaged have left gaps.
func (s *Spool) exists(sequence uint64) bool {
	for _, segment := range s.segments {
		if segment.last() < sequence {
			continue
		}
		i := sort.Search(len(segment.records), func(i int) bool { return segment.records[i].sequence >= sequence })
		return segment.records[i].sequence == sequence
	}
	return false
}

// writeMark remembers up to where all is confirmed. It is not forced to disk: a mark that is lost means work that is
// done twice, not rows.
func (s *Spool) writeMark() error {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, markLength), s.low)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := s.mark.WriteAt(b, 0)
	return err
}

// removeConfirmed removes the segments in which nothing waits any more.
func (s *Spool) removeConfirmed() error {
	var errs []error
	for len(s.segments) > 0 {
		first := s.segments[0]
		if first == s.active || first.last() > s.low {
			break
		}
		errs = append(errs, first.file.Close(), os.Remove(first.path))
		s.bytes -= first.size
		s.segments = s.segments[1:]
	}
	return errors.Join(errs...)
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
