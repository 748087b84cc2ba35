package tree_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// management tells whether a field is of a management datagram.
func management(field string) bool {
	return strings.HasPrefix(field, "infiniband.mad.") || strings.HasPrefix(field, "infiniband.cm.")
}

// deliberateTransport are the differences in InfiniBand's headers and in what decides that there are any.
var deliberateTransport = []difference{
	{
		"A frame check sequence that the link type announces", "the ICRC as a trailer, and the packet as malformed", "the ICRC and the FCS",
		"pcap file header: the FCS length of the link type",
		inOwn,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Meta.FCSLength != 0 && (field == "infiniband.invariant.crc" || field == "eth.trailer")
		},
	},
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
		"UDP port 4791, or a tunnel's, from a source port that another protocol has", "the other protocol", "RoCEv2, or the tunnel",
		"IBTA volume 1, annex A17, and RFC 7348, section 5: the destination port tells; the source port is entropy",
		inCaptures,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			const vxlan, assigned = "4789", 49152
			ports := strings.Split(row["udp.srcport"], ",")
			last, err := strconv.Atoi(ports[len(ports)-1])
			return (p.Has&infiniband.HasBTH != 0 && err == nil && last < assigned && row["infiniband.bth.opcode"] == "") ||
				(strings.HasPrefix(field, "vxlan.") && row["udp.srcport"] == vxlan && row["udp.dstport"] != vxlan)
		},
	},
	{
		"A header that the capture cut, or that the lengths around it are too short for", "none of its fields, or some", "the fields before the cut, and where it is",
		"a cut copy says nothing against its sender; what was captured is known",
		inOwn | inCaptures,
		func(p *dissector.Packet, err error, field string, row map[string]string) bool {
			return (errors.Is(err, dissector.ErrTruncated) || p.Fault.Reason == dissector.ReasonTooShort) && row[field] == ""
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
		inGenerated | inLinks,
		func(p *dissector.Packet, err error, field string, row map[string]string) bool {
			_, known := p.BTH.Opcode.Headers()
			return errors.Is(err, dissector.ErrUnsupported) && p.BTH.Opcode.Service() == infiniband.ServiceRD && !known &&
				row["infiniband.bth.opcode"] == "" && (strings.HasPrefix(field, "infiniband.bth.") || field == "eth.padding" || field == "eth.trailer")
		},
	},
	{
		"The variant CRC of a packet whose opcode is not decoded", "nothing", "the CRC",
		"IBTA volume 1, section 7.7.8: the packet length of the LRH says where it stands, whatever the opcode",
		inLinks,
		func(_ *dissector.Packet, err error, field string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrUnsupported) && field == "infiniband.variant.crc"
		},
	},
	{
		"Bytes behind the ICRC of RoCE", "the first two as a variant CRC", "a trailer",
		"IBTA volume 1, annexes A16 and A17: the Ethernet FCS stands in the place of the variant CRC",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return field == "infiniband.variant.crc" && row[treeLacks] != "" && p.Protocol != dissector.ProtocolInfiniBand
		},
	},
	{
		"Padding behind a packet whose opcode is not decoded", "nothing", "padding",
		"IEEE 802.3, clause 3.2.8: it is the frame's",
		inDamaged,
		func(_ *dissector.Packet, err error, field string, _ map[string]string) bool {
			return errors.Is(err, dissector.ErrUnsupported) && field == "eth.padding"
		},
	},
	{
		"Bytes behind the headers of an opcode that has no payload", "nothing, and no ICRC", "payload and ICRC",
		"IBTA volume 1, section 7.8: the ICRC stands at the end of every packet",
		inDamaged,
		func(p *dissector.Packet, err error, field string, _ map[string]string) bool {
			return err == nil && !p.BTH.Opcode.CarriesPayload() && p.PayloadLength > 0 && field == "infiniband.invariant.crc"
		},
	},
	{
		"An unreliable datagram to another QP than 0 and 1, from QP 1", "a management datagram", "payload",
		"IBTA volume 1, section 3.9: management comes to QP 0 and QP 1",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return p.BTH.Opcode.Service() == infiniband.ServiceUD && p.BTH.DestinationQP > infiniband.GeneralServicesQP &&
				(management(field) || p.DETH.SourceQP == infiniband.GeneralServicesQP && field == "infiniband.invariant.crc" && row[field] == "")
		},
	},
	{
		"Datagrams to QP 1 that are no unreliable ones", "management datagrams, or malformed", "payload",
		"IBTA volume 1, section 3.9: QP 1 is one of unreliable datagrams",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return p.BTH.Opcode.Service() != infiniband.ServiceUD && p.BTH.DestinationQP == infiniband.GeneralServicesQP &&
				(management(field) || (row[field] == "" && behindBTH(field)))
		},
	},
	{
		"Communication management of another class version than 2, or another method than Send", "the message that the attribute has in version 2, sent", "the common header and data",
		"IBTA volume 1, section 16.7: the class has version 2 and one method",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			var h mad.Header
			_, err := h.Decode(p.Payload())
			return err == nil && h.Message() == mad.MessageNone && management(field)
		},
	},
	{
		"Management datagrams of other classes, or of another length than 256 bytes", "nothing of it, no ICRC, or data up to the end", "the fields that are there, data of 232 bytes, and the ICRC",
		"IBTA volume 1, section 13.4.2: a management datagram has 256 bytes",
		inDamaged,
		func(p *dissector.Packet, err error, field string, row map[string]string) bool {
			return err == nil && slices.ContainsFunc(p.Layers[:], func(l dissector.Layer) bool { return l.Type == dissector.LayerMAD }) &&
				(field == "infiniband.invariant.crc" || field == "infiniband.mad.data" || strings.HasSuffix(field, ".private") || (management(field) && row[field] == ""))
		},
	},
	{
		"The first fragment of a datagram", "its last four bytes as the ICRC", "payload, and that no ICRC is there",
		"IBTA volume 1, annex A17: the ICRC stands at the end of the datagram",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return p.Network.Fragment && field == "infiniband.invariant.crc"
		},
	},
	{
		"An opcode whose headers, or whose pad, do not fit before the ICRC", "headers, read from the ICRC or the pad", "bytes, and that the packet is malformed",
		"IBTA volume 1, section 7.8: the last four bytes of a packet are its ICRC",
		inDamaged,
		func(p *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return (p.Fault.Reason == dissector.ReasonTooShort && p.Fault.Layer == dissector.LayerBTH || p.Fault.Reason == dissector.ReasonPad) && behindBTH(field)
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
		"A payload that looks like RPC-over-RDMA or another protocol", "another protocol's fields; malformed, without ICRC, when they do not fit", "payload and ICRC",
		"IBTA volume 1, chapter 9: a SEND carries any bytes, from none on; nothing in it names a protocol",
		inOwn | inCaptures | inGenerated,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			headers := 0
			for _, l := range p.Layers {
				if l.Type == dissector.LayerEthernet {
					headers++
				}
			}
			return (row["_ws.malformed"] != "" && field == "infiniband.invariant.crc") ||
				(p.IsRDMA() && strings.HasPrefix(field, "arp.")) ||
				(p.Meta.Application == mad.ApplicationUnknown && strings.HasPrefix(field, "rpcordma.")) ||
				(strings.HasPrefix(field, "eth.") && strings.Count(row["eth.type"], ",") >= headers) // a further one, in the payload
		},
	},
	{
		"Capsules of NVMe over Fabrics", "the fields of the command, and of a completion those of the command that it recalls", "the words that every command and completion has",
		"NVM Express base specification 1.4, sections 4.2 and 4.6; what a word means depends on the queue and on other packets",
		inOwn | inCaptures,
		func(p *dissector.Packet, _ error, field string, row map[string]string) bool {
			return p.Meta.Application == mad.ApplicationNVMe && strings.HasPrefix(field, "nvme.") && row[field] == ""
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
		"The payload of InfiniBand", "handed to other dissectors, or `data`", "`infiniband.payload`",
		"IBTA volume 1, section 9.2: the payload is the consumer's",
		inGenerated,
		func(_ *dissector.Packet, _ error, field string, _ map[string]string) bool {
			return field == "infiniband.payload"
		},
	},
}
