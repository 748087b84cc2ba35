package spool

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, directory string, options Options) *Spool {
	t.Helper()
	s, err := Open(directory, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// payload is data that tells its number, of a length that depends on it.
func payload(n uint64) []byte {
	b := make([]byte, 8+n%97)
	binary.LittleEndian.PutUint64(b, n)
	for i := range b[8:] {
		b[8+i] = byte(n + uint64(i))
	}
	return b
}

func add(t *testing.T, s *Spool, numbers ...uint64) {
	t.Helper()
	for _, n := range numbers {
		require.NoError(t, s.Add(Entry{Data: payload(n), Units: uint32(n), Time: int64(n)}))
	}
	require.NoError(t, s.Sync())
}

// drain takes all that is there, and returns the numbers of the payloads.
func drain(t *testing.T, s *Spool) (records []Record, numbers []uint64) {
	t.Helper()
	for {
		r, found, err := s.take()
		require.NoError(t, err)
		if !found {
			return records, numbers
		}
		n := binary.LittleEndian.Uint64(r.Data)
		require.Equal(t, payload(n), r.Data)
		records, numbers = append(records, r), append(numbers, n)
	}
}

func files(t *testing.T, directory, suffix string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*"+suffix))
	require.NoError(t, err)
	return paths
}

func TestRecordsComeInOrderAndOnlyWhenAcknowledged(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, Options{})
	require.NoError(t, s.Add(Entry{Data: payload(1), Units: 3, Time: 7}))
	_, numbers := drain(t, s)
	assert.Empty(t, numbers, "not acknowledged yet")
	require.NoError(t, s.Sync())
	first, numbers := drain(t, s)
	assert.Equal(t, []uint64{1}, numbers)
	assert.Equal(t, State{Records: 1, Units: 3, Bytes: s.State().Bytes, Limit: 1 << 30, Oldest: 7}, s.State())
	add(t, s, 2, 3)
	_, numbers = drain(t, s)
	assert.Equal(t, []uint64{2, 3}, numbers)

	s.Rewind()
	again, numbers := drain(t, s)
	assert.Equal(t, []uint64{1, 2, 3}, numbers)
	assert.Equal(t, first[0].ID(), again[0].ID())
	assert.NotEqual(t, again[0].ID(), again[1].ID())

	_, err := Open(directory, Options{})
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, s.Close())
	reopened := open(t, directory, Options{})
	third, numbers := drain(t, reopened)
	assert.Equal(t, []uint64{1, 2, 3}, numbers)
	assert.True(t, third[0].Replayed)
	assert.Equal(t, first[0].ID(), third[0].ID())
}

func TestNextWaitsForTheAcknowledgment(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	got := make(chan Record)
	go func() {
		r, err := s.Next(t.Context())
		assert.NoError(t, err)
		got <- r
		_, err = s.Next(t.Context())
		assert.ErrorIs(t, err, ErrClosed)
		close(got)
	}()
	add(t, s, 9)
	assert.Equal(t, payload(9), (<-got).Data)
	require.NoError(t, s.Close())
	<-got
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSegmentsGoWhenAllOfThemIsConfirmed(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, Options{SegmentBytes: 400})
	for n := range uint64(40) {
		add(t, s, n+1)
	}
	before := files(t, directory, segmentSuffix)
	require.Greater(t, len(before), 5)
	records, _ := drain(t, s)
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(records))
	for i, at := range order {
		require.NoError(t, s.Confirm(records[at].Sequence))
		require.NoError(t, s.Confirm(records[at].Sequence), "twice is once")
		assert.EqualValues(t, len(records)-i-1, s.State().Records)
	}
	assert.Len(t, files(t, directory, segmentSuffix), 1, "the one that is written to")
	assert.Zero(t, s.State().Units)
	require.NoError(t, s.Close())

	s = open(t, directory, Options{})
	assert.Zero(t, s.State().Records)
	assert.Empty(t, files(t, directory, segmentSuffix))
	add(t, s, 41)
	records, _ = drain(t, s)
	assert.EqualValues(t, 41, records[0].Sequence, "numbers go on")
}

func TestWhatIsConfirmedOutOfOrderIsNotHandedOutAgain(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add(t, s, 1, 2, 3)
	require.NoError(t, s.Confirm(2))
	s.Rewind()
	_, numbers := drain(t, s)
	assert.Equal(t, []uint64{1, 3}, numbers)
}

