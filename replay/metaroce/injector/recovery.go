package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func recoveryDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCERetransmissionFlag, prepare: func(g *rig) {
			g.lose(0.03)
			g.data(func(m *mr0.Packet) bool {
				again := rtx(m)
				m.CH.Flags &^= mr0.FlagRTX
				return again
			})
		}},
		{Rule: finding.MetaRoCEFirstFlagged, load: brisk, prepare: func(g *rig) {
			g.data(func(m *mr0.Packet) bool { m.CH.Flags |= mr0.FlagRTX; return true })
		}},
		{Rule: finding.MetaRoCERetransmissionTimestamp, prepare: func(g *rig) {
			g.lose(0.03)
			first := map[[2]uint32]uint32{}
			g.data(func(m *mr0.Packet) bool {
				key := [2]uint32{uint32(m.CH.PathID), m.CH.PSN}
				if !rtx(m) {
					first[key] = m.DH.Timestamp
					return false
				}
				m.DH.Timestamp = first[key]
				return true
			})
		}},
		{Rule: finding.MetaRoCERetransmissionContent, prepare: func(g *rig) {
			g.lose(0.03)
			g.data(func(m *mr0.Packet) bool { m.DH.MSN += 5000; return rtx(m) && m.CH.Type != mr0.TypeProbe })
		}},
		{Rule: finding.MetaRoCERetransmissionUnfounded, load: long, prepare: func(g *rig) { g.repeat(20, 0, false) }},
		{Rule: finding.MetaRoCEAcknowledgedResent, load: paced, prepare: func(g *rig) { g.repeat(10, 200*time.Microsecond, false) }},
		{Rule: finding.MetaRoCELostAgainEarly, load: long, prepare: func(g *rig) {
			g.lose(0.03)
			g.repeat(1, 0, true)
		}},
		{Rule: finding.MetaRoCEGapNotResent, load: func(g *rig) { g.Pace(600, 20*time.Microsecond, metaroce.OperationWrite, 8*512) }, prepare: func(g *rig) {
			g.lose(0.01)
			g.s.In = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
				if m.CH.Type == mr0.TypeACK {
					*f = edit(f, func(n *mr0.Packet) {
						n.ACKH.SACK = mr0.SACK{}
						n.ACKH.EchoTimestamp, n.ACKH.ACKDelay = uint32(now)-1_000_000_000, 1_000_000_000-40_000
					})
				}
				return true
			}
		}},
		{Rule: finding.MetaRoCEMovedWithoutFailure, load: brisk, prepare: func(g *rig) {
			tenth := every(10)
			g.addPath(func(m *mr0.Packet) bool { return !rtx(m) && tenth() }, func(n *mr0.Packet) { n.CH.Flags |= mr0.FlagRTX; n.DH.Timestamp += 60_000 })
		}},
		{Rule: finding.MetaRoCEFailedPathKept, config: func(i int, c *metaroce.Config) {
			if i == 0 {
				c.PathFailedAfter = 100
			}
		}, load: func(g *rig) {
			g.Pace(400, 10*time.Microsecond, metaroce.OperationWrite, 400)
			g.Run(4*time.Second, nil)
		}, prepare: func(g *rig) { g.silentFor(10*time.Second, 2*time.Millisecond) }},
		{Rule: finding.MetaRoCEProbePort, load: func(g *rig) { g.Pace(3000, 100*time.Microsecond, metaroce.OperationWrite, 400) }, config: func(_ int, c *metaroce.Config) {
			c.RTOMax = 5 * time.Millisecond
		}, prepare: func(g *rig) {
			g.silentFor(25*time.Millisecond, 15*time.Millisecond)
			g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if !m.CH.Type.Sequenced() {
					return *f
				}
				if g.ports[m.CH.PathID] == 0 {
					g.ports[m.CH.PathID] = f.Source.Port()
				}
				f.Source = netipPort(*f, g.ports[m.CH.PathID])
				return scenario.Rewritten(f, m)
			})
		}},
		{Rule: finding.MetaRoCEProbeInterval, load: func(g *rig) { g.Pace(1000, 100*time.Microsecond, metaroce.OperationWrite, 400) }, config: func(_ int, c *metaroce.Config) {
			c.RTOMax = 5 * time.Millisecond
		}, prepare: func(g *rig) { g.silentFor(75*time.Millisecond, 5*time.Millisecond) }},
	}
}
