package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func pathDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCEPathOrder, prepare: func(g *rig) {
			twentieth := every(20)
			g.data(func(m *mr0.Packet) bool {
				if rtx(m) || !twentieth() {
					return false
				}
				m.DH.Timestamp -= 1_000_000
				return true
			})
		}},
		{Rule: finding.MetaRoCEInitialPSN, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.InitialPSN += 1 << 24 }) }},
		{Rule: finding.MetaRoCEPathRange, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.PathCount = 2 }) }},
		{Rule: finding.MetaRoCEPortCollision, prepare: func(g *rig) {
			g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if !m.CH.Type.Sequenced() {
					return *f
				}
				if m.CH.PathID == 0 {
					g.ports[0] = f.Source.Port()
				}
				if p := g.ports[0]; m.CH.PathID == 1 && p != 0 {
					f.Source = netipPort(*f, p)
					return scenario.Rewritten(f, m)
				}
				return *f
			})
		}},
		{Rule: finding.MetaRoCEAnswerPort, prepare: func(g *rig) {
			g.d.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if m.CH.Type != mr0.TypeACK {
					return *f
				}
				f.Source = netipPort(*f, 45000)
				return scenario.Rewritten(f, m)
			})
		}},
		{Rule: finding.MetaRoCEPathUnused, load: paced, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.PathCount = 5 }) }},
		{Rule: finding.MetaRoCEWindow, load: bulk, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.MaxWindow = 4 }) }},
		{Rule: finding.MetaRoCESACKWindow, load: func(g *rig) { g.Pace(2400, 10*time.Microsecond, metaroce.OperationWrite, 400) }, prepare: func(g *rig) {
			frozen := map[uint8]uint32{}
			g.acks(func(m *mr0.Packet) {
				if _, ok := frozen[m.CH.PathID]; !ok {
					frozen[m.CH.PathID] = m.ACKH.CumulativePSN
				}
				m.ACKH.CumulativePSN, m.ACKH.SACK = frozen[m.CH.PathID], mr0.SACK{}
			})
		}},
	}
}
