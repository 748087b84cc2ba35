package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/internal/capgen"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// outcome is what a command line did.
type outcome struct {
	out, err string
	code     int
}

func execute(t *testing.T, stdin io.Reader, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &streams{In: stdin, Out: &stdout, Err: &stderr})
	return outcome{stdout.String(), stderr.String(), code}
}

// golden compares with a file in testdata/ of this package.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(packageDirectory, "testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run: go test ./cmd/rocelens -update")
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (- want, + got; -update rewrites it):\n%s", name, d)
	}
}

var packageDirectory = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()

// inTestdata makes the names of captures short, in goldens too.
func inTestdata(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join(packageDirectory, "..", "..", "testdata"))
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(packageDirectory, "..", "..", "docs", "analyze.schema.json"))
	require.NoError(t, err)
	return compiled
}

func validate(t *testing.T, s *jsonschema.Schema, document string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	require.NoError(t, err)
	assert.NoError(t, s.Validate(value))
}

func TestAnalyzeGoldens(t *testing.T) {
	inTestdata(t)
	s := schema(t)
	for name, files := range map[string][]string{
		"allreduce-loss":    {"allreduce-loss.pcapng"},
		"read-write-mix":    {"read-write-mix.pcap"},
		"metaroce":          {"--paths", "metaroce-spray.pcap"},
		"life-cycle":        {"derived/base-cm-send-write-read.pcap"},
		"loss-nak":          {"derived/sit-loss-nak.pcap"},
		"rnr":               {"derived/sit-rnr.pcap"},
		"ecn-cnp":           {"derived/sit-ecn-cnp.pcap"},
		"read":              {"derived/sit-read.pcap"},
		"nak-codes":         {"derived/sit-nak-all.pcap"},
		"timeout":           {"derived/sit-timeout-repeat.pcap"},
		"icrc-bad":          {"derived/sit-icrc-bad.pcap"},
		"erspan":            {"derived/enc-erspan2.pcap"},
		"vectors":           {"derived/scapy-roce-vectors.pcap"},
		"interfaces":        {"derived/ct-multi-if.pcapng"},
		"no-time":           {"derived/ct-spb.pcapng"},
		"snapped":           {"derived/ct-snap54.pcap"},
		"pause":             {"derived/pfc.pcap"},
		"no-rdma":           {"derived/neg-dns-sport4791.pcap"},
		"incomplete":        {"derived/ct-cut.pcapng"},
		"several":           {"derived/sit-loss-nak.pcap", "derived/ct-huge-block.pcapng", "derived/ct-cut.pcap", "derived/sit-rnr.pcap"},
		"gzip-under-a-name": {"derived/ct-gzip-named-pcap.pcap"},
	} {
		t.Run(name, func(t *testing.T) {
			text := execute(t, nil, append([]string{"analyze"}, files...)...)
			assert.Zero(t, text.code)
			golden(t, name+".txt", text.out)
			document := execute(t, nil, append([]string{"analyze", "--json"}, files...)...)
			assert.Zero(t, document.code)
			golden(t, name+".json", document.out)
			validate(t, s, document.out)
			assert.Equal(t, text.err, document.err)
		})
	}
}

// TestEveryFileFitsTheSchema takes all captures that there are.
func TestEveryFileFitsTheSchema(t *testing.T) {
	s := schema(t)
	dirs := []string{filepath.Join("..", "..", "testdata")}
	shared := os.Getenv("ROCELENS_CAPTURES")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared", "captures")
	}
	if _, err := os.Stat(shared); err == nil {
		dirs = append(dirs, shared)
	} else {
		t.Logf("without the public captures: %v", err)
	}
	read := 0
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			o := execute(t, nil, "analyze", "--json", path)
			switch o.code {
			case 0:
				read++
				validate(t, s, o.out)
			case exitFailure:
				assert.Empty(t, o.out, path)
				assert.True(t, strings.HasPrefix(o.err, "rocelens: "), "%s: %s", path, o.err)
				assert.Equal(t, 1, strings.Count(o.err, "\n"), "%s: one sentence: %s", path, o.err)
			default:
				assert.Fail(t, "exit code", "%s: %d", path, o.code)
			}
			return nil
		}))
	}
	assert.NotZero(t, read)
}

