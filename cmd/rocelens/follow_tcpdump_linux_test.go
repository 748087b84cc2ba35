package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// recorded is a tcpdump that writes what arrives at an interface into a file.
type recorded struct {
	from  vethtest.End
	path  string
	close func()
}

// record starts tcpdump at the end of a cable and returns once it listens.
func record(t *testing.T, options ...string) *recorded {
	t.Helper()
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not installed")
	}
	left, right := vethtest.Pair(t)
	r := &recorded{from: left, path: filepath.Join(t.TempDir(), "growing.pcap")}
	args := append([]string{"netns", "exec", right.Namespace, "tcpdump", "-i", right.Interface, "-U", "--immediate-mode", "-Z", "root", "-w", r.path}, options...)
	// The context of a test ends before its cleanup, which is to let tcpdump end by itself.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "ip", append(args, "udp port 4791")...)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(said)
	for !strings.Contains(lines.Text(), "listening on") {
		require.True(t, lines.Scan(), "tcpdump listens")
	}
	closed := false
	r.close = func() {
		if closed {
			return
		}
		closed = true
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_, err := io.Copy(io.Discard, said)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
	}
	t.Cleanup(r.close)
	return r
}

// followed is a rocelens that prints a file while it grows.
type followed struct {
	lines  *bufio.Scanner
	stderr bytes.Buffer
	done   chan int
}

func follow(t *testing.T, path string) *followed {
	t.Helper()
	printed, out := io.Pipe()
	f := &followed{lines: bufio.NewScanner(printed), done: make(chan int, 1)}
	go func() {
		code := run(t.Context(), []string{"dissect", "--follow", "--summary", path}, &streams{Out: out, Err: &f.stderr})
		assert.NoError(t, out.Close())
		f.done <- code
	}()
	return f
}

// rest counts the lines up to the end.
func (f *followed) rest() (n int) {
	for f.lines.Scan() {
		n++
	}
	return n
}

func framesOfFile(t *testing.T, path string) [][]byte {
	t.Helper()
	source, err := pcapfile.Open(path, pcapfile.Options{Map: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, source.Close()) })
	var frames [][]byte
	var batch capture.Batch
	for source.Next(&batch) == nil {
		for i := range batch.Frames {
			frames = append(frames, batch.Frames[i].Data)
		}
	}
	return frames
}

// TestDissectFollowsTcpdump prints packets while tcpdump writes them, and ends when tcpdump does.
func TestDissectFollowsTcpdump(t *testing.T) {
	r := record(t)
	f := follow(t, r.path)
	frames := framesOfFile(t, filepath.Join(packageDirectory, "..", "..", "testdata", "derived", "sit-loss-nak.pcap"))
	require.Len(t, frames, 10)
	r.from.Send(t, frames[:4])
	for range 4 {
		require.True(t, f.lines.Scan())
	}
	assert.Contains(t, f.lines.Text(), "      4 ")
	r.from.Send(t, frames[4:])
	for range 6 {
		require.True(t, f.lines.Scan())
	}
	assert.Contains(t, f.lines.Text(), "     10 ")
	r.close()
	assert.Zero(t, f.rest(), "nothing comes after the last packet")
	assert.Zero(t, <-f.done)
	assert.Empty(t, f.stderr.String())
}

// TestFollowEndsWithARotatedFile follows the first file of a rotation up to its last packet.
func TestFollowEndsWithARotatedFile(t *testing.T) {
	r := record(t, "-C", "1") // a file a million bytes
	f := follow(t, r.path)
	frame := framesOfFile(t, filepath.Join(packageDirectory, "..", "..", "testdata", "derived", "sit-loss-nak.pcap"))[0]
	chunk := slices.Repeat([][]byte{frame}, 500)
	printed := make(chan int)
	go func() { printed <- f.rest() }()
	n, sent := -1, 0
	for n < 0 { // tcpdump may lose some
		r.from.Send(t, chunk)
		sent += len(chunk)
		select {
		case n = <-printed:
		default:
		}
	}
	assert.Zero(t, <-f.done)
	assert.Empty(t, f.stderr.String())
	assert.Len(t, framesOfFile(t, r.path), n, "all of the first file, and no more")
	assert.Less(t, n, sent)
	next, err := os.Stat(r.path + "1")
	require.NoError(t, err)
	assert.NotZero(t, next.Size())
}

// TestFollowSaysThatTheFileWasCutShort empties the file under its reader, as programs that rotate logs do.
func TestFollowSaysThatTheFileWasCutShort(t *testing.T) {
	r := record(t)
	f := follow(t, r.path)
	frames := framesOfFile(t, filepath.Join(packageDirectory, "..", "..", "testdata", "derived", "sit-loss-nak.pcap"))
	r.from.Send(t, frames[:3])
	for range 3 {
		require.True(t, f.lines.Scan())
	}
	require.NoError(t, os.Truncate(r.path, 0))
	assert.Zero(t, f.rest())
	assert.Zero(t, <-f.done)
	assert.Contains(t, f.stderr.String(), "is incomplete: ")
	assert.Contains(t, f.stderr.String(), "the file was cut short to 0 bytes while it was followed")
	assert.Contains(t, f.stderr.String(), "the 3 packets before it were kept")
}
