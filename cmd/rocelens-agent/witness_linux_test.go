package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/store/spool"
)

// witness keeps every segment that a spool ever has, by a second name for its file: the agent removes a segment as soon as all of
// it has arrived. What it kept tells which records were safe on disk, whatever the agent, which was killed, knows of them.
type witness struct {
	spool, kept string
	written     chan struct{} // has an element after the spool was written to
}

func newWitness(t *testing.T, directory string) *witness {
	t.Helper()
	w := &witness{spool: directory, kept: filepath.Join(t.TempDir(), "kept"), written: make(chan struct{}, 1)}
	require.NoError(t, os.MkdirAll(w.spool, 0o700))
	require.NoError(t, os.MkdirAll(w.kept, 0o700))
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	require.NoError(t, err)
	events := os.NewFile(uintptr(fd), "inotify")
	_, err = unix.InotifyAddWatch(fd, w.spool, unix.IN_CREATE|unix.IN_MODIFY)
	require.NoError(t, err)
	var looking sync.WaitGroup
	looking.Go(func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := events.Read(buffer)
			if err != nil {
				return
			}
			for rest := buffer[:n]; len(rest) > 0; {
				length := unix.SizeofInotifyEvent + binary.NativeEndian.Uint32(rest[12:])
				name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:length], "\x00"))
				rest = rest[length:]
				if strings.HasSuffix(name, ".segment") {
					assert.NoError(t, w.keep(name))
				}
			}
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, events.Close())
		looking.Wait()
	})
	return w
}

// keep gives a segment its second name. Two segments can have had the same first one.
func (w *witness) keep(name string) error {
	path := filepath.Join(w.spool, name)
	info, err := os.Stat(path)
	if err == nil {
		err = os.Link(path, filepath.Join(w.kept, fmt.Sprintf("%s.%d", name, info.Sys().(*syscall.Stat_t).Ino)))
	}
	select {
	case w.written <- struct{}{}:
	default:
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // what it missed leaves a gap in the numbers
		return nil
	}
	return err
}

// spooled is a record that was safe on disk.
type spooled struct {
	id            uuid.UUID // as its rows have it
	sequence      uint64
	table         string
	rows, packets uint64 // packets: that its rows count, in agent_flows
}

// records are all that were ever whole on disk, in the order of their numbers, which have neither gaps nor repetitions.
func (w *witness) records(t *testing.T) (all []spooled) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.kept, "*"))
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		all = append(all, recordsOf(t, data)...)
	}
	slices.SortFunc(all, func(a, b spooled) int { return int(a.sequence) - int(b.sequence) })
	for i := range all {
		require.EqualValues(t, i+1, all[i].sequence, "numbers of records")
	}
	return all
}

// recordsOf reads a segment up to where it ends, or was cut off while it was written; see the documentation of package spool.
func recordsOf(t *testing.T, data []byte) (all []spooled) {
	t.Helper()
	const segmentHeader, recordHeader = 8 + 16 + 8 + 4, 4 + 4 + 8 + 8 + 4
	if len(data) < segmentHeader {
		return nil
	}
	segment := [16]byte(data[8:24])
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for rest := data[segmentHeader:]; len(rest) >= recordHeader; {
		length := uint64(binary.LittleEndian.Uint32(rest))
		if uint64(len(rest)) < recordHeader+length {
			break
		}
		head, body := rest[:recordHeader-4], rest[recordHeader:][:length]
		if crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, body) != binary.LittleEndian.Uint32(rest[recordHeader-4:]) {
			break
		}
		rest = rest[recordHeader+length:]
		record := spool.Record{Segment: segment, Sequence: binary.LittleEndian.Uint64(head[8:])}
		one := spooled{id: record.ID(), sequence: record.Sequence}
		one.table, one.rows, one.packets = contentsOf(t, body)
		all = append(all, one)
	}
	return all
}

// contentsOf reads a batch: its table, how many rows it has, and the sum of their packets.
func contentsOf(t *testing.T, compressed []byte) (table string, rows, packets uint64) {
	t.Helper()
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	defer decoder.Close()
	rest, err := decoder.DecodeAll(compressed, nil)
	require.NoError(t, err)
	number := func() uint64 {
		n, size := binary.Uvarint(rest)
		rest = rest[size:]
		return n
	}
	text := func() []byte {
		n := number()
		out := rest[:n]
		rest = rest[n:]
		return out
	}
	rest = rest[1:] // version
	table = string(text())
	rest = rest[16+8:] // agent and time
	rows = number()
	for range number() {
		name, _, _, data := string(text()), text(), text(), text()
		if name != "packets" || table != "agent_flows" {
			continue
		}
		for len(data) > 0 {
			packets, data = packets+binary.LittleEndian.Uint64(data), data[8:]
		}
	}
	require.Empty(t, rest)
	return table, rows, packets
}
