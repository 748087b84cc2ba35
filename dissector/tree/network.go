package tree

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/dissector"
)

func (b *builder) ipv4(l dissector.Layer) *Node {
	const header, word = 20, 4
	g := b.group("IPv4", "ip", l)
	g.bits("Version", "ip.version", 0, 4)
	length := g.bits("Header length", "ip.hdr_len", 4, 4)
	length.Value, length.Meaning = g.value(0, 1)&0xf*word, "bytes"
	b.trafficClass(g.sub("Differentiated services", "ip.dsfield", 1, 1), 0, "ip.dsfield.dscp", "ip.dsfield.ecn")
	g.uint("Total length", "ip.len", 2, 2)
	g.hex("Identification", "ip.id", 4, 2)
	g.flag("Reserved", "ip.flags.rb", 48)
	g.flag("Don't fragment", "ip.flags.df", 49)
	g.flag("More fragments", "ip.flags.mf", 50)
	g.bits("Fragment offset", "ip.frag_offset", 51, 13).Meaning = fmt.Sprintf("%d bytes", g.value(6, 2)&0x1fff*8)
	g.uint("Time to live", "ip.ttl", 8, 1)
	b.protocol(g, "Protocol", "ip.proto", 9)
	sum := g.hex("Header checksum", "ip.checksum", 10, 2)
	source := g.address("Source", "ip.src", 12, 4)
	destination := g.address("Destination", "ip.dst", 16, 4)
	g.ipv4Options(header)
	if g.has(0, header) {
		switch whole := length.Value == uint64(len(g.data)); {
		case !whole: // the capture cut the options
			verdict(sum, "ip.checksum.status", "cannot be checked", checksumUnverified)
		case onesComplement(g.data) == 0xffff:
			verdict(sum, "ip.checksum.status", "right", checksumGood)
		default: // no error: a host that captures what it sends sees it before its NIC computes it
			verdict(sum, "ip.checksum.status", "wrong", checksumBad).Severity = SeverityNote
		}
		g.node.Meaning = fmt.Sprintf("%v > %v", source.Value, destination.Value)
	}
	return g.node
}

// trafficClass splits the eight bits of DSCP and ECN at a bit offset (RFC 2474, RFC 3168).
func (b *builder) trafficClass(g *group, offset int, dscp, ecn string) {
	d := g.bits("DSCP", dscp, offset, 6)
	e := g.bits("ECN", ecn, offset+6, 2)
	if v, ok := d.Value.(uint64); ok {
		d.Meaning = dscpName(v)
	}
	if v, ok := e.Value.(uint64); ok {
		e.Meaning = ecnName(v)
	}
}

// protocol adds an IP protocol number, which also says what an unclaimed rest of the frame is.
func (b *builder) protocol(g *group, name, field string, offset int) {
	n := g.uint(name, field, offset, 1)
	if g.has(offset, 1) {
		b.next = next{protocol: g.value(offset, 1), isIP: true, known: true}
		n.Meaning = ipProtocolName(b.next.protocol)
	}
}

func (b *builder) ipv6(l dissector.Layer) *Node {
	g := b.group("IPv6", "ipv6", l)
	g.bits("Version", "ipv6.version", 0, 4)
	b.trafficClass(g, 4, "ipv6.tclass.dscp", "ipv6.tclass.ecn")
	g.bits("Flow label", "ipv6.flow", 12, 20).Meaning = fmt.Sprintf("0x%05x", g.value(0, 4)&0xfffff)
	g.uint("Payload length", "ipv6.plen", 4, 2)
	b.protocol(g, "Next header", "ipv6.nxt", 6)
	g.uint("Hop limit", "ipv6.hlim", 7, 1)
	source := g.address("Source", "ipv6.src", 8, 16)
	destination := g.address("Destination", "ipv6.dst", 24, 16)
	if g.has(8, 32) {
		g.node.Meaning = fmt.Sprintf("%v > %v", source.Value, destination.Value)
	}
	return g.node
}

