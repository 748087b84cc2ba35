package spool

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Errors that callers tell apart.
var (
	ErrFull     = errors.New("the spool is full")
	ErrTooLarge = errors.New("the record is larger than the spool takes")
	ErrClosed   = errors.New("the spool is closed")
	ErrLocked   = errors.New("another process has the spool open")
)

// Options bound a spool. The zero value of each is replaced by a default.
type Options struct {
	MaxBytes     int64 // that all segments may take on disk; 1 GiB
	SegmentBytes int64 // after which a segment is left for the next; MaxBytes/16, at most 16 MiB
	Reserve      int64 // of MaxBytes, for urgent entries alone; MaxBytes/32
}

// MinBytes is the smallest spool that makes sense.
const MinBytes = 64 << 10

func (o Options) withDefaults() (Options, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.MaxBytes < MinBytes {
		return o, fmt.Errorf("a spool takes at least %d bytes", MinBytes)
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = min(o.MaxBytes/16, 16<<20)
	}
	if o.Reserve <= 0 {
		o.Reserve = o.MaxBytes / 32
	}
	return o, nil
}

// Entry is what is put into a spool.
type Entry struct {
	Data   []byte
	Units  uint32 // how much it is, in what the caller counts by
	Time   int64  // ns since the Unix epoch, for the age of what waits
	Urgent bool   // may take the reserve: the account of what was dropped because the spool is full
}

// Record is an entry that is safe on disk.
type Record struct {
	Segment  [idLength]byte
	Sequence uint64 // ever increasing; a number whose record was never acknowledged can come again in another segment
	Units    uint32
	Time     int64
	Data     []byte
	Replayed bool // acknowledged by an earlier process, which may have handed it out already
}

// ID names the record the same in every process that hands it out, and no other record. It has the form of a UUID.
func (r *Record) ID() [16]byte {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(r.Segment[:], r.Sequence))
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8: made as its maker likes (RFC 9562, 5.8)
	id[8] = id[8]&0x3f | 0x80
	return id
}

// State is what a spool holds, and what it had to give up since it was opened.
type State struct {
	Records uint64 // acknowledged and not confirmed
	Units   uint64 // of these
	Bytes   int64  // on disk
	Limit   int64
	Oldest  int64 // time of the oldest of these; 0 without any

	ReplayedRecords uint64 // found when the spool was opened
	ReplayedUnits   uint64
	TornBytes       int64  // cut off behind the last record: they were never acknowledged
	DamagedRecords  uint64 // acknowledged, and then damaged on disk
	DamagedBytes    int64
}

// Spool is an open spool. Add and Sync are for one goroutine at a time, Next for another, all else for any.
type Spool struct {
	directory string
	options   Options
	lock      *os.File
	mark      *os.File

	mu       sync.Mutex
	closed   bool
	segments []*segment // by sequence; the last one is written to if it is active
	active   *segment
	next     uint64 // sequence of the next record that is added
	synced   uint64 // sequence of the last that is acknowledged
	replayed uint64 // sequence of the last that an earlier process acknowledged
	handed   uint64 // sequence of the last that Next handed out
	low      uint64 // all up to here are confirmed
	ahead    map[uint64]struct{}
	bytes    int64
	state    State
	buffer   []byte

	wake chan struct{} // has an element when Next has to look again
	done chan struct{} // closed by Close
}

// segment is one file.
type segment struct {
	path    string
	id      [idLength]byte
	first   uint64 // sequence that its first record has, or had before it was damaged
	file    *os.File
	records []place
	size    int64
	fresh   bool // its name may not be on disk yet
}

// last is the sequence of the last record, 0 without any.
func (s *segment) last() uint64 {
	if len(s.records) == 0 {
		return 0
	}
	return s.records[len(s.records)-1].sequence
}

// State tells what the spool holds.
func (s *Spool) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.Bytes, state.Limit = s.bytes, s.options.MaxBytes
	for _, segment := range s.segments {
		for i := range segment.records {
			if p := &segment.records[i]; s.waiting(p.sequence) {
				state.Oldest = p.time
				return state
			}
		}
	}
	return state
}

// waiting tells whether a record is acknowledged and not confirmed.
func (s *Spool) waiting(sequence uint64) bool {
	if sequence <= s.low || sequence > s.synced {
		return false
	}
	_, confirmed := s.ahead[sequence]
	return !confirmed
}

// Close closes the files. What was added and not acknowledged is not kept.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.done)
	var err error
	if s.active != nil && s.active.last() > s.synced {
		err = s.rollBack()
	}
	for _, segment := range s.segments {
		err = errors.Join(err, segment.file.Close())
	}
	return errors.Join(err, s.mark.Close(), s.lock.Close())
}
