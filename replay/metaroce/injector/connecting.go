package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func connectingDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.MetaRoCEConnNonce, prepare: func(g *rig) { g.handshake(g.d, func(c *mr0.CONN) { c.Nonce ^= 1 }) }},
		{Rule: finding.MetaRoCEConnRetry, prepare: func(g *rig) {
			g.s.Out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
				if m.CH.Type == mr0.TypeConnReq {
					for i := range 4 {
						g.s.Delay(now+time.Duration(i+1)*time.Millisecond, scenario.Kept(f))
					}
				}
				return []simulation.Frame{scenario.Kept(f)}
			}
		}},
		{Rule: finding.MetaRoCEConnChanged, prepare: func(g *rig) {
			g.s.Out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
				if m.CH.Type == mr0.TypeConnReq {
					g.s.Delay(now+time.Millisecond, edit(f, func(n *mr0.Packet) { n.CONN.StreamCount++ }))
				}
				return []simulation.Frame{scenario.Kept(f)}
			}
		}},
		{Rule: finding.MetaRoCEDisconnectUnanswered, prepare: func(g *rig) {
			g.d.In = func(_ time.Duration, _ *simulation.Frame, m *mr0.Packet) bool { return m.CH.Type != mr0.TypeDisconnect }
		}, load: func(g *rig) {
			for range 20000 {
				g.Back(1)
				g.Pace(1, 10*time.Microsecond, metaroce.OperationWrite, 400)
			}
			for range 400 {
				if s, err := g.Accepted[0].Stream(0); err == nil {
					_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 4000), RemoteAddress: 1 << 33, RKey: 1})
				}
			}
			g.Net.Wake(g.Hosts[1])
			g.Connections[0].Disconnect(g.Net.Now)
			g.Net.Wake(g.Hosts[0])
			g.Run(2*time.Second, nil)
		}},
		{Rule: finding.MetaRoCEAfterDisconnect, prepare: func(g *rig) {
			n := 0
			g.s.Out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
				all := []simulation.Frame{scenario.Kept(f)}
				if m.CH.Type.Sequenced() {
					if n++; n == 100 {
						left := mr0.Packet{
							CH:   mr0.CH{Type: mr0.TypeDisconnect, DestConnID: m.CH.DestConnID, PartitionKey: m.CH.PartitionKey},
							DISC: mr0.DISC{SourceConnID: g.Connections[0].ID()},
						}
						d := *f
						d.ECN = dissector.ECNNotECT
						d.Payload, _ = left.AppendDatagram(nil, nil, f.Source, f.Destination)
						all = append(all, d)
					}
				}
				return all
			}
			g.d.In = func(_ time.Duration, _ *simulation.Frame, m *mr0.Packet) bool { return m.CH.Type != mr0.TypeDisconnect }
		}, load: paced},
	}
}
