package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func ackDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCEAckBackwards, prepare: func(g *rig) {
			twentieth := every(20)
			g.acks(func(m *mr0.Packet) {
				if twentieth() {
					m.ACKH.CumulativePSN -= 40
				}
			})
		}},
		{Rule: finding.MetaRoCEAckReneged, prepare: func(g *rig) {
			g.lose(0.03)
			second := every(2)
			g.acks(func(m *mr0.Packet) {
				if second() {
					m.ACKH.SACK = mr0.SACK{}
				}
			})
		}},
		{Rule: finding.MetaRoCEAckUnsent, load: paced, prepare: func(g *rig) {
			g.acks(func(m *mr0.Packet) {
				m.ACKH.CumulativePSN += 32
				m.ACKH.PacketCount += 32
				m.ACKH.SACK = mr0.SACK{}
			})
		}},
		{Rule: finding.MetaRoCEAckNumber, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.CH.PSN *= 2 }) }},
		{Rule: finding.MetaRoCEPacketCount, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.PacketCount /= 2 }) }},
		{Rule: finding.MetaRoCECECount, load: brisk, prepare: func(g *rig) {
			g.mark(0.2)
			g.acks(func(m *mr0.Packet) { m.ACKH.CECount = 0 })
		}},
		{Rule: finding.MetaRoCEEchoUnsent, load: brisk, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.EchoTimestamp += 12345 }) }},
		{Rule: finding.MetaRoCEAckTrigger, load: brisk, prepare: func(g *rig) {
			g.acks(func(m *mr0.Packet) {
				if m.ACKH.SACK == (mr0.SACK{}) {
					m.ACKH.Trigger = mr0.ACKTriggerGap
				}
			})
		}},
		{Rule: finding.MetaRoCEAckEvery, load: bulk, config: func(_ int, c *metaroce.Config) {
			c.ACKEvery, c.ACKTimer = 120, time.Millisecond
			c.InitialWindow = 256
		}, prepare: func(g *rig) { g.unasked(0) }},
		{Rule: finding.MetaRoCEAckDelay, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.ACKDelay += 200_000 }) }},
		{Rule: finding.MetaRoCEAckRequested, load: bulk, prepare: func(g *rig) { g.unasked(0) }},
		{Rule: finding.MetaRoCEAckGap, load: bulk, prepare: func(g *rig) {
			g.unasked(0.03)
			g.withhold(mr0.ACKTriggerGap)
		}},
		{Rule: finding.MetaRoCEAckDuplicate, load: long, prepare: func(g *rig) {
			tenth := every(10)
			g.s.Out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
				if m.CH.Type.Sequenced() && tenth() {
					return []simulation.Frame{scenario.Kept(f), scenario.Kept(f)}
				}
				return []simulation.Frame{scenario.Kept(f)}
			}
			g.unasked(0)
			g.withhold(mr0.ACKTriggerDuplicate)
		}},
		{Rule: finding.MetaRoCEAckCEChange, load: long, prepare: func(g *rig) {
			g.mark(0.2)
			g.unasked(0)
			g.withhold(mr0.ACKTriggerCEChange)
		}},
		{Rule: finding.MetaRoCEAckMessageEnd, load: func(g *rig) { g.Pace(1800, 5*time.Microsecond, metaroce.OperationWrite, 3*512) }, prepare: func(g *rig) {
			g.unasked(0)
			g.withhold(mr0.ACKTriggerMessageEnd)
		}},
	}
}
