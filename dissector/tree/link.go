package tree

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

func (b *builder) ethernet(l dissector.Layer) *Node {
	g := b.group("Ethernet", "eth", l)
	g.mac("Destination", "eth.dst", 0)
	g.mac("Source", "eth.src", 6)
	b.lengthOrType(g, "eth", 12)
	if g.has(0, 12) {
		g.node.Meaning = g.macText(6) + " > " + g.macText(0)
	}
	return g.node
}

// lengthOrType adds the field that ends an Ethernet header or a VLAN tag: an ethertype, or below 0x600 the
// length of an 802.3 frame (IEEE 802.3 clause 3.2.6).
func (b *builder) lengthOrType(g *group, prefix string, offset int) {
	const minEtherType = 0x600
	if g.has(offset, 2) && g.value(offset, 2) < minEtherType {
		g.uint("Length", prefix+".len", offset, 2)
		return
	}
	name := prefix + ".type"
	if prefix == "vlan" {
		name = "vlan.etype"
	}
	b.etherType(g, name, offset)
}

// etherType adds an ethertype, which also says what an unclaimed rest of the frame is.
func (b *builder) etherType(g *group, field string, offset int) {
	t := g.hex("Type", field, offset, 2)
	if g.has(offset, 2) {
		b.next = next{etherType: g.value(offset, 2), known: true}
		t.Meaning = named(t.Meaning, etherTypeName(b.next.etherType))
	}
}

func (b *builder) vlan(l dissector.Layer) *Node {
	g := b.group("VLAN", "vlan", l)
	g.bits("Priority", "vlan.priority", 0, 3)
	g.flag("Drop eligible", "vlan.dei", 3)
	id := g.bits("VLAN ID", "vlan.id", 4, 12)
	b.lengthOrType(g, "vlan", 2)
	if g.has(0, 2) {
		g.node.Meaning = fmt.Sprintf("ID %d, priority %d", id.Value, g.value(0, 1)>>5)
		if id.Value == uint64(0) {
			id.Meaning = "priority tag"
		}
	}
	return g.node
}

func (b *builder) llc(l dissector.Layer) *Node {
	g := b.group("LLC", "llc", l)
	g.hex("Destination SAP", "llc.dsap", 0, 1)
	g.hex("Source SAP", "llc.ssap", 1, 1)
	const unnumbered = 3
	if g.has(2, 1) && g.value(2, 1)&unnumbered != unnumbered { // with sequence numbers (IEEE 802.2, section 5.4)
		g.leHex("Control", "llc.control", 2, 2)
		return g.node
	}
	g.hex("Control", "llc.control", 2, 1)
	if g.has(0, 2) && g.value(0, 2) == 0xaaaa {
		g.node.Meaning = "SNAP"
		g.hex("Organisation", "llc.oui", 3, 3)
		b.etherType(g, "llc.type", 6)
	}
	return g.node
}

func (b *builder) macControl(l dissector.Layer) *Node {
	const pause, pfc, quantum = 0x0001, 0x0101, 512
	g := b.group("MAC control", "macc", l)
	opcode := g.hex("Opcode", "macc.opcode", 0, 2)
	if !g.has(0, 2) {
		return g.node
	}
	switch opcode.Value {
	case uint64(pause):
		opcode.Meaning += ", pause"
		t := g.uint("Pause time", "macc.pause_time", 2, 2)
		if g.has(2, 2) {
			t.Meaning = quanta(g.value(2, 2), quantum)
			g.node.Meaning = "pause, " + t.Meaning
		}
	case uint64(pfc):
		opcode.Meaning += ", priority flow control"
		v := g.sub("Class enable vector", "macc.cbfc.enbv", 2, 2)
		v.node.Value = g.value(2, 2)
		v.node.Meaning = fmt.Sprintf("0x%04x", g.value(2, 2))
		v.bits("Reserved", "", 0, 8)
		for class := 7; class >= 0; class-- {
			v.flag("Class "+strconv.Itoa(class), "macc.cbfc.enbv.c"+strconv.Itoa(class), 15-class)
		}
		addressed := []string{"PFC"}
		for class := range 8 {
			t := g.uint("Pause time of class "+strconv.Itoa(class), "macc.cbfc.pause_time.c"+strconv.Itoa(class), 4+2*class, 2)
			t.Meaning = quanta(g.value(4+2*class, 2), quantum)
			if g.has(4+2*class, 2) && g.value(3, 1)>>class&1 != 0 {
				addressed = append(addressed, fmt.Sprintf("class %d: %s", class, t.Meaning))
			} else {
				t.Meaning = "class not addressed"
			}
		}
		if len(addressed) == 1 {
			addressed = append(addressed, "no class")
		}
		g.node.Meaning = strings.Join(addressed, ", ")
	}
	return g.node
}