func TestUnreadableInputs(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	derived := filepath.Join(packageDirectory, "..", "..", "testdata", "derived")
	whole, err := os.ReadFile(filepath.Join(derived, "sit-clean.pcap"))
	if errors.Is(err, os.ErrNotExist) {
		whole, err = os.ReadFile(filepath.Join(derived, "sit-loss-nak.pcap"))
	}
	require.NoError(t, err)
	tests := []struct {
		name, path, says string
	}{
		{"missing", filepath.Join(dir, "nothing.pcap"), "no such file or directory"},
		{"empty", write("empty.pcap", nil), "the file is empty"},
		{"directory", dir, "it is a directory"},
		{"text", write("notes.txt", []byte("this is not a capture, it is a note to myself\n")), "not a capture"},
		{"image", write("photo.pcap", []byte("\x89PNG\r\n\x1a\n0000000000000000000000000")), "not a capture"},
		{"cut in the file header", write("short.pcap", whole[:10]), "ends inside its header"},
		{"cut in the first packet", write("first.pcap", whole[:50]), "no packet could be read"},
		{"broken block", filepath.Join(derived, "ct-huge-block.pcapng"), "4294967280"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, command := range [][]string{{"analyze"}, {"analyze", "--json"}} {
				o := execute(t, nil, append(command, test.path)...)
				assert.Equal(t, exitFailure, o.code)
				assert.Empty(t, o.out)
				assert.Contains(t, o.err, test.says)
				assert.Contains(t, o.err, test.path)
				assert.Equal(t, 1, strings.Count(o.err, "\n"), "one sentence: %s", o.err)
			}
			o := execute(t, nil, "dissect", test.path)
			assert.Equal(t, exitFailure, o.code)
			assert.Contains(t, o.err, test.says)
		})
	}
	t.Run("no permission", func(t *testing.T) {
		path := write("secret.pcap", whole)
		require.NoError(t, os.Chmod(path, 0))
		if f, err := os.Open(path); err == nil {
			f.Close()
			t.Skip("this user may read every file")
		}
		o := execute(t, nil, "analyze", path)
		assert.Equal(t, exitFailure, o.code)
		assert.Contains(t, o.err, "permission denied")
	})
}

