package injector

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func packetDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCEVersion, prepare: func(g *rig) {
			tenth := every(10)
			g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if m.CH.Type.Sequenced() && tenth() {
					return scenario.Raw(f, func(b []byte) { b[0] |= 0x10 })
				}
				return *f
			})
		}},
		{Rule: finding.MetaRoCEMalformed, prepare: func(g *rig) {
			tenth := every(10)
			g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if m.CH.Type.Sequenced() && tenth() {
					return scenario.Raw(f, func(b []byte) { b[1] ^= byte(mr0.FlagFirst) })
				}
				return *f
			})
		}},
		{Rule: finding.MetaRoCEICRC, prepare: func(g *rig) {
			g.s.Out = each(func(f *simulation.Frame, _ *mr0.Packet) simulation.Frame {
				h := scenario.Kept(f)
				h.Payload[len(h.Payload)-1] ^= 0x55
				g.originals[string(h.Payload)] = append([]byte(nil), f.Payload...)
				return h
			})
		}},
		{Rule: finding.MetaRoCEReservedBits, prepare: func(g *rig) {
			g.data(func(m *mr0.Packet) bool { m.CH.Flags |= 1; return true })
		}},
		{Rule: finding.MetaRoCECodes, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.Trigger = 9 }) }},
		{Rule: finding.MetaRoCEUnusedFields, prepare: func(g *rig) {
			g.d.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if m.CH.Type == mr0.TypeConnRep {
					return edit(f, func(n *mr0.Packet) { n.CH.PSN = 5 })
				}
				return *f
			})
		}},
		{Rule: finding.MetaRoCESequencedECN, prepare: func(g *rig) {
			g.s.Out = each(func(f *simulation.Frame, _ *mr0.Packet) simulation.Frame {
				f.ECN = dissector.ECNNotECT
				return *f
			})
		}},
		{Rule: finding.MetaRoCEAnswerECN, prepare: func(g *rig) {
			g.d.Out = each(func(f *simulation.Frame, _ *mr0.Packet) simulation.Frame {
				f.ECN = dissector.ECNECT0
				return *f
			})
		}},
		{Rule: finding.MetaRoCEPartitionKey, prepare: func(g *rig) {
			hundred := 0
			g.data(func(m *mr0.Packet) bool {
				if hundred++; hundred > 100 {
					m.CH.PartitionKey = 0x7fff
				}
				return hundred > 100
			})
		}},
	}
}
