package tree_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// deliberateBelow are the differences in link layers, tunnels, IP and UDP, and in packets that are not RDMA.
var deliberateBelow = []difference{
	{
		"The length of a GENEVE option", "in bytes, with its header", "as on the wire, in words of four bytes",
		"RFC 8926, section 3.5",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return field == "geneve.option.length"
		},
	},
	{
		"A tag of 802.1ad", "fields of ieee8021ad; behind GRE, bytes", "a VLAN tag like the other",
		"IEEE 802.1Q-2018, clause 9.3: S-tags and C-tags have one layout",
		inCaptures | inGenerated | inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return row["gre.proto"] == "0x88a8" && row[field] == "" || strings.HasPrefix(field, "vlan.") && (p.Ethernet.VLANCount > 1 || slices.ContainsFunc(p.Layers[:], func(l dissector.Layer) bool {
				return l.Type == dissector.LayerVLAN && bytes.Equal(p.Data[l.Offset-2:l.Offset], []byte{0x88, 0xa8})
			}))
		},
	},
	{
		"Frames of an ERF capture", "the frame without its record", "the record",
		"the file's link type is ERF: the record is what was captured",
		inCaptures | inLinks,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Meta.LinkType == dissector.LinkTypeERF && strings.HasPrefix(field, "frame.")
		},
	},
	{
		"The interface of a packet in a pcap file", "nothing", "0: the file's only one",
		"pcap has one link type and so one interface; captures of both formats read alike",
		inOwn | inGenerated,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return field == "frame.interface_id" && row[field] == ""
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
		"The status of the checksums of IPv4 and UDP", "unverified, unless it is asked to verify", "good, bad, not present, or unverified where it cannot be told",
		"RFC 1071: the sum is what it is; that hosts see wrong ones of packets that they send is said as a note",
		inOwn | inCaptures | inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return strings.HasSuffix(field, ".checksum.status")
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
	{
		"Linux's port for VXLAN, 8472", "UDP", "VXLAN and what it carries",
		"Linux, drivers/net/vxlan: the port before the one of RFC 7348 was assigned, still the default there",
		inOwn | inCaptures,
		func(p *dissector.Packet, _ error, _ string, row map[string]string) bool {
			return p.Tunnel.Type == dissector.LayerVXLAN && row["vxlan.vni"] == "" && row["udp.dstport"] == "8472"
		},
	},
	{
		"Frames of FabricPath and VN-Tag", "the tag and what it carries", "the tag's name",
		"neither layout is published; what is inside is not counted as traffic of its own",
		inCaptures,
		func(p *dissector.Packet, _ error, _ string, _ map[string]string) bool {
			return p.Fault.Reason == dissector.ReasonVendorTag
		},
	},
	{
		"A tunnel that carries neither Ethernet nor IP, such as NSH", "what it carries", "bytes, and that it is not supported",
		"RFC 8300: service chaining; what is inside is not counted as traffic of its own",
		inCaptures,
		func(p *dissector.Packet, _ error, _ string, _ map[string]string) bool {
			return p.Fault.Reason == dissector.ReasonTunnelPayload
		},
	},
	{
		"GRE, GENEVE and ERSPAN of a version that is not decoded", "the header, as if it were of version 0, and what it carries", "that the version is not supported",
		"RFC 2637: GRE of version 1 is PPTP's, a tunnel for dial-in hosts; RFC 8926, section 3.4: packets of an unknown version are dropped",
		inCaptures | inDamaged,
		func(p *dissector.Packet, err error, field string, row map[string]string) bool {
			return errors.Is(err, dissector.ErrUnsupported) && p.Fault.Reason == dissector.ReasonTunnelVersion ||
				field == "erspan.version" && row[treeLacks] != "" // of a cut header, twice
		},
	},
	{
		"Ethernet behind MPLS without a control word", "bytes, IP, or a control word, by the first nibble", "the frame, when its ethertype can lead to RDMA",
		"RFC 4448, section 4.6: the control word is optional",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return strings.HasPrefix(field, "pwethcw.") || row[field] == "" && slices.ContainsFunc(p.Layers[:], func(l dissector.Layer) bool {
				return l.Type == dissector.LayerEthernet && l.Offset > 0 && slices.ContainsFunc(p.Layers[:], func(m dissector.Layer) bool {
					return m.Type == dissector.LayerMPLS && m.End() == int(l.Offset) && p.Data[m.Offset+2]&1 != 0
				})
			})
		},
	},
	{
		"VXLAN with the generic protocol extension, and no next protocol", "bytes behind it", "the Ethernet frame",
		"draft-ietf-nvo3-vxlan-gpe-12, section 3.1: without the P bit the payload is Ethernet",
		inDamaged,
		func(p *dissector.Packet, _ error, _ string, row map[string]string) bool {
			const generic = "4790"
			return p.Tunnel.Type == dissector.LayerVXLAN && strings.HasPrefix(row["udp.dstport"], generic) && row["infiniband.bth.opcode"] == ""
		},
	},
	{
		"A tag of type 0x9200", "bytes", "a VLAN tag like the other, and what follows",
		"Linux, if_ether.h: 0x9100, 0x9200 and 0x9300 are QinQ's types from before IEEE 802.1ad; they have one layout",
		inDamaged,
		func(p *dissector.Packet, _ error, _ string, _ map[string]string) bool {
			return slices.ContainsFunc(p.Layers[:p.LayerCount], func(l dissector.Layer) bool {
				return l.Type == dissector.LayerVLAN && p.Data[l.Offset-2] == 0x92 && p.Data[l.Offset-1] == 0
			})
		},
	},
	{
		"VXLAN without the flag that its VNI is valid", "VXLAN and what it carries", "UDP that is not RDMA",
		"RFC 7348, section 5: the flag must be set",
		inDamaged,
		func(p *dissector.Packet, err error, _ string, row map[string]string) bool {
			return errors.Is(err, dissector.ErrNotRDMA) && p.Fault.Reason == dissector.ReasonUDPPort && row["vxlan.vni"] != ""
		},
	},
	{
		"A source route of GRE whose last entry has an address family", "more entries", "the entries up to the one of length 0",
		"RFC 1701: a length of 0 makes an entry the last one",
		inDamaged,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			ends := 0
			for n := range strings.SplitSeq(row["gre.routing.src_length"], ",") {
				if n == "0" {
					ends++
				}
			}
			return strings.HasPrefix(field, "gre.routing.") && strings.Contains(row["_ws.malformed"], "GRE") ||
				ends > 1 && (strings.HasPrefix(field, "gre.routing.") || strings.HasPrefix(field, "eth."))
		},
	},
	{
		"Reserved bits of GENEVE", "whether one is set", "the six bits",
		"RFC 8926, section 3.4",
		inDamaged,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return field == "geneve.flags.reserved" && row[field] == "1"
		},
	},
	{
		"IPv4 lengths of 0, left by segmentation offload", "a length that it computes; UDP when the UDP length is 0, too", "0, and what the frame carries",
		"the header's field; Linux BIG TCP sends up to 512 KiB so",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			const longest = 0xffff
			n, err := strconv.Atoi(row["ip.len"])
			if (err == nil && n > longest) || (field == "ip.len" && p.Fault.Reason == dissector.ReasonTooShort) {
				return true
			}
			return field == "ip.len" && slices.ContainsFunc(p.Layers[:], func(l dissector.Layer) bool {
				return l.Type == dissector.LayerIPv4 && p.Data[l.Offset+2] == 0 && p.Data[l.Offset+3] == 0
			})
		},
	},
	{
		"IPv6 lengths of 0 without a jumbo payload option", "malformed, without UDP", "what the frame carries",
		"Linux BIG TCP takes the option away; the fields that are there are what was sent",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return row["_ws.malformed"] != "" && (row[field] == "" || field == "eth.trailer") && slices.ContainsFunc(p.Layers[:], func(l dissector.Layer) bool {
				return l.Type == dissector.LayerIPv6 && p.Data[l.Offset+4] == 0 && p.Data[l.Offset+5] == 0
			})
		},
	},
	{
		"A packet whose captured length exceeds its original length", "padding of the shorter frame, and a trailer", "one trailer",
		"which of the two lengths is wrong is not known; the IP length says where the packet ends",
		inOwn | inCaptures,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return int(p.Meta.OriginalLength) < len(p.Data) && (field == "eth.padding" || field == "eth.trailer")
		},
	},
	{
		"An original length of 0, or from 2^31 on", "0, or 2^31 - 1", "unknown, or the length in the file",
		"a frame has a length, and the field of the file has 32 bits",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return (field == "frame.len" || field == "ip.len") && (p.Meta.OriginalLength == 0 || p.Meta.OriginalLength > math.MaxInt32)
		},
	},
	{
		"An ethertype of 0, or from 1,501 to 1,535", "a type, or nothing", "the length of an 802.3 frame",
		"IEEE 802.3, clause 3.2.6: a value below 0x600 is no type",
		inCaptures | inDamaged,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			const longest, firstType = 1500, 0x600
			t := p.Ethernet.EtherType
			return (t == 0 || t > longest && t < firstType) && slices.Contains([]string{"eth.type", "eth.len", "vlan.etype", "vlan.len"}, field)
		},
	},
	{
		"Padding of pause frames", "nothing", "padding",
		"IEEE 802.3, clause 31.4: a MAC control frame is padded to the shortest length of a frame",
		inOwn | inCaptures,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Protocol == dissector.ProtocolPause && (field == "eth.padding" || field == "eth.trailer")
		},
	},
	{
		"A header that contradicts the one before it or its own length", "its fields, by its own version", "bytes",
		"RFC 791, section 3.1, and RFC 8200, section 3: with another version or a shorter header the fields are others",
		inCaptures,
		func(p *dissector.Packet, err error, field string, _ map[string]string) bool {
			switch p.Fault.Reason {
			case dissector.ReasonUDPLength, dissector.ReasonGRHVersion, dissector.ReasonIPVersion, dissector.ReasonIPHeaderLength, dissector.ReasonIPTotalLength:
				return true
			default:
				return errors.Is(err, dissector.ErrMalformed) && p.Fault.Reason != dissector.ReasonTooShort && !strings.HasPrefix(field, "infiniband.")
			}
		},
	},
	{
		"UDP-Lite", "fields of UDP, and what its port announces", "another IP protocol",
		"RFC 3828: its IP protocol is 136, and what stands in the place of UDP's length is none",
		inDamaged,
		func(_ *dissector.Packet, err error, _ string, row map[string]string) bool {
			const lite = "136"
			return errors.Is(err, dissector.ErrNotRDMA) && row[treeLacks] != "" &&
				(strings.HasSuffix(row["ip.proto"], lite) || strings.HasSuffix(row["ipv6.nxt"], lite) || strings.Contains(row["ip.proto"], lite+","))
		},
	},
	{
		"An IPv6 option that passes the end of its header, and an authentication header that ends before its fields", "fields, read from what follows the header", "bytes, up to the end of the header",
		"RFC 8200, section 4.2, and RFC 4302, section 2.2: the length of the header says where it ends",
		inDamaged,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return row[treeLacks] != "" && (strings.HasPrefix(field, "ipv6.opt.") && row["_ws.malformed"] == "" || field == "ah.sequence")
		},
	},
	{
		"An option of IPv4 that has no name", "that it is unknown", "its type, length and bytes",
		"RFC 791, section 3.1: all options but the two of one byte have type and length",
		inDamaged,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return (field == "ip.opt.type" || field == "ip.opt.len") && row["_ws.malformed"] == ""
		},
	},
	{
		"Extension headers of IPv6 in IPv4", "their fields, and what follows", "another IP protocol",
		"RFC 8200, section 4: they stand behind an IPv6 header",
		inDamaged,
		func(p *dissector.Packet, err error, field string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrNotRDMA) && p.Network.Version == 4 && (strings.HasPrefix(field, "ipv6.") || strings.HasPrefix(field, "ah."))
		},
	},
	{
		"An IPv6 option whose length is not that of its type", "malformed: its field, read from what follows it, or nothing behind it", "its bytes, and what is behind it",
		"RFC 8200, section 4.2: the length says where the next option begins",
		inCaptures,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return row["_ws.malformed"] != "" && (strings.HasPrefix(field, "ipv6.opt.") ||
				row[field] == "" && (strings.Contains(row["_ws.malformed"], "IPv6 Destination") || strings.Contains(row["_ws.malformed"], "IPv6 Hop-by-Hop")))
		},
	},
	{
		"A segment route that contradicts itself", "malformed, without what follows", "its fields and what follows",
		"RFC 8754, section 4.3.1: only the router that it is addressed to has to judge it",
		inDamaged,
		func(_ *dissector.Packet, _ error, field string, row map[string]string) bool {
			return strings.Contains(row["_ws.malformed"], "IPv6 Routing") && (row[field] == "" || field == "eth.padding" || field == "eth.trailer")
		},
	},
	{
		"Bytes behind the end of a packet by its UDP or GRH length", "nothing, or of a GRH the packet", "a trailer",
		"RFC 768, and IBTA volume 1, section 8.3: the length is the packet's",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			for i, l := range p.Layers[:p.LayerCount] {
				within := int(p.Network.TotalLength) + int(p.Layers[max(i-1, 0)].Offset)
				switch {
				case l.Type == dissector.LayerUDP && p.Network.Version != 0 && int(l.Offset)+int(p.UDP.Length) < within && field == "eth.trailer",
					l.Type == dissector.LayerGRH && int(l.Offset)+int(p.Network.TotalLength) < len(p.Data) && (strings.HasPrefix(field, "infiniband.") || field == "eth.trailer"):
					return true
				}
			}
			return false
		},
	},
	{
		"A packet whose length passes the end of the frame or packet around it", "as if it ended there, with an ICRC; or malformed, and the rest a trailer", "cut: its fields up to there, and no ICRC",
		"a mirror or tunnel that cuts a copy leaves such lengths; of the ICRC nothing is there",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			lacks := int(p.ICRCOffset) != 0 && int(p.ICRCOffset)+infiniband.ICRCLength > int(p.CapturedEnd)
			return lacks && (field == "infiniband.invariant.crc" || field == "eth.trailer" || row[field] == "")
		},
	},
	{
		"BSD loopback of an unknown family", "what an ethertype of the same bytes announces", "the family",
		"tcpdump's registry of link types: the field of LINKTYPE_NULL is an address family",
		inCaptures,
		func(p *dissector.Packet, err error, _ string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrNotRDMA) && p.Meta.LinkType == dissector.LinkTypeNull && p.Network.Version == 0
		},
	},
	{
		"A packet that is not RDMA, behind its last header", "the fields of other protocols", "named bytes",
		"it is recognised to be counted apart; its contents are for other tools",
		inCaptures,
		func(p *dissector.Packet, err error, field string, row map[string]string) bool {
			switch field {
			case "tcp.options", "tcp.payload", "udp.payload", "eth.fcs", "eth.padding", "eth.trailer", "llc.control", "llc.dsap", "llc.ssap", "llc.oui", "llc.type":
				return errors.Is(err, dissector.ErrNotRDMA)
			}
			if !errors.Is(err, dissector.ErrNotRDMA) || row[treeLacks] == "" {
				return false
			}
			switch p.Fault.Reason {
			case dissector.ReasonLLC, dissector.ReasonEtherType:
				return true
			case dissector.ReasonUDPPort: // a tunnel that is cut by the length of UDP, and GRE in UDP
				protocol, _, _ := strings.Cut(field, ".")
				return slices.Contains([]string{"vxlan", "geneve", "gre"}, protocol)
			default: // swIPe
				return p.Fault.Reason == dissector.ReasonIPProtocol && field == "ipv6.version"
			}
		},
	},
	{
		"A packet that is not RDMA, and whose last header is malformed", "some of its last header's fields", "all that were captured",
		"what was captured is known",
		inCaptures,
		func(_ *dissector.Packet, err error, field string, row map[string]string) bool {
			return errors.Is(err, dissector.ErrNotRDMA) && row[field] == "" &&
				(row["_ws.malformed"] != "" || strings.HasPrefix(field, "tcp."))
		},
	},
}