func TestOneBadFileAmongSeveral(t *testing.T) {
	inTestdata(t)
	bad := filepath.Join(t.TempDir(), "empty.pcap")
	require.NoError(t, os.WriteFile(bad, nil, 0o600))
	o := execute(t, nil, "analyze", "--json", bad, "derived/sit-rnr.pcap")
	assert.Zero(t, o.code)
	assert.Contains(t, o.err, "the file is empty")
	var document struct {
		Partial bool
		Files   []struct {
			Name  string
			Error *string
		}
		Totals struct {
			RNR uint64 `json:"rnr_nak_packets"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(o.out), &document))
	assert.True(t, document.Partial)
	require.Len(t, document.Files, 2)
	require.NotNil(t, document.Files[0].Error)
	assert.Contains(t, *document.Files[0].Error, "the file is empty")
	assert.Nil(t, document.Files[1].Error)
	assert.EqualValues(t, 1, document.Totals.RNR)

	o = execute(t, nil, "analyze", bad, bad)
	assert.Equal(t, exitFailure, o.code)
	assert.Empty(t, o.out)
}

func TestSeveralFilesAreOneCapture(t *testing.T) {
	inTestdata(t)
	one := execute(t, nil, "analyze", "--json", "derived/sit-rnr.pcap")
	two := execute(t, nil, "analyze", "--json", "derived/sit-loss-nak.pcap", "derived/sit-rnr.pcap")
	type document struct {
		Files []struct {
			FirstNumber uint64 `json:"first_number"`
			Packets     uint64
		}
		Totals struct{ Packets uint64 }
	}
	var alone, both document
	require.NoError(t, json.Unmarshal([]byte(one.out), &alone))
	require.NoError(t, json.Unmarshal([]byte(two.out), &both))
	require.Len(t, both.Files, 2)
	assert.EqualValues(t, 1, both.Files[0].FirstNumber)
	assert.Equal(t, both.Files[0].Packets+1, both.Files[1].FirstNumber)
	assert.Equal(t, alone.Totals.Packets, both.Files[1].Packets)
	assert.Equal(t, both.Files[0].Packets+both.Files[1].Packets, both.Totals.Packets)
}

func TestAnalyzeReadsStandardInput(t *testing.T) {
	inTestdata(t)
	f, err := os.Open("allreduce-loss.pcapng")
	require.NoError(t, err)
	defer f.Close()
	fromFile := execute(t, nil, "analyze", "allreduce-loss.pcapng")
	fromInput := execute(t, iotestOneByte{f}, "analyze", "-")
	assert.Zero(t, fromInput.code)
	assert.Equal(t, strings.ReplaceAll(fromFile.out, "allreduce-loss.pcapng", "standard input"), fromInput.out)
}

// iotestOneByte hides everything of a file but Read, so that it is a pipe to its reader.
type iotestOneByte struct{ r io.Reader }

func (r iotestOneByte) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 1000)]) }

// TestFindingsEqualTheTruth compares the document with what the generator knows.
func TestFindingsEqualTheTruth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "generated.pcapng")
	f, err := os.Create(path)
	require.NoError(t, err)
	truth, err := capgen.Generate(f, pcapfile.FormatPcapng, capgen.Config{
		Seed: 11, Packets: 30_000, Background: 100,
		Mix: capgen.Mix{Write: 3, Send: 2, Read: 1, Atomic: 1}, MinMessage: 1, MaxMessage: 30_000,
		Faults: capgen.Faults{LossBefore: 0.1, LossAfter: 0.1, RNR: 0.1, Timeout: 0.02, Reorder: 0.1, Mark: 0.1, Corrupt: 0.05},
	})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	o := execute(t, nil, "analyze", "--json", path)
	require.Zero(t, o.code)
	var document struct {
		Totals map[string]uint64
		Flows  []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(o.out), &document))
	for name, want := range map[string]uint64{
		"packets": truth.Packets, "rdma_packets": truth.RDMAPackets, "messages": truth.Messages,
		"retransmitted_packets": truth.Retransmitted, "out_of_order_packets": truth.OutOfOrder,
		"nak_packets": truth.Naks, "rnr_nak_packets": truth.RNRNaks, "cnp_packets": truth.CNPs, "ce_packets": truth.CEMarked,
		"icrc_errors": truth.ICRCErrors, "malformed_packets": 0, "missing_psns": truth.MissingPSNs,
		"not_rdma_packets": truth.NotRDMA, "connections": truth.Connections,
	} {
		assert.Equal(t, want, document.Totals[name], name)
	}
	var resent float64
	for _, flow := range document.Flows {
		if n, known := flow["retransmitted"].(float64); known {
			resent += n
		}
	}
	assert.Equal(t, truth.Retransmitted, uint64(resent), "the flows add up to the totals")
}

func TestInterruptedPrintsNothing(t *testing.T) {
	for _, command := range []string{"analyze", "dissect"} {
		ctx, cancel := context.WithCancel(t.Context())
		silent, writer := io.Pipe() // nobody ever writes: the analysis waits
		var stdout, stderr bytes.Buffer
		done := make(chan int)
		go func() {
			done <- run(ctx, []string{command, "-"}, &streams{In: silent, Out: &stdout, Err: &stderr})
		}()
		cancel()
		assert.Equal(t, exitInterrupted, <-done)
		assert.Contains(t, stderr.String(), "interrupted")
		require.NoError(t, writer.Close())
	}
}

// closedPipe is what a reader leaves behind that has seen enough.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestClosedPipeIsNoError(t *testing.T) {
	inTestdata(t)
	for _, args := range [][]string{
		{"analyze", "allreduce-loss.pcapng"},
		{"analyze", "--json", "allreduce-loss.pcapng"},
		{"dissect", "allreduce-loss.pcapng"},
		{"dissect", "--json", "allreduce-loss.pcapng"},
		{"version"},
	} {
		var stderr bytes.Buffer
		assert.Zero(t, run(t.Context(), args, &streams{Out: closedPipe{}, Err: &stderr}), "%v", args)
		assert.Empty(t, stderr.String(), "%v", args)
	}
}

func TestColourOnlyPaints(t *testing.T) {
	inTestdata(t)
	plain := execute(t, nil, "analyze", "allreduce-loss.pcapng")
	assert.NotContains(t, plain.out, "\x1b")
	var out, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"analyze", "allreduce-loss.pcapng"}, &streams{Out: &out, Err: &stderr, OutTTY: true, Color: true}))
	painted := out.String()
	assert.Contains(t, painted, "\x1b[33m24 packets\x1b[0m")
	for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"} {
		painted = strings.ReplaceAll(painted, code, "")
	}
	assert.Equal(t, plain.out, painted)
}

func TestFlowsAreSortedAndLimited(t *testing.T) {
	inTestdata(t)
	flows := func(args ...string) []string {
		o := execute(t, nil, append([]string{"analyze", "allreduce-loss.pcapng"}, args...)...)
		require.Zero(t, o.code, o.err)
		_, table, _ := strings.Cut(o.out, "SOURCE")
		return strings.Split(strings.TrimSpace(table), "\n")[1:]
	}
	all := flows()
	require.Len(t, all, 8)
	assert.True(t, strings.HasPrefix(all[0], "10.16.0.3"), "most bytes first: %s", all[0])
	assert.Equal(t, all, flows("--all"))
	naks := flows("--sort", "naks", "--limit", "1")
	require.Len(t, naks, 2)
	assert.True(t, strings.HasPrefix(naks[0], "10.16.0.4"), naks[0])
	assert.Equal(t, "7 more flows, by naks; --all prints them.", naks[1])
	for key := range sortKeys {
		assert.ElementsMatch(t, all, flows("--sort", string(key)), key)
	}
	assert.Equal(t, exitUsage, execute(t, nil, "analyze", "--limit", "0", "allreduce-loss.pcapng").code)
	assert.Equal(t, exitUsage, execute(t, nil, "analyze", "--sort", "beauty", "allreduce-loss.pcapng").code)
}

func TestDissectGoldens(t *testing.T) {
	inTestdata(t)
	for name, args := range map[string][]string{
		"dissect-nak.txt":     {"-Y", "infiniband.aeth.syndrome.opcode == 3", "derived/sit-loss-nak.pcap"},
		"dissect-erspan.txt":  {"--packet", "4", "derived/enc-erspan2.pcap"},
		"dissect-summary.txt": {"--summary", "derived/base-cm-send-write-read.pcap"},
		"dissect-cut.txt":     {"--summary", "derived/ct-snap54.pcap"},
		"dissect-array.json":  {"--json", "-c", "2", "derived/sit-rnr.pcap"},
		"dissect-lines.json":  {"--json-lines", "-c", "2", "derived/sit-rnr.pcap"},
	} {
		o := execute(t, nil, append([]string{"dissect"}, args...)...)
		assert.Zero(t, o.code, "%s: %s", name, o.err)
		golden(t, name, o.out)
	}
}

func TestDissectJSON(t *testing.T) {
	inTestdata(t)
	array := execute(t, nil, "dissect", "--json", "allreduce-loss.pcapng")
	var packets []map[string]any
	require.NoError(t, json.Unmarshal([]byte(array.out), &packets))
	assert.Len(t, packets, 502)
	lines := execute(t, nil, "dissect", "--json-lines", "allreduce-loss.pcapng")
	decoder := json.NewDecoder(strings.NewReader(lines.out))
	for i := range packets {
		var p map[string]any
		require.NoError(t, decoder.Decode(&p))
		require.Equal(t, packets[i], p)
	}
	none := execute(t, nil, "dissect", "--json", "-Y", "infiniband.bth.opcode == 255", "allreduce-loss.pcapng")
	require.NoError(t, json.Unmarshal([]byte(none.out), &packets))
	assert.Empty(t, packets)
}

func TestDissectSelects(t *testing.T) {
	inTestdata(t)
	numbers := func(args ...string) []string {
		o := execute(t, nil, append([]string{"dissect", "--summary", "allreduce-loss.pcapng"}, args...)...)
		require.Zero(t, o.code, o.err)
		var out []string
		for line := range strings.Lines(o.out) {
			out = append(out, strings.Fields(line)[0])
		}
		return out
	}
	assert.Len(t, numbers(), 502)
	assert.Equal(t, []string{"1", "2", "3"}, numbers("-c", "3"))
	assert.Equal(t, []string{"168"}, numbers("--packet", "168"))
	assert.Len(t, numbers("-Y", "infiniband.aeth.syndrome.opcode == 3"), 3, "NAKs")
	assert.Len(t, numbers("-Y", "infiniband.bth.opcode == 0x81"), 4, "CNPs")
	assert.Len(t, numbers("-Y", "infiniband.bth.opcode == 0x81", "-c", "1"), 1)

	o := execute(t, nil, "dissect", "--packet", "503", "allreduce-loss.pcapng")
	assert.Equal(t, exitFailure, o.code)
	assert.Equal(t, "rocelens: no packet 503 in allreduce-loss.pcapng: it has 502 packets\n", o.err)
	o = execute(t, nil, "dissect", "-Y", "infiniband.bth.opcode ==", "allreduce-loss.pcapng")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "column")
	o = execute(t, nil, "dissect", "--json", "--summary", "allreduce-loss.pcapng")
	assert.Equal(t, exitUsage, o.code)
	o = execute(t, nil, "dissect", "derived/ct-cut.pcap")
	assert.Zero(t, o.code)
	assert.Contains(t, o.err, "ct-cut.pcap is incomplete: the file ends inside record 5")
}

func TestUsage(t *testing.T) {
	o := execute(t, nil)
	assert.Zero(t, o.code)
	for _, command := range []string{"analyze", "dissect", "version"} {
		assert.Contains(t, o.out, command)
	}
	o = execute(t, nil, "analyze")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "see rocelens --help")
	o = execute(t, nil, "version", "--json")
	assert.Zero(t, o.code)
	assert.True(t, json.Valid([]byte(o.out)))
}

func TestProgressLine(t *testing.T) {
	tests := []struct {
		progress analysis.Progress
		want     string
	}{
		{analysis.Progress{}, "0 B, 0 packets, 0 packets/s, 0s left"},
		{analysis.Progress{Packets: 1_234_567, BytesRead: 5_000_000, Rate: 3.2e6, Left: -1}, "5.00 MB, 1,234,567 packets, 3,200,000 packets/s"},
		{
			analysis.Progress{Packets: 10, BytesRead: 250_000_000, BytesTotal: 1_000_000_000, Rate: 10, Left: 90 * time.Second},
			"250 MB of 1.00 GB (25 %), 10 packets, 10 packets/s, 1m30s left",
		},
	}
	for _, test := range tests {
		var out bytes.Buffer
		writeProgress(&out, test.progress)
		assert.Equal(t, eraseLine+test.want, out.String())
	}
}

func TestProgressIsErased(t *testing.T) {
	var out bytes.Buffer
	stop := showProgress(&streams{Err: &out, ErrTTY: true}, analysis.New(analysis.Config{}))
	stop()
	assert.True(t, strings.HasSuffix(out.String(), eraseLine))
	out.Reset()
	showProgress(&streams{Err: &out}, analysis.New(analysis.Config{}))()
	assert.Empty(t, out.String())
}

func TestUnits(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, countText(n))
	}
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 9_999: "10.0 kB", 99_960: "100 kB", 999_500: "1.00 MB", 1_088_802_612: "1.09 GB"} {
		assert.Equal(t, want, bytesText(n))
	}
	for ns, want := range map[int64]string{
		0: "0 ns", 166_000: "166 µs", 1_280_000: "1.28 ms", 67_108_864: "67.1 ms", 16_700_000_000: "16.7 s",
		599_900_000_000: "600 s", 7_380_000_000_000: "2h3m0s",
	} {
		assert.Equal(t, want, durationText(ns))
	}
}
