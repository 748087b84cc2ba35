package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func rateDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCEHintRange, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.RateHint = 30_000 }) }},
		{Rule: finding.MetaRoCEHintExceeded, load: func(g *rig) { g.Pace(160, 0, metaroce.OperationWrite, 200*512) }, prepare: func(g *rig) {
			g.acks(func(m *mr0.Packet) { m.ACKH.RateHint = 500 })
		}},
		{Rule: finding.MetaRoCEHintAnnounced, prepare: func(g *rig) {
			fifth := every(5)
			g.acks(func(m *mr0.Packet) {
				m.ACKH.RateHint = 9000
				if fifth() {
					m.ACKH.Trigger = mr0.ACKTriggerWindowUpdate
				}
			})
		}},
		{Rule: finding.MetaRoCECEIgnored, config: func(_ int, c *metaroce.Config) { c.InitialWindow, c.LinkRate = 120, 0 }, load: func(g *rig) {
			for range 250 {
				g.Back(4)
				g.Pace(1, 20*time.Microsecond, metaroce.OperationWrite, 200*512)
			}
		}, prepare: func(g *rig) {
			g.mark(1)
			g.s.In = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
				if m.CH.Type == mr0.TypeACK {
					*f = edit(f, func(n *mr0.Packet) { n.ACKH.CECount = 0 })
				}
				return true
			}
		}},
	}
}
