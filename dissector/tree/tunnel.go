package tree

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector"
)

// vxlan reads a VXLAN header (RFC 7348) with the group policy extension, or with the generic protocol extension,
// which has a port of its own (draft-ietf-nvo3-vxlan-gpe).
func (b *builder) vxlan(l dissector.Layer) *Node {
	g := b.group("VXLAN", "vxlan", l)
	if b.next.port == dissector.PortVXLANGPE {
		return vxlanGPE(g)
	}
	flags := g.sub("Flags", "vxlan.flags", 0, 2)
	flags.node.Value = g.value(0, 2)
	flags.node.Meaning = fmt.Sprintf("0x%04x", g.value(0, 2))
	flags.flag("Group policy", "vxlan.flag_g", 0)
	flags.bits("Reserved", "", 1, 3)
	flags.flag("VNI valid", "vxlan.flag_i", 4)
	flags.bits("Reserved", "", 5, 4)
	flags.flag("Don't learn", "vxlan.flag_d", 9)
	flags.bits("Reserved", "", 10, 2)
	flags.flag("Policy applied", "vxlan.flag_a", 12)
	flags.bits("Reserved", "", 13, 3)
	g.uint("Group policy ID", "vxlan.gbp", 2, 2)
	g.uint("VNI", "vxlan.vni", 4, 3)
	g.hex("Reserved", "vxlan.reserved8", 7, 1)
	if g.has(4, 3) {
		g.node.Meaning = fmt.Sprintf("VNI %d", g.value(4, 3))
	}
	return g.node
}

func vxlanGPE(g *group) *Node {
	g.node.Name = "VXLAN-GPE"
	flags := g.sub("Flags", "vxlan.flags", 0, 1)
	flags.node.Value = g.value(0, 1)
	flags.node.Meaning = fmt.Sprintf("0x%02x", g.value(0, 1))
	flags.bits("Reserved", "", 0, 2)
	flags.bits("Version", "vxlan.ver", 2, 2)
	flags.flag("VNI valid", "vxlan.i_bit", 4)
	flags.flag("Next protocol valid", "vxlan.p_bit", 5)
	flags.bits("Reserved", "", 6, 1)
	flags.flag("OAM", "vxlan.o_bit", 7)
	g.hex("Reserved", "vxlan.reserved_16", 1, 2)
	next := g.uint("Next protocol", "vxlan.next_proto", 3, 1)
	if names := [...]string{"", "IPv4", "IPv6", "Ethernet", "NSH"}; g.has(3, 1) && g.value(3, 1) < uint64(len(names)) {
		next.Meaning = names[g.value(3, 1)]
	}
	g.uint("VNI", "vxlan.vni", 4, 3)
	g.hex("Reserved", "vxlan.reserved8", 7, 1)
	if g.has(4, 3) {
		g.node.Meaning = fmt.Sprintf("VNI %d", g.value(4, 3))
	}
	return g.node
}

// geneve reads a GENEVE header and its options (RFC 8926).
func (b *builder) geneve(l dissector.Layer) *Node {
	const header, word = 8, 4
	g := b.group("GENEVE", "geneve", l)
	g.bits("Version", "geneve.version", 0, 2)
	g.bits("Options length", "geneve.options_length", 2, 6).Meaning = fmt.Sprintf("%d bytes", g.value(0, 1)&0x3f*word)
	g.flag("Control packet", "geneve.flags.oam", 8)
	g.flag("Critical options", "geneve.flags.critical", 9)
	g.bits("Reserved", "geneve.flags.reserved", 10, 6)
	b.etherType(g, "geneve.proto_type", 2)
	g.uint("VNI", "geneve.vni", 4, 3)
	g.hex("Reserved", "geneve.reserved", 7, 1)
	for at := header; g.has(at, word); {
		n := word + int(g.value(at+3, 1)&0x1f)*word
		if !g.has(at, n) {
			break
		}
		o := g.sub("Option", "geneve.option", at, n)
		o.hex("Class", "geneve.option.class", 0, 2)
		o.hex("Type", "geneve.option.type", 2, 1)
		o.bits("Reserved", "geneve.option.flags", 24, 3)
		o.bits("Length", "geneve.option.length", 27, 5).Meaning = fmt.Sprintf("%d bytes", n-word)
		o.rest("Data", "geneve.option.unknown.data", word)
		at += n
	}
	if g.has(4, 3) {
		g.node.Meaning = fmt.Sprintf("VNI %d", g.value(4, 3))
	}
	return g.node
}

// gre reads a GRE header with the fields that its flags announce (RFC 2784, RFC 2890).
func (b *builder) gre(l dissector.Layer) *Node {
	const sourceRouteEntry = 4 // without its routing information (RFC 1701)
	g := b.group("GRE", "gre", l)
	flags := g.sub("Flags and version", "gre.flags_and_version", 0, 2)
	flags.node.Value = g.value(0, 2)
	flags.node.Meaning = fmt.Sprintf("0x%04x", g.value(0, 2))
	checksum := flags.flag("Checksum", "gre.flags.checksum", 0).Value == true
	routing := flags.flag("Routing", "gre.flags.routing", 1).Value == true
	key := flags.flag("Key", "gre.flags.key", 2).Value == true
	sequence := flags.flag("Sequence number", "gre.flags.sequence_number", 3).Value == true
	flags.flag("Strict source route", "gre.flags.strict_source_route", 4)
	flags.bits("Recursion control", "gre.flags.recursion_control", 5, 3)
	flags.bits("Reserved", "gre.flags.reserved", 8, 5)
	flags.bits("Version", "gre.flags.version", 13, 3)
	b.etherType(g, "gre.proto", 2)
	at := 4
	if checksum || routing {
		g.hex("Checksum", "gre.checksum", at, 2)
		g.uint("Offset", "gre.offset", at+2, 2)
		at += 4
	}
	if key {
		g.hex("Key", "gre.key", at, 4)
		g.node.Meaning = fmt.Sprintf("key 0x%08x", g.value(at, 4))
		at += 4
	}
	if sequence {
		g.uint("Sequence number", "gre.sequence_number", at, 4)
		at += 4
	}
	for routing && g.has(at, sourceRouteEntry) {
		n := sourceRouteEntry + int(g.value(at+3, 1))
		e := g.sub("Source route entry", "gre.routing", at, min(n, len(g.data)-at))
		e.uint("Address family", "gre.routing.address_family", 0, 2)
		e.uint("Offset", "gre.routing.sre_offset", 2, 1)
		e.uint("Length", "gre.routing.src_length", 3, 1)
		e.rest("Routing information", "gre.routing.information", sourceRouteEntry)
		at += n
	}
	return g.node
}