// quanta words a pause time.
func quanta(n, bits uint64) string {
	if n == 0 {
		return "resume"
	}
	return fmt.Sprintf("%d quanta, %d bit times", n, n*bits)
}

func (b *builder) sll(l dissector.Layer) *Node {
	g := b.group("Linux cooked capture", "sll", l)
	g.uint("Packet type", "sll.pkttype", 0, 2).Meaning = cookedName(g.value(0, 2))
	g.uint("Link-layer address type", "sll.hatype", 2, 2).Meaning = hardwareName(g.value(2, 2))
	g.uint("Link-layer address length", "sll.halen", 4, 2)
	b.cookedAddress(g, 6, g.value(4, 2))
	b.cookedProtocol(g, 14)
	return g.node
}

func (b *builder) sll2(l dissector.Layer) *Node {
	g := b.group("Linux cooked capture v2", "sll", l)
	b.cookedProtocol(g, 0)
	g.hex("Reserved", "", 2, 2)
	g.uint("Interface index", "sll.ifindex", 4, 4)
	g.uint("Link-layer address type", "sll.hatype", 8, 2).Meaning = hardwareName(g.value(8, 2))
	g.uint("Packet type", "sll.pkttype", 10, 1).Meaning = cookedName(g.value(10, 1))
	g.uint("Link-layer address length", "sll.halen", 11, 1)
	b.cookedAddress(g, 12, g.value(11, 1))
	return g.node
}

// hardwareName names what Linux calls the kind of an interface (if_arp.h), of those that RDMA hosts have.
func hardwareName(t uint64) string {
	return map[uint64]string{1: "Ethernet", 32: "InfiniBand", 512: "PPP", 768: "IP in IP", 772: "loopback", 778: "GRE", 65534: "none"}[t]
}

// cookedAddress adds the eight bytes of a source address of the stated length.
func (b *builder) cookedAddress(g *group, offset int, length uint64) {
	const field, mac = 8, 6
	used := int(min(length, field))
	if used == mac {
		g.mac("Source", "sll.src.eth", offset)
	} else {
		g.bytes("Source", "sll.src.other", offset, used)
	}
	g.bytes("Unused", "sll.unused", offset+used, field-used)
}

// cookedProtocol adds an ethertype, or one of the numbers below that Linux gives to what has none (libpcap,
// LINKTYPE_LINUX_SLL).
func (b *builder) cookedProtocol(g *group, offset int) {
	const minEtherType = 0x600
	if g.has(offset, 2) && g.value(offset, 2) < minEtherType {
		g.hex("Protocol", "sll.ltype", offset, 2)
		return
	}
	b.etherType(g, "sll.etype", offset)
}

// cookedName names the direction of a cooked packet (libpcap, LINKTYPE_LINUX_SLL).
func cookedName(t uint64) string {
	switch t {
	case 0:
		return "to us"
	case 1:
		return "broadcast"
	case 2:
		return "multicast"
	case 3:
		return "to another host"
	case 4:
		return "sent by us"
	}
	return ""
}

