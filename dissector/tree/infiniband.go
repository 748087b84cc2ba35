package tree

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

func (b *builder) bth(l dissector.Layer) *Node {
	g := b.group("BTH", "infiniband.bth", l)
	opcode := g.uint("Opcode", "infiniband.bth.opcode", 0, 1)
	g.flag("Solicited event", "infiniband.bth.se", 8)
	g.flag("Migration request", "infiniband.bth.m", 9)
	g.bits("Pad count", "infiniband.bth.padcnt", 10, 2)
	g.bits("Transport header version", "infiniband.bth.tver", 12, 4)
	key := g.hex("Partition key", "infiniband.bth.p_key", 2, 2)
	g.flag("FECN", "infiniband.bth.fecn", 32)
	g.flag("BECN", "infiniband.bth.becn", 33)
	g.bits("Reserved", "infiniband.bth.reserved6", 34, 6)
	b.queuePair(g, "Destination QP", "infiniband.bth.destqp", 5)
	g.flag("Acknowledge request", "infiniband.bth.a", 64)
	g.bits("Reserved", "infiniband.bth.reserved7", 65, 7)
	g.hex("PSN", "infiniband.bth.psn", 9, 3)
	if g.has(0, 1) {
		name := infiniband.Opcode(g.data[0]).String()
		opcode.Meaning = name
		g.node.Meaning = name
	}
	if g.has(2, 2) && g.value(2, 2) == infiniband.DefaultPartitionKey {
		key.Meaning += ", default partition"
	}
	return g.node
}

// queuePair adds a QP number of three bytes.
func (b *builder) queuePair(g *group, name, field string, offset int) {
	n := g.hex(name, field, offset, 3)
	switch g.value(offset, 3) {
	case infiniband.GeneralServicesQP:
		n.Meaning += ", general services"
	case infiniband.MulticastQP:
		n.Meaning += ", multicast"
	}
}

func (b *builder) rdeth(l dissector.Layer) *Node {
	g := b.group("RDETH", "infiniband.rdeth", l)
	g.hex("Reserved", "infiniband.rdeth.reserved8", 0, 1)
	g.hex("EE context", "infiniband.rdeth.eecnxt", 1, 3)
	return g.node
}

func (b *builder) deth(l dissector.Layer) *Node {
	g := b.group("DETH", "infiniband.deth", l)
	key := g.hex("Queue key", "infiniband.deth.q_key", 0, 4)
	g.hex("Reserved", "infiniband.deth.reserved8", 4, 1)
	b.queuePair(g, "Source QP", "infiniband.deth.srcqp", 5)
	if g.has(0, 4) && g.value(0, 4) == infiniband.GSIQueueKey {
		key.Meaning += ", general services"
	}
	return g.node
}

func (b *builder) xrceth(l dissector.Layer) *Node {
	g := b.group("XRCETH", "infiniband.xrceth", l)
	g.hex("Reserved", "infiniband.xrceth.reserved8", 0, 1)
	g.hex("XRC SRQ", "infiniband.xrceth.xrcsrq", 1, 3)
	return g.node
}

func (b *builder) reth(l dissector.Layer) *Node {
	g := b.group("RETH", "infiniband.reth", l)
	g.hex("Virtual address", "infiniband.reth.va", 0, 8)
	g.hex("Remote key", "infiniband.reth.r_key", 8, 4)
	g.uint("DMA length", "infiniband.reth.dmalen", 12, 4)
	if g.has(12, 4) {
		g.node.Meaning = fmt.Sprintf("%d bytes", g.value(12, 4))
	}
	return g.node
}

func (b *builder) atomicETH(l dissector.Layer) *Node {
	g := b.group("AtomicETH", "infiniband.atomiceth", l)
	g.hex("Virtual address", "infiniband.reth.va", 0, 8)
	g.hex("Remote key", "infiniband.reth.r_key", 8, 4)
	g.hex("Swap or add data", "infiniband.atomiceth.swapdt", 12, 8)
	g.hex("Compare data", "infiniband.atomiceth.cmpdt", 20, 8)
	return g.node
}

func (b *builder) aeth(l dissector.Layer) *Node {
	g := b.group("AETH", "infiniband.aeth", l)
	if g.has(0, 1) {
		s := infiniband.Syndrome(g.data[0])
		g.node.Meaning = s.String()
		group := g.sub("Syndrome", "infiniband.aeth.syndrome", 0, 1)
		group.node.Value, group.node.Meaning = uint64(s), s.String()
		group.bits("Reserved", "infiniband.aeth.syndrome.reserved", 0, 1)
		kind := group.bits("Type", "infiniband.aeth.syndrome.opcode", 1, 2)
		kind.Meaning = s.Type().String()
		b.syndromeValue(group, s)
	}
	g.uint("MSN", "infiniband.aeth.msn", 1, 3)
	return g.node
}

// syndromeValue adds the lower five bits under the name that they have for the syndrome's type.
func (b *builder) syndromeValue(g *group, s infiniband.Syndrome) {
	switch s.Type() {
	case infiniband.SyndromeACK:
		n, limited := s.CreditCount()
		v := g.bits("Credit count code", "infiniband.aeth.syndrome.credit_count", 3, 5)
		v.Meaning = "unlimited"
		if limited {
			v.Meaning = fmt.Sprintf("%d credits", n)
		}
	case infiniband.SyndromeRNR:
		g.bits("Timer code", "infiniband.aeth.syndrome.timer", 3, 5).Meaning = infiniband.TimerText(s.RNRTimer())
	case infiniband.SyndromeNAK:
		g.bits("NAK code", "infiniband.aeth.syndrome.error_code", 3, 5).Meaning = s.NAKCode().String()
	case infiniband.SyndromeReserved:
		g.bits("Reserved", "infiniband.aeth.syndrome.reserved_value", 3, 5)
	default:
		g.bits("Reserved", "infiniband.aeth.syndrome.reserved_value", 3, 5)
	}
}

func (b *builder) atomicAckETH(l dissector.Layer) *Node {
	g := b.group("AtomicAckETH", "infiniband.atomicacketh", l)
	g.hex("Original data", "infiniband.atomicacketh.origremdt", 0, 8)
	return g.node
}

// word is a header that is a single integer of four bytes.
func (b *builder) word(name, field string, l dissector.Layer) *Node {
	g := b.group(name, field, l)
	if g.has(0, 4) {
		g.node.Value = g.value(0, 4)
		g.node.Meaning = fmt.Sprintf("0x%08x", g.value(0, 4))
	}
	return g.node
}

func (b *builder) feth(l dissector.Layer) *Node {
	g := b.group("FETH", "infiniband.feth", l)
	g.bits("Reserved", "infiniband.feth.reserved26", 0, 26)
	selectivity := g.bits("Selectivity", "infiniband.feth.sel", 26, 2)
	placement := g.bits("Placement type", "infiniband.feth.plt", 28, 4)
	if g.has(3, 1) {
		selectivity.Meaning = [...]string{"memory range", "memory region", "reserved", "reserved"}[g.data[3]>>4&3]
		var types []string
		for i, name := range [...]string{"global visibility", "persistence"} {
			if g.data[3]>>i&1 != 0 {
				types = append(types, name)
			}
		}
		placement.Meaning = strings.Join(types, ", ")
		g.node.Meaning = placement.Meaning
	}
	return g.node
}

func (b *builder) cnp(l dissector.Layer) *Node {
	g := b.group("CNP", "cnp", l)
	g.node.Meaning = "congestion notification"
	g.rest("Reserved", "cnp.reserved", 0)
	return g.node
}