func (b *builder) grh(l dissector.Layer) *Node {
	g := b.group("GRH", "infiniband.grh", l)
	g.bits("IP version", "infiniband.grh.ipver", 0, 4)
	class := g.bits("Traffic class", "infiniband.grh.tclass", 4, 8)
	g.bits("Flow label", "infiniband.grh.flowlabel", 12, 20).Meaning = fmt.Sprintf("0x%05x", g.value(0, 4)&0xfffff)
	g.uint("Payload length", "infiniband.grh.paylen", 4, 2)
	b.protocol(g, "Next header", "infiniband.grh.nxthdr", 6)
	g.uint("Hop limit", "infiniband.grh.hoplmt", 7, 1)
	source := g.address("Source GID", "infiniband.grh.sgid", 8, 16)
	destination := g.address("Destination GID", "infiniband.grh.dgid", 24, 16)
	if v, ok := class.Value.(uint64); ok {
		class.Meaning = fmt.Sprintf("DSCP %d, %s", v>>2, ecnName(v&3))
	}
	if g.has(8, 32) {
		g.node.Meaning = fmt.Sprintf("%s > %s", addressText(source), addressText(destination))
	}
	return g.node
}

// addressText is the short form of an address: the IPv4 address of a mapped one.
func addressText(n *Node) string {
	if n.Meaning != "" {
		return n.Meaning
	}
	text, _ := n.Value.(string)
	return text
}

func (b *builder) ipv6Extension(l dissector.Layer) *Node {
	const hopByHop, fragment, routing, authentication, destination = 0, 44, 43, 51, 60
	switch b.next.protocol {
	case hopByHop:
		return b.ipv6OptionsHeader("IPv6 hop-by-hop options", "ipv6.hopopts", l)
	case destination:
		return b.ipv6OptionsHeader("IPv6 destination options", "ipv6.dstopts", l)
	case fragment:
		g := b.group("IPv6 fragment", "ipv6.fraghdr", l)
		b.protocol(g, "Next header", "ipv6.fraghdr.nxt", 0)
		g.hex("Reserved", "ipv6.fraghdr.reserved_octet", 1, 1)
		g.bits("Offset", "ipv6.fraghdr.offset", 16, 13).Meaning = fmt.Sprintf("%d bytes", g.value(2, 2)&^7)
		g.bits("Reserved", "ipv6.fraghdr.reserved_bits", 29, 2)
		g.flag("More fragments", "ipv6.fraghdr.more", 31)
		g.hex("Identification", "ipv6.fraghdr.ident", 4, 4)
		return g.node
	case routing:
		return b.ipv6Routing(l)
	case authentication:
		return b.authentication(l)
	}
	g := b.group("IPv6 extension", "ipv6.extension", l)
	g.node.Meaning = ipProtocolName(b.next.protocol)
	b.protocol(g, "Next header", "ipv6.extension.nxt", 0)
	g.uint("Length", "ipv6.extension.len", 1, 1).Meaning = fmt.Sprintf("%d bytes", (g.value(1, 1)+1)*8)
	g.rest("Options", "ipv6.extension.data", 2)
	return g.node
}

func (b *builder) ipv6OptionsHeader(name, field string, l dissector.Layer) *Node {
	const fixed = 2
	g := b.group(name, field, l)
	b.protocol(g, "Next header", field+".nxt", 0)
	g.uint("Length", field+".len", 1, 1).Meaning = fmt.Sprintf("%d bytes", (g.value(1, 1)+1)*8)
	g.ipv6Options(fixed)
	return g.node
}

// ipv6Routing reads a routing header (RFC 8200, section 4.4), with the segments of SRv6 (RFC 8754).
func (b *builder) ipv6Routing(l dissector.Layer) *Node {
	const segmentRouting, address = 4, 16
	g := b.group("IPv6 routing", "ipv6.routing", l)
	b.protocol(g, "Next header", "ipv6.routing.nxt", 0)
	g.uint("Length", "ipv6.routing.len", 1, 1).Meaning = fmt.Sprintf("%d bytes", (g.value(1, 1)+1)*8)
	kind := g.uint("Type", "ipv6.routing.type", 2, 1)
	g.uint("Segments left", "ipv6.routing.segleft", 3, 1)
	if !g.has(2, 1) || g.value(2, 1) != segmentRouting {
		g.rest("Data", "ipv6.routing.data", 4)
		return g.node
	}
	kind.Meaning = "segment routing"
	g.uint("Last entry", "ipv6.routing.srh.last_entry", 4, 1)
	g.hex("Flags", "ipv6.routing.srh.flags", 5, 1)
	g.hex("Tag", "ipv6.routing.srh.tag", 6, 2)
	at := 8
	for range g.value(4, 1) + 1 {
		if !g.has(at, address) {
			break
		}
		g.address("Segment", "ipv6.routing.srh.addr", at, address)
		at += address
	}
	g.rest("TLVs", "ipv6.routing.srh.tlvs", at)
	return g.node
}