func TestTheBoundHoldsAndTheReserveIsForUrgentEntries(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, Options{MaxBytes: MinBytes, Reserve: 8 << 10})
	data := make([]byte, 1000)
	kept := 0
	var err error
	for ; err == nil; kept++ {
		err = s.Add(Entry{Data: data})
	}
	require.ErrorIs(t, err, ErrFull)
	require.NoError(t, s.Add(Entry{Data: data, Urgent: true}))
	for err = nil; err == nil; {
		err = s.Add(Entry{Data: data, Urgent: true})
	}
	require.ErrorIs(t, err, ErrFull)
	require.NoError(t, s.Sync())
	var size int64
	for _, path := range files(t, directory, segmentSuffix) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		size += info.Size()
	}
	assert.Equal(t, size, s.State().Bytes)
	assert.LessOrEqual(t, size, int64(MinBytes))
	require.ErrorIs(t, s.Add(Entry{Data: make([]byte, MinBytes)}), ErrTooLarge)

	// All that was acknowledged arrives, and then there is room again, also in the segment that is written to.
	for {
		r, found, err := s.take()
		require.NoError(t, err)
		if !found {
			break
		}
		require.NoError(t, s.Confirm(r.Sequence))
	}
	for range kept - 1 {
		require.NoError(t, s.Add(Entry{Data: data}))
	}
}

// A process can be killed behind any byte that it writes. What was acknowledged before is there, and nothing else.
func TestTornTailsAreCutAtEveryByte(t *testing.T) {
	source := t.TempDir()
	s := open(t, source, Options{})
	add(t, s, 1, 2)
	acknowledged := s.State().Bytes
	add(t, s, 3, 4)
	path := files(t, source, segmentSuffix)[0]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	third := acknowledged + recordHeader + int64(len(payload(3)))
	for end := acknowledged; end < int64(len(whole)); end++ {
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, filepath.Base(path)), whole[:end], 0o600))
		s := open(t, directory, Options{})
		_, numbers := drain(t, s)
		want, torn := []uint64{1, 2}, end-acknowledged
		if end >= third {
			want, torn = []uint64{1, 2, 3}, end-third
		}
		require.Equal(t, want, numbers, "cut at %d", end)
		require.Equal(t, torn, s.State().TornBytes)
		require.Zero(t, s.State().DamagedRecords)
		add(t, s, 5)
		records, numbers := drain(t, s)
		require.Equal(t, []uint64{5}, numbers)
		require.NotEqual(t, filepath.Base(path), fmt.Sprintf("%016x", records[0].Sequence))
		require.NoError(t, s.Close())
	}
	for end := range segmentHeader + recordHeader {
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, filepath.Base(path)), whole[:end], 0o600))
		s := open(t, directory, Options{})
		require.EqualValues(t, end, s.State().TornBytes)
		require.Zero(t, s.State().Bytes)
		add(t, s, 1)
	}
}

func TestDamagedRecordsAreCountedAndTheirNeighboursFound(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, Options{SegmentBytes: 2000})
	for n := range uint64(60) {
		add(t, s, n+1)
	}
	damaged := []int{4, 11, 12, 40}
	for _, n := range damaged {
		segment := s.segments[slices.IndexFunc(s.segments, func(g *segment) bool { return g.last() >= uint64(n) })]
		p := segment.records[slices.IndexFunc(segment.records, func(p place) bool { return p.sequence == uint64(n) })]
		_, err := segment.file.WriteAt([]byte{0xff, 0xff}, p.offset+int64(n%recordHeader))
		require.NoError(t, err)
	}
	check := func(s *Spool) {
		records, numbers := drain(t, s)
		assert.Len(t, numbers, 60-len(damaged))
		for _, n := range damaged {
			assert.NotContains(t, numbers, uint64(n))
		}
		assert.EqualValues(t, len(damaged), s.State().DamagedRecords)
		assert.Zero(t, s.State().TornBytes)
		for i := range records {
			require.NoError(t, s.Confirm(records[i].Sequence))
		}
		assert.Zero(t, s.State().Records)
	}
	// Once as found by the next process, and once under the feet of the one that wrote them.
	other := t.TempDir()
	require.NoError(t, os.CopyFS(other, os.DirFS(directory)))
	check(open(t, other, Options{}))
	check(s)

	// A segment whose own header is gone is kept for people, out of the way.
	lost := t.TempDir()
	s = open(t, lost, Options{SegmentBytes: 300})
	for n := range uint64(20) {
		add(t, s, n+1)
	}
	_, err := s.segments[1].file.WriteAt([]byte{0}, 0)
	require.NoError(t, err)
	gone := len(s.segments[1].records)
	require.NoError(t, s.Close())
	s = open(t, lost, Options{})
	_, numbers := drain(t, s)
	assert.Len(t, numbers, 20-gone)
	assert.EqualValues(t, gone, s.State().DamagedRecords)
	assert.Len(t, files(t, lost, damagedSuffix), 1)
}

