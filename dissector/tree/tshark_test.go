package tree_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// compared are the fields that must equal tshark's, in every packet that tshark takes for InfiniBand.
var compared = []string{
	"frame.len", "frame.cap_len", "eth.src", "eth.dst", "vlan.id", "vlan.priority",
	"ip.src", "ip.dst", "ip.id", "ip.ttl", "ip.dsfield.dscp", "ip.dsfield.ecn",
	"ipv6.src", "ipv6.dst", "ipv6.tclass.dscp", "ipv6.tclass.ecn", "udp.srcport", "udp.dstport",
	"infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.grh.sgid", "infiniband.grh.dgid",
	"infiniband.bth.opcode", "infiniband.bth.se", "infiniband.bth.m", "infiniband.bth.padcnt", "infiniband.bth.tver",
	"infiniband.bth.p_key", "infiniband.bth.destqp", "infiniband.bth.a", "infiniband.bth.psn",
	"infiniband.deth.q_key", "infiniband.deth.srcqp",
	"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
	"infiniband.aeth.syndrome", "infiniband.aeth.syndrome.opcode", "infiniband.aeth.syndrome.credit_count",
	"infiniband.aeth.syndrome.timer", "infiniband.aeth.syndrome.error_code", "infiniband.aeth.msn",
	"infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt", "infiniband.atomicacketh.origremdt",
	"infiniband.immdt", "infiniband.ieth", "infiniband.invariant.crc", "infiniband.variant.crc",
	"infiniband.mad.mgmtclass", "infiniband.mad.method", "infiniband.mad.attributeid", "infiniband.mad.transactionid",
}

// beneath are fields of the layers below InfiniBand that only tshark itself is asked for.
var beneath = []string{
	"eth.type", "vlan.etype", "vlan.dei", "ip.hdr_len", "ip.len", "ip.flags.df", "ip.flags.mf", "ip.frag_offset",
	"ip.proto", "ip.checksum", "ipv6.flow", "ipv6.plen", "ipv6.nxt", "ipv6.hlim", "udp.length", "udp.checksum",
	"infiniband.grh.tclass", "infiniband.grh.flowlabel", "infiniband.grh.paylen", "infiniband.grh.nxthdr", "infiniband.grh.hoplmt",
	"erspan.version", "erspan.vlan", "erspan.cos", "erspan.encap", "erspan.bso", "erspan.truncated", "erspan.spanid", "erspan.index",
	"erspan.timestamp", "erspan.sgt", "erspan.p", "erspan.ft", "erspan.hw", "erspan.direction", "erspan.gra", "erspan.o",
	"vxlan.flags", "vxlan.gbp", "vxlan.vni", "geneve.version", "geneve.proto_type", "geneve.vni", "geneve.option.class", "geneve.option.type",
	"gre.flags_and_version", "gre.proto", "gre.key", "gre.sequence_number", "mpls.label", "mpls.exp", "mpls.bottom", "mpls.ttl",
	"infiniband.cm.req", "infiniband.cm.req.serviceid", "infiniband.cm.req.serviceid.dport", "infiniband.cm.req.localqpn",
	"infiniband.cm.req.startpsn", "infiniband.cm.req.pppmtu", "infiniband.cm.req.retrcount", "infiniband.cm.req.rnrretrcount",
	"infiniband.cm.req.prim_localgid_ipv4", "infiniband.cm.req.prim_localacktout", "infiniband.cm.req.ip_cm.sip4", "infiniband.cm.req.ip_cm.dip4",
	"infiniband.cm.req.ip_cm.sport", "infiniband.cm.rep", "infiniband.cm.rep.remotecommid", "infiniband.cm.rep.localqpn",
	"infiniband.cm.rep.startpsn", "infiniband.cm.rej.reason", "infiniband.cm.rtu.localcommid", "infiniband.cm.dreq.remotecommid",
	"sll.pkttype", "sll.hatype", "sll.halen", "sll.src.eth", "sll.etype", "sll.ifindex", "null.family",
}