// authentication reads an authentication header (RFC 4302).
func (b *builder) authentication(l dissector.Layer) *Node {
	g := b.group("Authentication header", "ah", l)
	b.protocol(g, "Next header", "ah.next_header", 0)
	g.uint("Length", "ah.length", 1, 1).Meaning = fmt.Sprintf("%d bytes", (g.value(1, 1)+2)*4)
	g.hex("Reserved", "ah.reserved", 2, 2)
	g.hex("SPI", "ah.spi", 4, 4)
	g.uint("Sequence", "ah.sequence", 8, 4)
	g.rest("Integrity check value", "ah.icv", 12)
	return g.node
}

func (b *builder) udp(l dissector.Layer) *Node {
	g := b.group("UDP", "udp", l)
	g.uint("Source port", "udp.srcport", 0, 2)
	destination := g.uint("Destination port", "udp.dstport", 2, 2)
	g.uint("Length", "udp.length", 4, 2)
	sum := g.hex("Checksum", "udp.checksum", 6, 2)
	if g.has(0, 4) {
		destination.Meaning = udpPortName(g.value(2, 2))
		g.node.Meaning = fmt.Sprintf("port %d > port %d", g.value(0, 2), g.value(2, 2))
		b.next = next{known: true, port: g.value(2, 2), source: g.value(0, 2)}
	}
	if g.has(6, 2) && g.value(6, 2) == 0 {
		verdict(sum, "udp.checksum.status", "not computed by the sender", checksumAbsent)
	} else if i := b.last(dissector.LayerUDP); i >= 0 && b.layers[i] == l {
		b.udpVerdict(sum)
	}
	return g.node
}

// udpVerdict says what comes out when the checksum of the innermost UDP header is computed.
func (b *builder) udpVerdict(sum *Node) {
	const field = "udp.checksum.status"
	switch dissector.UDPChecksum(b.p) {
	case dissector.ChecksumRight:
		verdict(sum, field, "right", checksumGood)
	case dissector.ChecksumWrong: // no error, as with IPv4's
		verdict(sum, field, "wrong", checksumBad).Severity = SeverityNote
	case dissector.ChecksumNotCheckable, dissector.ChecksumAbsent:
		verdict(sum, field, "cannot be checked", checksumUnverified)
	}
}

// Verdicts on checksums, in Wireshark's words.
const (
	checksumGood       = "Good"
	checksumBad        = "Bad"
	checksumUnverified = "Unverified"
	checksumAbsent     = "Not present"
)

// verdict adds what was found about a checksum to it, in our words and in Wireshark's, and answers the checksum's node.
func verdict(sum *Node, field, text, status string) *Node {
	sum.Meaning += ", " + text
	sum.Children = append(sum.Children, &Node{Name: "Status", Field: field, Value: status, Offset: sum.Offset + sum.Length})
	return sum
}

