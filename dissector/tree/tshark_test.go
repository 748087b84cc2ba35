package tree_test

import (
	"encoding/csv"
	"errors"
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
	"github.com/rocelens/rocelens/dissector/infiniband"
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
					used[deliberate[excuse].why] = true
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

// difference is a place where the tree is not to be what tshark makes of the packet.
type difference struct {
	why     string
	applies func(p *dissector.Packet, err error, field string, row map[string]string) bool
}

// behindBTH tells whether a field belongs to what follows the BTH.
func behindBTH(field string) bool {
	return strings.HasPrefix(field, "infiniband.") && !strings.HasPrefix(field, "infiniband.bth.") &&
		!strings.HasPrefix(field, "infiniband.lrh.") && !strings.HasPrefix(field, "infiniband.grh.")
}

var deliberate = []difference{
	{
		"UDP port 4791 alone does not make a packet RoCE: version 0, a plausible P_Key or a right ICRC do (IBTA annex A17)",
		func(p *dissector.Packet, err error, field string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrNotRDMA) && p.Fault.Reason == dissector.ReasonNotRoCE && strings.HasPrefix(field, "infiniband.")
		},
	},
	{
		"of a header that the capture cut, the fields before the cut are shown; tshark shows none",
		func(_ *dissector.Packet, err error, field string, row map[string]string) bool {
			return errors.Is(err, dissector.ErrTruncated) && behindBTH(field) && row[field] == ""
		},
	},
	{
		"the payload behind the headers was cut, which stops tshark's dissection of the management datagram",
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return int(p.Meta.OriginalLength) > len(p.Data) && strings.HasPrefix(field, "infiniband.mad.") && row[field] == ""
		},
	},
	{
		"CNP and XRC are opcodes (IBTA annexes A17.9.3 and A14) that tshark 4.0 does not know, so it finds nothing behind the BTH",
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			s := p.BTH.Opcode.Service()
			return behindBTH(field) && (s == infiniband.ServiceCNP || s == infiniband.ServiceXRC)
		},
	},
	{
		"a frame check sequence, known from the capture's link type, is not the ICRC",
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Meta.FCSLength != 0 && field == "infiniband.invariant.crc"
		},
	},
	{
		"a SEND may be of any length from zero bytes (IBTA volume 1, chapter 9); of four or less tshark finds it malformed and stops before the ICRC",
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return row["_ws.malformed"] != "" && field == "infiniband.invariant.crc"
		},
	},
	{
		"bit 7 of a syndrome is zero in every defined one (IBTA section 9.7.5.2), so its other bits mean nothing when it is set",
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.AETH.Syndrome&0x80 != 0 && strings.HasPrefix(field, "infiniband.aeth.syndrome.")
		},
	},
	{
		"opcodes of reliable datagrams whose reserved byte is not zero are ConnectX's DC transport, whose headers are not published",
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Fault.Reason == dissector.ReasonNotRD && behindBTH(field)
		},
	},
	{
		"the frame of an ERF capture is the whole record",
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Meta.LinkType == dissector.LinkTypeERF && strings.HasPrefix(field, "frame.")
		},
	},
	{
		"the outer tag of two is a VLAN tag as well; tshark calls its fields ieee8021ad",
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Ethernet.VLANCount > 1 && strings.HasPrefix(field, "vlan.")
		},
	},
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
	for _, d := range deliberate {
		assert.True(t, used[d.why], "nothing differs any more: %s", d.why)
	}
}

// The dissector's own captures are shown to tshark itself.
func TestFieldsEqualTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	for _, name := range []string{
		"base-cm-send-write-read.pcap", "sit-nak-all.pcap", "sit-atomics.pcap", "sit-imm-inv.pcap", "sit-read.pcap",
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