// compare holds the trees of a capture against tshark's rows, one a packet, and returns how many it compared.
// It notes in used which of the deliberate differences it met.
func compare(t *testing.T, frames []framefile.Frame, rows []map[string]string, used map[string]bool) (packets int) {
	t.Helper()
	byNumber := map[uint64]framefile.Frame{}
	for _, f := range frames {
		byNumber[f.Meta.Number] = f
	}
	var p dissector.Packet
	blocks := uint64(0)
	for _, row := range rows {
		if row["_ws.col.Protocol"] == "PCAPNG" {
			blocks++ // tshark numbers custom blocks, too
			continue
		}
		number, err := strconv.ParseUint(row["frame.number"], 10, 64)
		require.NoError(t, err)
		f, ok := byNumber[number-blocks]
		if !ok || row["infiniband.bth.opcode"] == "" {
			continue
		}
		packets++
		err = dissector.Decode(f.Data, f.Meta, &p)
		ours := fields(tree.Build(&p, err))
		for _, field := range slices.Concat(compared, beneath) {
			theirs, asked := row[field]
			excuse := slices.IndexFunc(deliberate, func(d difference) bool { return d.applies(&p, err, field, row) })
			if !asked {
				continue
			}
			want := normalAll(theirs)
			if field == "infiniband.immdt" || field == "infiniband.ieth" {
				want = hexOnce(theirs) // printed as bytes, and twice
			}
			if excuse >= 0 {
				if !slices.Equal(want, ours[field]) {
					used[deliberate[excuse].where] = true
				}
				continue
			}
			assert.Equal(t, want, ours[field], "frame %s, %s (%v)", row["frame.number"], field, p.BTH.Opcode)
		}
		if t.Failed() {
			return packets
		}
	}
	return packets
}

// fields collects the values of every field of a tree in tshark's order and a common form.
func fields(root *tree.Node) map[string][]string {
	values := map[string][]string{}
	root.Walk(func(n *tree.Node) bool {
		if n.Field != "" && n.Value != nil {
			values[n.Field] = append(values[n.Field], normal(fmt.Sprint(n.Value)))
		}
		return true
	})
	return values
}

// normalAll splits tshark's list of the values of a field.
func normalAll(text string) []string {
	if text == "" {
		return nil
	}
	var values []string
	for v := range strings.SplitSeq(text, ",") {
		values = append(values, normal(v))
	}
	return values
}

func hexOnce(text string) []string {
	first, _, _ := strings.Cut(text, ",")
	n, err := strconv.ParseUint(first, 16, 32)
	if err != nil {
		return nil
	}
	return []string{strconv.FormatUint(n, 10)}
}

// normal brings numbers of any base, flags and addresses to one form.
func normal(v string) string {
	switch v {
	case "true", "True":
		return "1"
	case "false", "False":
		return "0"
	}
	if n, err := strconv.ParseUint(v, 0, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return strings.TrimPrefix(v, "::ffff:")
}

func readRows(t *testing.T, text string) []map[string]string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	records, err := r.ReadAll()
	require.NoError(t, err)
	require.NotEmpty(t, records)
	rows := make([]map[string]string, 0, len(records))
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, v := range record {
			row[records[0][i]] = v
		}
		rows = append(rows, row)
	}
	return rows
}

// The public captures have tshark's answer lying next to them.
func TestFieldsEqualTsharkInPublicCaptures(t *testing.T) {
	dir := framefile.Shared(t, filepath.Join("..", ".."))
	packets, used := 0, map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		capture, ok := strings.CutSuffix(path, ".tshark.tsv")
		if err != nil || !ok {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t.Run(filepath.Base(capture), func(t *testing.T) {
			packets += compare(t, framefile.Read(t, capture), readRows(t, string(text)), used)
		})
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d packets compared", packets)
	require.Greater(t, packets, 7000)
	checkMet(t, inCaptures, used)
}

// The dissector's own captures are shown to tshark itself.
func TestFieldsEqualTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	for _, name := range []string{
		"base-cm-send-write-read.pcap", "sit-cm-reject.pcap", "sit-nak-all.pcap", "sit-atomics.pcap", "sit-imm-inv.pcap", "sit-read.pcap",
		"rocev2-ipv6.pcap", "roce-v1-vlan-mixed.pcap", "enc-qinq.pcap", "enc-erspan2.pcap",
		"enc-erspan3.pcap", "enc-vxlan.pcap", "enc-geneve.pcap", "enc-gre-teb.pcap", "enc-mpls.pcap", "enc-sll2.pcap",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "testdata", name)
			args := []string{"-r", path, "-T", "fields", "-E", "header=y", "-e", "frame.number"}
			for _, f := range slices.Concat(compared, beneath) {
				args = append(args, "-e", f)
			}
			out, err := exec.CommandContext(t.Context(), tshark, args...).Output()
			require.NoError(t, err)
			require.NotZero(t, compare(t, framefile.Read(t, path), readRows(t, string(out)), map[string]bool{}))
		})
	}
}
