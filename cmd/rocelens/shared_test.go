package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharedAnswer is what the golden of the public captures keeps of a document.
type sharedAnswer struct {
	Partial bool `json:"partial"`
	Dropped *int `json:"capture_dropped_packets"`
	Files   []struct {
		Format      string   `json:"format"`
		Compression string   `json:"compression"`
		Fault       string   `json:"fault"`
		Skipped     []string `json:"skipped"`
		Comments    []string `json:"comments"`
	} `json:"files"`
	NotRDMA []struct {
		Name    string `json:"name"`
		Packets uint64 `json:"packets"`
	} `json:"not_rdma"`
	Totals    map[string]uint64 `json:"totals"`
	Explained struct {
		Acknowledged uint64 `json:"missing_psns_acknowledged"`
		Rewritten    uint64 `json:"icrc_errors_port_rewritten"`
	} `json:"explained"`
	Pause json.RawMessage `json:"pause"`
}

// sharedFigures are in the order of the golden: what is there, what went wrong on the network, what could not be told.
var sharedFigures = [...]struct{ key, name string }{
	{"packets", "packets"},
	{"rdma_packets", "rdma"},
	{"connections", "connections"},
	{"flows", "flows"},
	{"messages", "messages"},
	{"retransmitted_packets", "retransmitted"},
	{"out_of_order_packets", "late"},
	{"mirror_copy_packets", "copies"},
	{"missing_psns", "missing"},
	{"nak_packets", "nak"},
	{"rnr_nak_packets", "rnr"},
	{"cnp_packets", "cnp"},
	{"ce_packets", "ce"},
	{"icrc_errors", "icrc-wrong"},
	{"icrc_undetermined", "icrc-unknown"},
	{"malformed_packets", "malformed"},
	{"truncated_packets", "truncated"},
	{"unsupported_packets", "unsupported"},
	{"pause_frames", "pause"},
	{"not_rdma_packets", "not-rdma"},
}

// describe is a paragraph of the golden. Figures that are 0 are left out.
func describe(t *testing.T, name string, o outcome) string {
	t.Helper()
	var b strings.Builder
	if o.out == "" {
		fmt.Fprintf(&b, "%s: exit %d\n", name, o.code)
		for line := range strings.Lines(o.err) {
			b.WriteString("  says " + line)
		}
		return b.String()
	}
	var a sharedAnswer
	require.NoError(t, json.Unmarshal([]byte(o.out), &a))
	require.Len(t, a.Files, 1)
	f := a.Files[0]
	form := f.Format
	if f.Compression != "" {
		form += " in " + f.Compression
	}
	fmt.Fprintf(&b, "%s: exit %d, %s\n ", name, o.code, form)
	for _, figure := range sharedFigures {
		if n := a.Totals[figure.key]; n != 0 || figure.key == "packets" {
			fmt.Fprintf(&b, " %s %d", figure.name, n)
		}
	}
	b.WriteByte('\n')
	if len(a.NotRDMA) > 0 {
		b.WriteString("  beside")
		for _, n := range a.NotRDMA {
			fmt.Fprintf(&b, " %s %d;", n.Name, n.Packets)
		}
		b.WriteByte('\n')
	}
	if n := a.Explained.Acknowledged; n != 0 {
		fmt.Fprintf(&b, "  of missing %d were acknowledged\n", n)
	}
	if n := a.Explained.Rewritten; n != 0 {
		fmt.Fprintf(&b, "  of icrc-wrong %d are in flows with a rewritten port\n", n)
	}
	if a.Totals["pause_frames"] != 0 {
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, a.Pause))
		fmt.Fprintf(&b, "  pause %s\n", &compact)
	}
	if a.Dropped != nil {
		fmt.Fprintf(&b, "  dropped %d\n", *a.Dropped)
	}
	if a.Partial {
		b.WriteString("  partial " + f.Fault + "\n")
	}
	for _, note := range f.Skipped {
		b.WriteString("  note " + note + "\n")
	}
	for _, comment := range f.Comments {
		b.WriteString("  comment on " + comment + "\n")
	}
	return b.String()
}

// sharedCaptures is the directory of the public captures; without it the test is skipped.
func sharedCaptures(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ROCELENS_CAPTURES")
	if dir == "" {
		dir = filepath.Join(packageDirectory, "..", "..", "..", "shared", "captures")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no captures in %s: set ROCELENS_CAPTURES to their directory", dir)
	}
	return dir
}

// TestEverySharedCaptureHasItsAnswer keeps what analyze says of every public capture, each checked by eye.
func TestEverySharedCaptureHasItsAnswer(t *testing.T) {
	t.Chdir(sharedCaptures(t))
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".tsv") || strings.HasSuffix(path, ".md") {
			return err
		}
		o := execute(t, nil, "analyze", "--json", path)
		assert.True(t, o.out != "" || o.err != "", "%s: no answer", path)
		b.WriteString(describe(t, filepath.ToSlash(path), o))
		return nil
	}))
	golden(t, "shared.golden", b.String())
}