func TestAFailedWriteKeepsWhatWasAcknowledged(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, Options{})
	add(t, s, 1, 2)
	require.NoError(t, s.Add(Entry{Data: payload(3)}))
	writable := s.active.file
	var err error
	s.active.file, err = os.Open(writable.Name()) // to which nothing can be written
	require.NoError(t, err)
	require.Error(t, s.Add(Entry{Data: payload(4)}))
	require.NoError(t, s.segments[0].file.Close())
	s.segments[0].file = writable
	add(t, s, 5)
	records, numbers := drain(t, s)
	assert.Equal(t, []uint64{1, 2, 5}, numbers)
	assert.EqualValues(t, 3, records[2].Sequence, "3 was never acknowledged: its number comes again,")
	assert.NotEqual(t, records[1].Segment, records[2].Segment, "but under another ID")
}

// TestMain lets the test's own program be the process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("ROCELENS_TEST_SPOOL") != "" {
		if err := write("."); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// write adds records for ever, confirms some, and prints each number once it is acknowledged.
func write(directory string) error {
	s, err := Open(directory, Options{SegmentBytes: 4096})
	if err != nil {
		return err
	}
	for {
		for range 3 {
			if err := s.Add(Entry{Data: payload(s.next), Units: 1}); err != nil {
				return err
			}
		}
		if err := s.Sync(); err != nil {
			return err
		}
		fmt.Println(s.synced)
		for s.State().Records > 20 {
			r, err := s.Next(context.Background())
			if err != nil {
				return err
			}
			if err := s.Confirm(r.Sequence); err != nil {
				return err
			}
		}
	}
}

func TestWhatAKilledProcessAcknowledgedIsThere(t *testing.T) {
	directory := t.TempDir()
	program, err := os.Executable()
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	for range 12 {
		command := exec.Command(program)
		command.Env = append(os.Environ(), "ROCELENS_TEST_SPOOL=1")
		command.Dir = directory
		command.Stderr = os.Stderr
		out, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		lines := bufio.NewReader(out)
		for range 1 + random.IntN(60) {
			_, err := lines.ReadString('\n')
			require.NoError(t, err)
		}
		require.NoError(t, command.Process.Kill())
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.Error(t, command.Wait())
		words := strings.Fields(string(rest))
		s := open(t, directory, Options{})
		if len(words) > 0 {
			acknowledged, err := strconv.ParseUint(words[len(words)-1], 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, s.synced, acknowledged)
		}
		require.Zero(t, s.State().DamagedRecords)
		_, numbers := drain(t, s)
		for i := range numbers[1:] {
			require.Equal(t, numbers[i]+1, numbers[i+1], "no gap")
		}
		require.Equal(t, s.synced, numbers[len(numbers)-1])
		require.NoError(t, s.Close())
	}
}

func FuzzSegment(f *testing.F) {
	header := appendSegmentHeader(nil, [idLength]byte{1}, 5)
	whole := slices.Clone(header)
	for n := uint64(5); n < 9; n++ {
		whole = appendRecord(whole, n, &Entry{Data: payload(n), Units: 2, Time: 3})
	}
	f.Add([]byte{})
	f.Add(header)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(append(slices.Clone(whole[:60]), whole[61:]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := scan(data)
		if err != nil {
			return
		}
		last, end, gaps := c.first-1, int64(segmentHeader), int64(0)
		for _, p := range c.records {
			if p.sequence <= last || p.offset < end || p.end() > int64(len(data)) {
				t.Fatalf("record %+v behind %d, which ends at %d", p, last, end)
			}
			if !intact(data[p.offset:p.end()]) {
				t.Fatalf("record %+v is not intact", p)
			}
			gaps += p.offset - end
			last, end = p.sequence, p.end()
		}
		if end != c.end || gaps != c.skipped {
			t.Fatalf("ends at %d with %d skipped, says %d and %d", end, gaps, c.end, c.skipped)
		}
		// What is cut behind the last record is found whole again, and can be gone on with.
		more := appendRecord(slices.Clone(data[:c.end]), last+1, &Entry{Data: []byte("x")})
		again, err := scan(more)
		if err != nil || len(again.records) != len(c.records)+1 || again.end != int64(len(more)) {
			t.Fatalf("%d records, %v; after one more %d", len(c.records), err, len(again.records))
		}
	})
}
