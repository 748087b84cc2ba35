package tree_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldens names frames of the dissector's test captures whose whole tree is kept. Each stands for something
// that no other has.
var goldens = []struct {
	name    string // of the golden file
	capture string
	frames  []uint64
}{
	{"cm-and-write", "base-cm-send-write-read.pcap", []uint64{1, 6, 7}}, // management datagram, WRITE First and its successor
	{"cm-messages", "cm-messages.pcap", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}},
	{"cm-reject", "sit-cm-reject.pcap", []uint64{2}},
	{"nfs", "applications.pcap", []uint64{4, 6, 8}},
	{"smb-direct", "applications.pcap", []uint64{13, 14, 16}},
	{"iser", "applications.pcap", []uint64{20, 21}},
	{"nvme", "applications.pcap", []uint64{25, 26, 27, 28, 29}},
	{"unknown-application", "applications.pcap", []uint64{33}}, // the bytes of one, on a port that is nobody's
	{"read", "sit-read.pcap", []uint64{2, 3}},
	{"roce-vectors", "scapy-roce-vectors.pcap", []uint64{2, 3, 4, 6}}, // IPv6, CNP, RoCEv1, a bad ICRC
	{"atomics", "sit-atomics.pcap", []uint64{1, 2}},
	{"immediate-invalidate", "sit-imm-inv.pcap", []uint64{2, 3}},
	{"xrc", "sit-xrc.pcap", []uint64{1}},
	{"nak", "sit-nak-all.pcap", []uint64{1, 8}},
	{"rnr", "sit-rnr.pcap", []uint64{2}},
	{"pad", "sit-padcnt.pcap", []uint64{1, 5}},
	{"ce-mark", "sit-ecn-cnp.pcap", []uint64{3, 4, 5}},
	{"pfc", "pfc.pcap", []uint64{1, 6, 8, 9}},
	{"qinq", "enc-qinq.pcap", []uint64{4}},
	{"erspan3", "enc-erspan3.pcap", []uint64{4}},
	{"erspan2", "enc-erspan2.pcap", []uint64{4}},
	{"vxlan", "enc-vxlan.pcap", []uint64{4}},
	{"geneve", "enc-geneve.pcap", []uint64{4}},
	{"gre", "enc-gre-teb.pcap", []uint64{4}},
	{"mpls", "enc-mpls.pcap", []uint64{4}},
	{"sll2", "enc-sll2.pcap", []uint64{4}},
	{"loopback", "enc-loopback.pcap", []uint64{4}},
	{"cut-50", "ct-snap50.pcap", []uint64{6}},
	{"cut-54", "ct-snap54.pcap", []uint64{6}},
	{"cut-64", "ct-snap64.pcap", []uint64{1, 6}},
	{"fcs", "ct-fcs4.pcap", []uint64{5}},
	{"not-roce", "neg-dns-sport4791.pcap", []uint64{1, 2}},
	{"reserved-opcode", "sit-reserved-opcodes.pcap", []uint64{1, 10}},
	{"metaroce", "metaroce-mr0.pcap", []uint64{1, 8, 9, 14, 15, 18}},
	{"metaroce-unusual", "metaroce-mr0.pcap", []uint64{23, 24, 25, 26, 27, 28, 29, 30, 31, 32}},
}

func TestGoldenTrees(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			var got bytes.Buffer
			var p dissector.Packet
			tracker := conversation.New()
			for _, f := range framefile.Read(t, filepath.Join("..", "testdata", g.capture)) {
				err := tracker.Observe(&p, dissector.Decode(f.Data, f.Meta, &p))
				if !slices.Contains(g.frames, f.Meta.Number) {
					continue
				}
				line := tree.Summary(&p, err)
				got.WriteString(line.Source + " > " + line.Destination + "  " + line.Protocol + "  " + line.Info + "\n")
				require.NoError(t, tree.WriteText(&got, tree.Build(&p, err)))
				got.WriteByte('\n')
			}
			path := filepath.Join("testdata", g.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run with -update to write it")
			require.Empty(t, cmp.Diff(string(want), got.String()))
		})
	}
}
