package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func refusalDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCENAKReason, load: unready, prepare: func(g *rig) {
			g.naks(func(m *mr0.Packet) { m.NAKH.Reason, m.NAKH.RetryAfter = mr0.NAKReasonRemoteOperationError, 0 })
		}},
		{Rule: finding.MetaRoCENAKMatch, load: unready, prepare: func(g *rig) { g.naks(func(m *mr0.Packet) { m.NAKH.MSN++ }) }},
		{Rule: finding.MetaRoCERetryEarly, load: unready, prepare: func(g *rig) {
			g.s.In = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
				if m.CH.Type == mr0.TypeNAK {
					*f = edit(f, func(n *mr0.Packet) { n.NAKH.RetryAfter = 1 })
				}
				return true
			}
		}},
		{Rule: finding.MetaRoCEAfterFatalNAK, prepare: func(g *rig) {
			g.s.In = func(_ time.Duration, _ *simulation.Frame, m *mr0.Packet) bool { return m.CH.Type != mr0.TypeNAK }
		}, load: func(g *rig) {
			s, _ := g.Connections[0].Stream(5)
			_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 100), RemoteAddress: 1 << 33, RKey: 99})
			g.Pace(1200, 70*time.Microsecond, metaroce.OperationWrite, 8*512)
		}},
	}
}
