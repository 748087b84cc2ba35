package pcapfile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestReports(t *testing.T) {
	t.Parallel()
	const golden = "testdata/reports.golden"
	files, err := filepath.Glob("testdata/*.pcap*")
	require.NoError(t, err)
	var b strings.Builder
	for _, path := range files {
		c := readFile(t, path)
		r := c.Report
		fmt.Fprintf(&b, "%s: %s", filepath.Base(path), r.Format)
		if r.Compression != "" {
			fmt.Fprintf(&b, " in %s", r.Compression)
		}
		fmt.Fprintf(&b, ", %d packets\n", r.Packets)
		if r.Partial {
			fmt.Fprintf(&b, "  partial from byte %d: %s\n", r.FaultOffset, r.Fault)
		}
		for _, s := range r.Skipped {
			fmt.Fprintf(&b, "  skipped: %s\n", s)
		}
		for i := range c.Interfaces {
			x := &c.Index.Interfaces[i]
			fmt.Fprintf(&b, "  interface %d %q: link type %d, snap length %d, FCS %d, time %s s %+d s", i, c.Interfaces[i].Name,
				x.LinkType, x.SnapLength, x.FCSLength, x.Resolution, x.TimeOffset)
			if d := c.Interfaces[i].Dropped; d != nil {
				fmt.Fprintf(&b, ", %d dropped", *d)
			}
			b.WriteByte('\n')
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), b.String()))
}
