package analysis_test

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
)

// sharedCaptures is the directory of public captures, which are not part of the project.
func sharedCaptures(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ROCELENS_CAPTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "captures")
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no captures in %s: set ROCELENS_CAPTURES to their directory", dir)
	}
	return dir
}

// ours is what the analysis made of one packet.
type ours struct {
	found         bool
	opcode        uint8
	destinationQP uint32
	psn           uint32
	icrc          dissector.ICRCState
}

type collector struct{ packets []ours }

func (c *collector) Packet(e *analysis.PacketEvent) error {
	o := ours{found: e.Packet.IsRDMA(), icrc: e.ICRC}
	if o.found {
		o.opcode, o.destinationQP, o.psn = uint8(e.Packet.BTH.Opcode), e.Packet.BTH.DestinationQP, e.Packet.BTH.PSN
	}
	c.packets = append(c.packets, o)
	return nil
}

// deliberate are the packets that tshark 4.0.17 takes for something else, with the reason.
var deliberate = map[string]struct {
	more, fewer int // RDMA packets that we find beyond tshark's, and it beyond ours
	reason      string
}{
	"oferby-proxy/roce.pcap":      {more: 37, reason: "UDP source port 69 makes tshark read TFTP; the destination port is RoCEv2's"},
	"derived/enc-vxlan-8472.pcap": {more: 17, reason: "tshark does not know Linux's port for VXLAN"},
	"derived/sit-reserved-opcodes.pcap": {more: 1, fewer: 3, reason: "tshark calls opcode 0x5f malformed; it is reserved, and its BTH is whole. " +
		"Opcodes 0xc0 and up are not RoCE's: they are kept out of its figures"},
	"derived/neg-short-4791.pcap": {fewer: 3, reason: "transport version 8, unknown opcode, wrong ICRC: the port alone makes no RoCE packet"},
}

// TestPacketsOfPublicCapturesEqualTshark reads every capture for which tshark's answer was kept in the way
// that users do, and compares the number of packets, and opcode, destination QP and PSN of each.
func TestPacketsOfPublicCapturesEqualTshark(t *testing.T) {
	dir := sharedCaptures(t)
	files, compared := 0, 0
	for _, table := range filesWith(t, dir, ".tshark.tsv") {
		path := strings.TrimSuffix(table, ".tshark.tsv")
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		c := &collector{}
		result := analyzeFile(t, path, c)

		more, fewer, index := 0, 0, 0
		for _, row := range readTable(t, table) {
			if row["_ws.col.Protocol"] == "PCAPNG" {
				continue // a block of the file that tshark numbers as a packet
			}
			if index >= len(c.packets) {
				assert.Fail(t, "packet missing", "%s frame %s", name, row["frame.number"])
				break
			}
			got := c.packets[index]
			index++
			theirs := last(row["infiniband.bth.opcode"])
			switch {
			case theirs == "" && got.found:
				more++
				continue
			case theirs != "" && !got.found:
				fewer++
				continue
			case theirs == "":
				continue
			}
			compared++
			want := ours{
				found: true, icrc: got.icrc, opcode: uint8(number(t, theirs)),
				destinationQP: uint32(number(t, last(row["infiniband.bth.destqp"]))),
				psn:           uint32(number(t, last(row["infiniband.bth.psn"]))),
			}
			assert.Equal(t, want, got, "%s frame %d", name, index)
		}
		files++
		d := deliberate[name]
		assert.Equal(t, [2]int{d.more, d.fewer}, [2]int{more, fewer}, "%s: RDMA packets that only we find, that only tshark finds", name)
		assert.Len(t, c.packets, index, "%s: packets", name)
		assert.EqualValues(t, index, result.Totals.Packets, "%s: packets in the totals", name)
	}
	t.Logf("%d packets of %d files compared", compared, files)
	assert.NotZero(t, compared)
}

// TestICRCsOfPublicCaptures compares the verdicts with those of an independent check.
func TestICRCsOfPublicCaptures(t *testing.T) {
	dir := sharedCaptures(t)
	compared := 0
	for _, table := range filesWith(t, dir, ".icrc.tsv") {
		path := strings.TrimSuffix(table, ".icrc.tsv")
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		c := &collector{}
		analyzeFile(t, path, c)
		for _, row := range readTable(t, table) {
			i := int(number(t, row["frame"])) - 1
			if i >= len(c.packets) || !c.packets[i].found {
				continue
			}
			switch row["verdict"] {
			case "ok":
				assert.Equal(t, dissector.ICRCGood, c.packets[i].icrc, "%s frame %d", name, i+1)
				compared++
			case "BAD":
				assert.NotEqual(t, dissector.ICRCGood, c.packets[i].icrc, "%s frame %d", name, i+1)
				compared++
			case "cut":
				assert.NotContains(t, []dissector.ICRCState{dissector.ICRCGood, dissector.ICRCBad}, c.packets[i].icrc, "%s frame %d", name, i+1)
				compared++
			}
		}
	}
	t.Logf("%d verdicts compared", compared)
	assert.NotZero(t, compared)
}

func analyzeFile(t *testing.T, path string, sinks ...any) analysis.Result {
	t.Helper()
	source, err := pcapfile.Open(path, pcapfile.Options{})
	require.NoError(t, err)
	result, err := analysis.Run(t.Context(), source, analysis.Config{}, sinks...)
	require.NoError(t, err)
	require.NoError(t, source.Close())
	return result
}

func filesWith(t *testing.T, dir, suffix string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// readTable reads a tab-separated file with a header line.
func readTable(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	require.NoError(t, err)
	out := make([]map[string]string, 0, len(rows))
	for _, row := range rows[1:] {
		fields := map[string]string{}
		for i, v := range row {
			if i < len(rows[0]) {
				fields[rows[0][i]] = v
			}
		}
		out = append(out, fields)
	}
	return out
}

// last is the innermost of the values of a field that nested headers repeat.
func last(v string) string { return v[strings.LastIndexByte(v, ',')+1:] }

func number(t *testing.T, v string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(v, 0, 64)
	require.NoError(t, err)
	return n
}
