package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func messageDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCEMTU, prepare: func(g *rig) { g.handshake(g.d, func(c *mr0.CONN) { c.MTU = 256 }) }},
		{Rule: finding.MetaRoCEMessageCut, prepare: func(g *rig) {
			tenth := every(10)
			g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if !m.CH.Type.BearsPayload() || m.CH.Flags&mr0.FlagLast != 0 || !tenth() {
					return *f
				}
				payload := f.Payload[m.PayloadOffset : len(f.Payload)-4-16]
				seen := *f
				seen.Payload, _ = m.AppendDatagram(nil, payload, f.Source, f.Destination)
				g.originals[string(seen.Payload)] = append([]byte(nil), f.Payload...)
				return seen
			})
		}},
		{Rule: finding.MetaRoCEMessageLength, prepare: func(g *rig) {
			tenth := every(10)
			g.data(func(m *mr0.Packet) bool {
				m.DH.MessageLength++
				return m.CH.Type.BearsPayload() && m.CH.Flags&mr0.FlagLast == 0 && tenth()
			})
		}},
		{Rule: finding.MetaRoCEMessageType, prepare: func(g *rig) {
			tenth := every(10)
			g.data(func(m *mr0.Packet) bool {
				if m.CH.Type != mr0.TypeWrite || m.CH.Flags&(mr0.FlagLast|mr0.FlagFirst|mr0.FlagIMM) != 0 || !tenth() {
					return false
				}
				m.CH.Type = mr0.TypeSend
				return true
			})
		}},
		{Rule: finding.MetaRoCEPlacement, prepare: func(g *rig) {
			tenth := every(10)
			g.data(func(m *mr0.Packet) bool { m.WETH.VirtualAddress += 64; return m.CH.Type == mr0.TypeWrite && tenth() })
		}},
		{Rule: finding.MetaRoCEReceiveIndex, prepare: func(g *rig) {
			tenth := every(10)
			g.data(func(m *mr0.Packet) bool { m.SETH.ReceiveIndex++; return m.CH.Type == mr0.TypeSend && tenth() })
		}},
		{Rule: finding.MetaRoCEReceiveIndexReused, prepare: func(g *rig) {
			g.data(func(m *mr0.Packet) bool { m.SETH.ReceiveIndex /= 2; return m.CH.Type == mr0.TypeSend })
		}},
		{Rule: finding.MetaRoCEBytesTwice, prepare: func(g *rig) {
			tenth := every(10)
			g.addPath(func(m *mr0.Packet) bool { return !rtx(m) && tenth() && m.CH.Type != mr0.TypeProbe }, func(n *mr0.Packet) { n.DH.Timestamp += 60_000 })
		}},
		{Rule: finding.MetaRoCEMSNSkipped, load: paced, prepare: func(g *rig) {
			g.data(func(m *mr0.Packet) bool { m.DH.MSN *= 2; return true })
		}},
		{Rule: finding.MetaRoCEStreamRange, prepare: func(g *rig) { g.handshake(g.d, func(c *mr0.CONN) { c.StreamCount = 1 }) }},
		{Rule: finding.MetaRoCEReadResponse, load: reads, prepare: func(g *rig) {
			g.d.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if m.CH.Type == mr0.TypeReadResp {
					return g.disguised(f, func(n *mr0.Packet) { n.RSETH.ReadID += 1000 })
				}
				return *f
			})
		}},
		{Rule: finding.MetaRoCEAtomicResponse, load: atomics, prepare: func(g *rig) {
			g.d.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
				if m.CH.Type == mr0.TypeAtomicResp {
					return g.disguised(f, func(n *mr0.Packet) { n.DH.MSN-- })
				}
				return *f
			})
		}},
		{Rule: finding.MetaRoCEAtomicRepeated, load: atomics, prepare: func(g *rig) {
			g.d.Out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
				all := []simulation.Frame{scenario.Kept(f)}
				if m.CH.Type == mr0.TypeAtomicResp && !rtx(m) {
					all = append(all, edit(f, func(n *mr0.Packet) {
						n.CH.Flags |= mr0.FlagRTX
						n.DH.Timestamp++
						n.ARETH.OriginalValue++
					}))
				}
				return all
			}
		}},
	}
}