func (b *builder) null(l dissector.Layer) *Node {
	g := b.group("BSD loopback", "null", l)
	family := g.value(0, 4)
	if family > 0xffff {
		family = family&0xff<<24 | family&0xff00<<8 | family>>8&0xff00 | family>>24
	}
	g.add("Family", "null.family", 0, 4, family).Meaning = map[uint64]string{
		2: "IPv4", 10: "IPv6", 24: "IPv6", 28: "IPv6", 30: "IPv6",
	}[family]
	return g.node
}

// erf reads an ERF record header; its time stamp alone is little-endian, in units of 2^-32 s.
func (b *builder) erf(l dissector.Layer) *Node {
	const header, extension, more = 16, 8, 0x80
	g := b.group("ERF", "erf", l)
	if g.has(0, 8) {
		var stamp uint64
		for i := 7; i >= 0; i-- {
			stamp = stamp<<8 | uint64(g.data[i])
		}
		c := g.add("Time stamp", "erf.ts", 0, 8, stamp)
		c.wideNumber = true
		fraction := (stamp & 0xffffffff) * uint64(time.Second) >> 32
		c.Meaning = time.Unix(int64(stamp>>32), int64(fraction)).UTC().Format(time.RFC3339Nano)
	}
	g.flag("Extension headers follow", "erf.types.ext_header", 64)
	g.bits("Record type", "erf.types.type", 65, 7)
	flags := g.sub("Flags", "erf.flags", 9, 1)
	flags.node.Value = g.value(9, 1)
	flags.bits("Reserved", "erf.flags.res", 0, 2)
	flags.flag("Receive error in the stream", "erf.flags.dse", 2)
	flags.flag("Receive error", "erf.flags.rxe", 3)
	flags.flag("Truncated", "erf.flags.trunc", 4)
	flags.flag("Varying record length", "erf.flags.vlen", 5)
	flags.bits("Capture interface", "erf.flags.cap", 6, 2)
	g.uint("Record length", "erf.rlen", 10, 2)
	g.uint("Loss counter or colour", "erf.lctr", 12, 2)
	g.uint("Wire length", "erf.wlen", 14, 2)
	at, follows := header, g.value(8, 1)&more != 0
	for follows && g.has(at, extension) {
		follows = g.value(at, 1)&more != 0
		e := g.sub("Extension header", "erf.ehdr", at, extension)
		e.flag("Extension headers follow", "", 0)
		e.bits("Type", "erf.ehdr.types", 1, 7)
		e.rest("Data", "", 1)
		at += extension
	}
	if g.has(at, 2) {
		e := g.sub("Ethernet pad", "erf.eth", at, 2)
		e.uint("Offset", "erf.eth.off", 0, 1)
		e.hex("Padding", "erf.eth.pad", 1, 1)
	}
	return g.node
}

func (b *builder) lrh(l dissector.Layer) *Node {
	g := b.group("LRH", "infiniband.lrh", l)
	g.bits("Virtual lane", "infiniband.lrh.vl", 0, 4)
	g.bits("Link version", "infiniband.lrh.lver", 4, 4)
	g.bits("Service level", "infiniband.lrh.sl", 8, 4)
	g.bits("Reserved", "infiniband.lrh.reserved2", 12, 2)
	follows := g.bits("Next header", "infiniband.lrh.lnh", 14, 2)
	g.uint("Destination LID", "infiniband.lrh.dlid", 2, 2)
	g.bits("Reserved", "infiniband.lrh.reserved5", 32, 5)
	words := g.bits("Packet length", "infiniband.lrh.pktlen", 37, 11)
	g.uint("Source LID", "infiniband.lrh.slid", 6, 2)
	if g.has(0, 8) {
		follows.Meaning = [...]string{"raw", "IPv6, raw", "BTH", "GRH and BTH"}[g.value(1, 1)&3]
		words.Meaning = fmt.Sprintf("%d bytes", 4*(g.value(4, 2)&0x7ff))
		g.node.Meaning = fmt.Sprintf("LID %d > LID %d", g.value(6, 2), g.value(2, 2))
	}
	return g.node
}