// onesComplement adds the 16-bit words of a header (RFC 1071): 0xffff when its checksum is right.
func onesComplement(b []byte) uint32 {
	sum := uint32(0)
	for i, v := range b {
		sum += uint32(v) << (8 * (1 - i%2))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return sum
}

func (b *builder) tcp(l dissector.Layer) *Node {
	g := b.group("TCP", "tcp", l)
	g.uint("Source port", "tcp.srcport", 0, 2)
	g.uint("Destination port", "tcp.dstport", 2, 2)
	g.uint("Sequence number", "tcp.seq_raw", 4, 4)
	g.uint("Acknowledgment number", "tcp.ack_raw", 8, 4)
	length := g.bits("Header length", "tcp.hdr_len", 96, 4)
	length.Value, length.Meaning = g.value(12, 1)>>4*4, "bytes"
	flags := g.bits("Flags", "tcp.flags", 100, 12)
	each := &group{node: flags, data: g.data, base: g.base}
	each.bits("Reserved", "", 100, 3)
	for i, name := range [...]string{"ae", "cwr", "ece", "urg", "ack", "push", "reset", "syn", "fin"} {
		each.flag(strings.ToUpper(name), "tcp.flags."+name, 103+i)
	}
	g.uint("Window", "tcp.window_size_value", 14, 2)
	g.hex("Checksum", "tcp.checksum", 16, 2)
	g.uint("Urgent pointer", "tcp.urgent_pointer", 18, 2)
	g.rest("Options", "tcp.options", 20)
	if g.has(0, 14) {
		flags.Meaning = tcpFlags(g.value(12, 2) & 0xfff)
		g.node.Meaning = fmt.Sprintf("port %d > port %d %s", g.value(0, 2), g.value(2, 2), flags.Meaning)
		b.next = next{known: true, protocol: protocolTCP, isIP: true}
	}
	return g.node
}

const protocolTCP = 6

// tcpFlags lists the flags of a TCP header (RFC 9293, section 3.1).
func tcpFlags(flags uint64) string {
	text := ""
	for i, name := range [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"} {
		if flags>>i&1 != 0 {
			if text != "" {
				text += " "
			}
			text += name
		}
	}
	return text
}

func (b *builder) icmp(l dissector.Layer) *Node {
	name, prefix := "ICMP", "icmp"
	if b.next.protocol == 58 {
		name, prefix = "ICMPv6", "icmpv6"
	}
	g := b.group(name, prefix, l)
	kind := g.uint("Type", prefix+".type", 0, 1)
	g.uint("Code", prefix+".code", 1, 1)
	g.hex("Checksum", prefix+".checksum", 2, 2)
	g.rest("Rest of header", prefix+".rest", 4)
	if g.has(0, 2) {
		g.node.Meaning = fmt.Sprintf("type %d, code %d", g.value(0, 1), g.value(1, 1))
		if known := icmpName(prefix, g.value(0, 1)); known != "" {
			kind.Meaning = known
			g.node.Meaning = known
			if g.value(1, 1) != 0 {
				g.node.Meaning += fmt.Sprintf(", code %d", g.value(1, 1))
			}
		}
	}
	return g.node
}

// icmpName names the messages that networks are full of (RFC 792, RFC 4443, RFC 4861, RFC 3810).
func icmpName(prefix string, kind uint64) string {
	if prefix == "icmp" {
		return map[uint64]string{
			0: "echo reply", 3: "destination unreachable", 5: "redirect", 8: "echo request", 11: "time exceeded",
		}[kind]
	}
	return map[uint64]string{
		1: "destination unreachable", 2: "packet too big", 3: "time exceeded", 128: "echo request", 129: "echo reply",
		130: "multicast listener query", 131: "multicast listener report", 133: "router solicitation", 134: "router advertisement",
		135: "neighbor solicitation", 136: "neighbor advertisement", 143: "multicast listener report",
	}[kind]
}

// arp reads an ARP packet (RFC 826).
func (b *builder) arp(l dissector.Layer) *Node {
	const ipv4, length = 0x08000604, 28 // IPv4 over addresses of six bytes
	g := b.group("ARP", "arp", l)
	g.uint("Hardware type", "arp.hw.type", 0, 2)
	g.hex("Protocol type", "arp.proto.type", 2, 2)
	g.uint("Hardware size", "arp.hw.size", 4, 1)
	g.uint("Protocol size", "arp.proto.size", 5, 1)
	op := g.uint("Operation", "arp.opcode", 6, 2)
	if g.has(6, 2) {
		op.Meaning = arpName(g.value(6, 2))
		g.node.Meaning = op.Meaning
	}
	if !g.has(0, length) || g.value(2, 4) != ipv4 {
		g.rest("Addresses", "arp.addresses", 8)
		return g.node
	}
	hardware := func(name, field string, offset int) {
		const ethernet, ieee802 = 1, 6
		if kind := g.value(0, 2); kind == ethernet || kind == ieee802 {
			g.mac(name+" MAC address", field+"_mac", offset)
		} else {
			g.bytes(name+" hardware address", field, offset, 6)
		}
	}
	hardware("Sender", "arp.src.hw", 8)
	g.address("Sender IP address", "arp.src.proto_ipv4", 14, 4)
	hardware("Target", "arp.dst.hw", 18)
	g.address("Target IP address", "arp.dst.proto_ipv4", 24, 4)
	return g.node
}
