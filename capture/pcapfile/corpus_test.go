package pcapfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused is the count of a file that is no capture here.
const refused = -1

// differences are the files of which tshark 4.0.17 counts other packets, with the count that is right here.
var differences = map[string]struct {
	packets int
	reason  string
}{
	"derived/ct-cut.pcapng":                                        {17, "tshark counts custom blocks as packets"},
	"derived/ct-multi-if.pcapng":                                   {17, "tshark counts custom blocks as packets"},
	"pcapng-test-generator/be_test017.pcapng":                      {0, "tshark counts custom blocks as packets"},
	"pcapng-test-generator/le_test017.pcapng":                      {0, "tshark counts custom blocks as packets"},
	"pcapng-test-generator/be_test102.pcapng":                      {5, "tshark counts custom blocks as packets"},
	"pcapng-test-generator/le_test102.pcapng":                      {5, "tshark counts custom blocks as packets"},
	"derived/ct-len-mismatch.pcapng":                               {1, "the file ends where the first length says, so the packet is whole"},
	"gopacket/be_test901.pcapng":                                   {2, "a section of an unknown version is passed over, the one after it is read"},
	"gopacket/le_test901.pcapng":                                   {2, "a section of an unknown version is passed over, the one after it is read"},
	"wireshark-wiki-samples/BT_USB_LinCooked_Eth_80211_RT.ntar.gz": {27226, "what a link type means is not the reader's business; tshark stops at a short Bluetooth packet"},
	"PcapPlusPlus-fuzz/cf-min-6604968558198784":                    {0, "version 2.2 with its lengths swapped: no file of this century"},
	"libtrace/5_packets.erf":                                       {refused, "bare ERF"},
	"libtrace/5_packets.erf.xz":                                    {refused, "bare ERF"},
	"libtrace/provenance.erf":                                      {refused, "bare ERF"},
	"wireshark-wiki-samples/erf-ethernet-example.erf":              {refused, "bare ERF"},
}

// corpus is the folder of public captures, which are not part of the project.
func corpus(t *testing.T) string {
	t.Helper()
	root := os.Getenv("ROCELENS_CAPTURES")
	if root == "" {
		root = "../../../shared/captures"
	}
	if _, err := os.Stat(filepath.Join(root, "INDEX.md")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the public captures are not here; ROCELENS_CAPTURES names their folder")
	}
	return root
}

// tsharkCounts reads the index of the captures.
func tsharkCounts(t *testing.T, root string) map[string]int {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(root, "INDEX.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("^\\| `([^`]+)` \\|[^|]*\\|[^|]*\\| *(\\d+) *\\|")
	item := regexp.MustCompile("^- `([^`]+)` \\d+ B, (\\d+) packets")
	counts := map[string]int{}
	folder := ""
	for line := range strings.Lines(string(index)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			folder = strings.TrimSpace(name)
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			m = item.FindStringSubmatch(line)
		}
		if m != nil {
			counts[folder+"/"+m[1]], err = strconv.Atoi(m[2])
			require.NoError(t, err)
		}
	}
	return counts
}

func TestPublicCapturesCountAsTsharkCounts(t *testing.T) {
	t.Parallel()
	root := corpus(t)
	counts := tsharkCounts(t, root)
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if ext := filepath.Ext(path); d.IsDir() || ext == ".tsv" || ext == ".md" {
			return nil
		}
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		want, listed := counts[filepath.ToSlash(name)]
		if d, ok := differences[filepath.ToSlash(name)]; ok {
			want, listed = d.packets, true
		}
		seen++
		if want == refused {
			_, err := Open(path, Options{})
			require.ErrorIs(t, err, ErrNotCapture, name)
			return nil
		}
		c := readFile(t, path)
		if listed {
			assert.Len(t, c.Frames, want, name)
		}
		if c.Report.Compression == "" {
			checkReferences(t, path, c)
		}
		return nil
	}))
	assert.Positive(t, seen)
	t.Logf("%d files", seen)
}
