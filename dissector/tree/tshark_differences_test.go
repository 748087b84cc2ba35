package tree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
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
	inCaptures met = 1 << iota
	inGenerated
	inManagement
)

// behindBTH tells whether a field belongs to what follows the BTH.
func behindBTH(field string) bool {
	return strings.HasPrefix(field, "infiniband.") && !strings.HasPrefix(field, "infiniband.bth.") &&
		!strings.HasPrefix(field, "infiniband.lrh.") && !strings.HasPrefix(field, "infiniband.grh.")
}

var deliberate = []difference{
	{
		"UDP port 4791, and the packet has an implausible P_Key or version and no right ICRC",
		"InfiniBand, by the port alone", "no RoCE",
		"IBTA volume 1, annex A17: RoCEv2 ends in an ICRC; section 10.9.1.1: no P_Key has the base 0",
		inCaptures | inGenerated,
		func(p *dissector.Packet, err error, field string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrNotRDMA) && p.Fault.Reason == dissector.ReasonNotRoCE &&
				(strings.HasPrefix(field, "infiniband.") || field == "eth.padding")
		},
	},
	{
		"A header that the capture cut", "none of its fields", "the fields before the cut, and where it is",
		"a cut copy says nothing against its sender; what was captured is known",
		inCaptures,
		func(_ *dissector.Packet, err error, field string, row map[string]string) bool {
			return errors.Is(err, dissector.ErrTruncated) && behindBTH(field) && row[field] == ""
		},
	},
	{
		"A management datagram whose end was cut", "nothing of it", "the fields that were captured",
		"IBTA volume 1, section 13.4.2: the common header stands in the first 24 bytes",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return int(p.Meta.OriginalLength) > len(p.Data) && row[field] == "" &&
				(strings.HasPrefix(field, "infiniband.mad.") || strings.HasPrefix(field, "infiniband.cm."))
		},
	},
	{
		"CNP and XRC opcodes", "unknown opcode, nothing behind the BTH", "their headers",
		"IBTA volume 1, annexes A17.9.3 and A14",
		inCaptures | inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			s := p.BTH.Opcode.Service()
			return behindBTH(field) && (s == infiniband.ServiceCNP || s == infiniband.ServiceXRC)
		},
	},
	{
		"FLUSH and ATOMIC WRITE", "unknown opcode, nothing behind the BTH", "FETH, RETH, payload and ICRC",
		"IBTA volume 1, annex A19",
		inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			operation := p.BTH.Opcode.Operation()
			return behindBTH(field) && (operation == infiniband.Flush || operation == infiniband.AtomicWrite)
		},
	},
	{
		"An opcode of the reliable datagram that has no name", "malformed, without the BTH's own fields", "the BTH, and that the opcode is not decoded",
		"IBTA volume 1, section 9.2: the BTH has one layout for all opcodes",
		inGenerated,
		func(p *dissector.Packet, err error, field string, row map[string]string) bool {
			_, known := p.BTH.Opcode.Headers()
			return errors.Is(err, dissector.ErrUnsupported) && p.BTH.Opcode.Service() == infiniband.ServiceRD && !known &&
				row["infiniband.bth.opcode"] == "" && strings.HasPrefix(field, "infiniband.bth.")
		},
	},
	{
		"Reliable datagrams", "RDETH and what follows eight bytes too late", "RDETH directly behind the BTH",
		"IBTA volume 1, section 9.2: extended headers follow the BTH",
		inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.BTH.Opcode.Service() == infiniband.ServiceRD && p.Has&infiniband.HasRDETH != 0 && behindBTH(field)
		},
	},
	{
		"Opcodes of reliable datagrams with a reserved byte that is not zero", "RDETH and DETH", "not decoded: the DC transport of ConnectX",
		"IBTA volume 1, section 9.3: the RDETH's first byte is zero; the headers of the DC transport are not published",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Fault.Reason == dissector.ReasonNotRD && behindBTH(field)
		},
	},
	{
		"A transport header version other than 0", "decoded as version 0", "the BTH, and that the version is not supported",
		"IBTA volume 1, section 9.2.3: the version is 0",
		inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Fault.Reason == dissector.ReasonTransportHeader && (behindBTH(field) || field == "eth.padding")
		},
	},
	{
		"A packet whose opcode is not decoded, in a short frame", "Ethernet padding by the IP length", "one run of bytes behind the BTH",
		"where payload and pad of an unknown opcode end is not known",
		inGenerated,
		func(p *dissector.Packet, err error, field string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrUnsupported) && p.Has != 0 && field == "eth.padding"
		},
	},
	{
		"A frame check sequence that the link type announces", "taken for the ICRC", "the FCS and the ICRC",
		"pcap file header: the FCS length of the link type",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Meta.FCSLength != 0 && field == "infiniband.invariant.crc"
		},
	},
	{
		"A payload that looks like RPC-over-RDMA or another protocol", "another protocol's fields; malformed, without ICRC, when they do not fit", "payload and ICRC",
		"IBTA volume 1, chapter 9: a SEND carries any bytes, from none on; nothing in it names a protocol",
		inCaptures | inGenerated,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			headers := 0
			for _, l := range p.Layers {
				if l.Type == dissector.LayerEthernet {
					headers++
				}
			}
			return (row["_ws.malformed"] != "" && field == "infiniband.invariant.crc") ||
				(strings.HasPrefix(field, "eth.") && strings.Count(row["eth.type"], ",") >= headers) // a further one, in the payload
		},
	},
	{
		"A syndrome whose bit 7 is set", "a code of the type in bits 6 and 5", "reserved",
		"IBTA volume 1, section 9.7.5.2: bit 7 is zero in every syndrome that is defined",
		inCaptures | inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.AETH.Syndrome&0x80 != 0 && strings.HasPrefix(field, "infiniband.aeth.syndrome.")
		},
	},
	{
		"Flow label and packet rate of a path in a REQ", "bits of other fields: it reads 24 bits under a mask for 32", "20 and 6 bits",
		"IBTA volume 1, section 12.6.5, table of the REQ's contents",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			name, ok := strings.CutPrefix(field, "infiniband.cm.req.")
			return ok && (strings.HasSuffix(name, "_flowlabel") || strings.HasSuffix(name, "_pktrate") || strings.HasSuffix(name, "_reserved0"))
		},
	},
	{
		"GIDs in a REQ", "the last four bytes as an IPv4 address when the packet itself travels over IPv4, otherwise all", "an IPv4 address when the GID has one",
		"IBTA volume 1, annex A17: GIDs of IPv4 have the prefix ::ffff:0:0/96 (RFC 4291, section 2.5.5.2)",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			switch strings.TrimSuffix(field, "_ipv4") {
			case "infiniband.cm.req.prim_localgid", "infiniband.cm.req.prim_remotegid":
				return true
			}
			return false
		},
	},
	{
		"The six reserved bits of a REJ", "two of them", "six",
		"IBTA volume 1, section 12.6.7, table of the REJ's contents",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return field == "infiniband.cm.rej.reserved0"
		},
	},
	{
		"The length of a GENEVE option", "in bytes, with its header", "as on the wire, in words of four bytes",
		"RFC 8926, section 3.5",
		inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Tunnel.Depth > 0 && field == "geneve.option.length"
		},
	},
	{
		"The outer tag of two", "fields of ieee8021ad", "a VLAN tag like the other",
		"IEEE 802.1Q-2018, clause 9.3: S-tags and C-tags have one layout",
		inCaptures | inGenerated,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Ethernet.VLANCount > 1 && strings.HasPrefix(field, "vlan.")
		},
	},
	{
		"Frames of an ERF capture", "the frame without its record", "the record",
		"the file's link type is ERF: the record is what was captured",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Meta.LinkType == dissector.LinkTypeERF && strings.HasPrefix(field, "frame.")
		},
	},
	{
		"The interface of a packet in a pcap file", "nothing", "0: the file's only one",
		"pcap has one link type and so one interface; captures of both formats read alike",
		inManagement,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return field == "frame.interface_id" && row[field] == ""
		},
	},
	{
		"The payload of InfiniBand", "handed to other dissectors, or `data`", "`infiniband.payload`",
		"IBTA volume 1, section 9.2: the payload is the consumer's",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return field == "infiniband.payload"
		},
	},
	{
		"`udp.payload`", "beside what the payload was decoded to", "only where nothing was decoded",
		"each bit of a frame has one leaf of the tree",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return field == "udp.payload"
		},
	},
	{
		"`ip.version` in IPv6", "added, to make filters easy", "`ipv6.version` only",
		"each bit of a frame has one leaf of the tree",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return field == "ip.version"
		},
	},
}

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
and in VLAN, QinQ, VXLAN, GENEVE, GRE, ERSPAN I to III, MPLS and IP tunnels) with tshark 4.0 and with the dissector, and
compares each field that has the same name in both. These are the only differences that it lets pass. The table is
written by the test (` + "`make golden-update`" + `).

| Where | tshark 4.0 shows | rocelens shows | Decided by |
|---|---|---|---|
`)
	for _, d := range deliberate {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.where, d.tshark, d.tree, d.clause)
	}
	path := filepath.Join("..", "..", "docs", "tshark.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to write it")
	require.Empty(t, cmp.Diff(b.String(), string(got)))
}