// erspan1 stands for ERSPAN I, which has no header beside GRE's.
func (b *builder) erspan1(l dissector.Layer) *Node {
	g := b.group("ERSPAN I", "erspan", l)
	g.node.Meaning = "mirrored copy"
	return g.node
}

// erspan2 and erspan3 read the headers of mirrored copies (draft-foschiano-erspan).
func (b *builder) erspan2(l dissector.Layer) *Node {
	g := b.group("ERSPAN II", "erspan", l)
	g.bits("Version", "erspan.version", 0, 4)
	g.bits("VLAN", "erspan.vlan", 4, 12)
	g.bits("Class of service", "erspan.cos", 16, 3)
	encapsulation := g.bits("Encapsulation", "erspan.encap", 19, 2)
	g.flag("Truncated by the switch", "erspan.truncated", 21)
	g.bits("Session", "erspan.spanid", 22, 10)
	g.bits("Reserved", "erspan.reserved", 32, 12)
	g.bits("Index", "erspan.index", 44, 20)
	if g.has(0, 4) {
		encapsulation.Meaning = [...]string{"originally without VLAN tag", "originally ISL", "originally 802.1Q", "VLAN tag kept in the frame"}[g.value(2, 1)>>3&3]
		g.node.Meaning = fmt.Sprintf("mirrored copy, session %d", g.value(2, 2)&0x3ff)
	}
	return g.node
}

func (b *builder) erspan3(l dissector.Layer) *Node {
	const header = 12
	g := b.group("ERSPAN III", "erspan", l)
	g.bits("Version", "erspan.version", 0, 4)
	g.bits("VLAN", "erspan.vlan", 4, 12)
	g.bits("Class of service", "erspan.cos", 16, 3)
	integrity := g.bits("Bad, short or oversized", "erspan.bso", 19, 2)
	g.flag("Truncated by the switch", "erspan.truncated", 21)
	g.bits("Session", "erspan.spanid", 22, 10)
	g.uint("Timestamp", "erspan.timestamp", 4, 4)
	g.uint("Security group tag", "erspan.sgt", 8, 2)
	g.flag("Ethernet frame", "erspan.p", 80)
	kind := g.bits("Frame type", "erspan.ft", 81, 5)
	g.bits("Hardware ID", "erspan.hw", 86, 6)
	direction := g.flag("Direction", "erspan.direction", 92)
	granularity := g.bits("Granularity", "erspan.gra", 93, 2)
	g.flag("Platform header", "erspan.o", 95)
	if g.has(0, header) {
		integrity.Meaning = [...]string{"good or unknown", "short", "oversized", "bad: CRC or alignment"}[g.value(2, 1)>>3&3]
		kind.Meaning = map[uint64]string{0: "Ethernet", 2: "IP"}[g.value(10, 1)>>2&0x1f]
		direction.Meaning = "ingress"
		if direction.Value == true {
			direction.Meaning = "egress"
		}
		granularity.Meaning = [...]string{"100 µs", "100 ns", "IEEE 1588", "by the platform"}[g.value(11, 1)>>1&3]
		g.node.Meaning = fmt.Sprintf("mirrored copy, session %d, %s", g.value(2, 2)&0x3ff, direction.Meaning)
	}
	if len(g.data) > header {
		platform := g.sub("Platform header", "erspan.platform", header, len(g.data)-header)
		platform.bits("Platform ID", "erspan.platid", 0, 6)
		platform.bits("Platform data", "", 6, 26)
		platform.hex("Platform data", "", 4, 4)
	}
	return g.node
}

// mpls reads a label stack entry (RFC 3032) or, behind the bottom of the stack, the control word of an
// Ethernet pseudowire (RFC 4448).
func (b *builder) mpls(l dissector.Layer) *Node {
	if b.stackEnd != 0 && int(l.Offset) == b.stackEnd {
		g := b.group("Pseudowire control word", "pwethcw", l)
		g.hex("Flags", "", 0, 2)
		g.uint("Sequence number", "pwethcw.sequence_number", 2, 2)
		return g.node
	}
	g := b.group("MPLS", "mpls", l)
	g.bits("Label", "mpls.label", 0, 20)
	g.bits("Traffic class", "mpls.exp", 20, 3)
	if g.flag("Bottom of stack", "mpls.bottom", 23).Value == true {
		b.stackEnd = l.End()
	}
	g.uint("Time to live", "mpls.ttl", 3, 1)
	if g.has(0, 4) {
		g.node.Meaning = fmt.Sprintf("label %d", g.value(0, 4)>>12)
	}
	return g.node
}
