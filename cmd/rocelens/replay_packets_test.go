package main

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
)

const divergent = "../../testdata/derived/base-cm-send-write-read.pcap"

// fieldsOf are columns of a capture as tshark reads it, one packet a row.
func fieldsOf(t *testing.T, file string, fields ...string) [][]string {
	t.Helper()
	args := []string{"-r", file, "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.CommandContext(t.Context(), "tshark", args...).Output()
	require.NoError(t, err, "tshark")
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// onlyFile is the one file of a directory.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// rewritten is the capture that diverges as pcapng with two interfaces and a finer clock, each packet with a comment already.
func rewritten(t *testing.T) string {
	t.Helper()
	source, err := pcapfile.Open(divergent, pcapfile.Options{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "two ends.pcapng")
	file, err := os.Create(path)
	require.NoError(t, err)
	out, err := pcapfile.NewWriter(file, pcapfile.FormatPcapng, pcapfile.WriterOptions{BigEndian: true, Interfaces: []pcapfile.WriterInterface{
		{Name: "swp1", LinkType: 1, Resolution: pcapfile.Microseconds},
		{Name: "swp2", Description: "to the storage", LinkType: 1, SnapLength: 512, Resolution: pcapfile.Nanoseconds},
	}})
	require.NoError(t, err)
	var batch capture.Batch
	for {
		if err := source.Next(&batch); errors.Is(err, io.EOF) {
			break
		}
		for _, frame := range batch.Frames {
			frame.Interface = uint32(frame.Number % 2)
			frame.Time += int64(frame.Interface) * 7
			require.NoError(t, out.WriteCommented(&frame, "of an earlier reader"))
		}
	}
	require.NoError(t, errors.Join(source.Close(), file.Close()))
	return path
}

func compressed(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), filepath.Base(path)+".gz")
	file, err := os.Create(name)
	require.NoError(t, err)
	z := gzip.NewWriter(file)
	_, err = z.Write(data)
	require.NoError(t, errors.Join(err, z.Close(), file.Close()))
	return name
}

const proves4 = "proves roce.starting-psn (diverges), 1 of 1, packet 4 of "

// TestReplayWritesPackets: tshark opens what was written and shows the comment on the packet that proves the divergence; times,
// their resolution and the interfaces are those of the capture, whether it is compressed or not.
func TestReplayWritesPackets(t *testing.T) {
	for name, file := range map[string]string{"pcap": divergent, "gzip": compressed(t, divergent)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made")
			o := execute(t, nil, "replay", "--packets", dir, "--around", "2", file)
			assert.Equal(t, exitDiverges, o.code)
			assert.Contains(t, o.err, "wrote 1 file to ")
			written := onlyFile(t, dir)
			assert.Equal(t, "0001-base-cm-send-write-read-roce.starting-psn-packet-4.pcapng", filepath.Base(written))
			rows := fieldsOf(t, written, "frame.time_epoch", "infiniband.bth.psn", "frame.comment")
			want := fieldsOf(t, file, "frame.time_epoch", "infiniband.bth.psn", "frame.comment")[3:6] // 4 and the two after it; CM is before
			require.Len(t, rows, 3)
			assert.True(t, strings.HasPrefix(rows[0][2], proves4+filepath.Base(file)+": The first request that was seen"), rows[0][2])
			want[0][2] = rows[0][2]
			assert.Equal(t, want, rows)
		})
	}
}

func TestReplayKeepsInterfacesAndComments(t *testing.T) {
	dir, file := t.TempDir(), rewritten(t)
	o := execute(t, nil, "replay", "--all", "--packets", dir, "--around", "0", file)
	assert.Equal(t, exitDiverges, o.code)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 2, "what is undetermined, too")
	all := fieldsOf(t, file, "frame.time_epoch", "frame.interface_name", "frame.interface_description", "frame.len")
	for _, f := range files {
		rows := fieldsOf(t, f, "frame.time_epoch", "frame.interface_name", "frame.interface_description", "frame.len", "frame.comment")
		require.Len(t, rows, 1)
		assert.Contains(t, all, rows[0][:4])
		assert.Contains(t, rows[0][4], "of two ends.pcapng: ")
		assert.Contains(t, rows[0][4], "of an earlier reader")
	}
}

func TestReplayRefusesToWritePackets(t *testing.T) {
	dir := t.TempDir()
	o := execute(t, strings.NewReader(""), "replay", "--packets", dir, "-")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "standard input does not allow")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	o = execute(t, nil, "replay", "--packets", dir, divergent)
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "is not empty")
	o = execute(t, nil, "replay", "--around", "-1", divergent)
	assert.Equal(t, exitUsage, o.code)
}

// A capture in which nothing diverges leaves an empty directory, so that a script finds one.
func TestReplayWritesNoPackets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	o := execute(t, nil, "replay", "--packets", dir, "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, o.code)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
