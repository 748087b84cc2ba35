package tree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
)

// difference is a place where the tree is not to be what tshark makes of the packet. The texts are a row of
// docs/tshark.md.
type difference struct {
	where   string // which packets
	tshark  string // what tshark 4.0 shows
	tree    string // what the tree shows
	clause  string // what decides it
	met     met    // where the difference must occur, so that the table stays honest
	applies func(p *dissector.Packet, err error, field string, row map[string]string) bool
}

// met says in which of the comparisons a difference occurs.
type met uint8

const (
	inOwn met = 1 << iota
	inCaptures
	inGenerated
	inLinks
	inDamaged
)

// behindBTH tells whether a field belongs to what follows the BTH.
func behindBTH(field string) bool {
	return strings.HasPrefix(field, "infiniband.") && !strings.HasPrefix(field, "infiniband.bth.") &&
		!strings.HasPrefix(field, "infiniband.lrh.") && !strings.HasPrefix(field, "infiniband.grh.")
}

// deliberate are all differences: of the transport, and below it.
var deliberate = slices.Concat(deliberateTransport, deliberateBelow)

// checkMet fails for each difference that was to occur and did not.
func checkMet(t *testing.T, where met, used map[string]bool) {
	t.Helper()
	for _, d := range deliberate {
		if d.met&where != 0 {
			assert.True(t, used[d.where], "nothing differs any more: %s", d.where)
		}
	}
}

// The table for people is written from the one above.
func TestDifferencesFromTsharkAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Where rocelens and tshark differ

` + "`make test-tshark`" + ` decodes captures and 10,000 generated packets (every opcode over IPv4, IPv6 and RoCEv1, bare
and in VLAN, QinQ, VXLAN, GENEVE, GRE, ERSPAN I to III, MPLS, IP and SRv6 tunnels) with tshark 4.0 and with the dissector, and
compares each field that has the same name in both. 3,584 more are on other links: Linux cooked captures of both versions, ERF records of
Ethernet, IP and native InfiniBand, raw IP and BSD loopback; and in 50,000 more one byte or two of the headers are wrong. These are the only differences that it lets pass. The table is
written by the test (` + "`make golden-update`" + `).

| Where | tshark 4.0 shows | rocelens shows | Decided by |
|---|---|---|---|
`)
	for _, d := range deliberate {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.where, d.tshark, d.tree, d.clause)
	}
	b.WriteString(`
## How trees were reviewed

The comparison covers every packet of the dissector's own captures, and with them every golden tree, and every packet of
the public captures that developers have beside the repository, which their licences keep out of it: 22,640 packets and
675,000 values when this was written. Values, their order and repetition must agree. Two things a comparison of values does not see were
reviewed by eye, over all golden packets but those of MetaRoCE, with a list of tshark's detailed output beside ours, field by field:

- Meanings and units. The texts of all 348 fields that both have were read; names are ours, and say the same.
- What tshark shows and rocelens does not. That is the contents of other protocols, the bits of Ethernet addresses,
  sums of flags that stand below them one by one, and what the table above has. Nothing of a header is left out: the leaves
  of a tree, put back where they stand, make the frame again, which is a test.

MetaRoCE is compared with the plugin in the same way, text included; its layout is in [metaroce-mr0.md](metaroce-mr0.md).
`)
	path := filepath.Join("..", "..", "docs", "tshark.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to write it")
	require.Empty(t, cmp.Diff(b.String(), string(got)))
}
