package injector

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// rig is a sender and a receiver, one of which deviates.
type rig struct {
	*scenario.World
	r         *rand.Rand
	s, d      *scenario.Host // sender and receiver of most of the data
	originals map[string][]byte
	dropped   [256]uint32 // ACKs that were held back, by path
	ports     map[uint8]uint16
	extra     uint32
}

// edit is a frame with another packet in it.
func edit(f *simulation.Frame, change func(m *mr0.Packet)) simulation.Frame {
	var m mr0.Packet
	if mr0.Decode(f.Payload, &m) != nil {
		panic("cannot be decoded")
	}
	change(&m)
	return scenario.Rewritten(f, &m)
}

// disguised is a frame that the capture sees with another packet in it; the peer gets what was there.
func (g *rig) disguised(f *simulation.Frame, change func(m *mr0.Packet)) simulation.Frame {
	seen := edit(f, change)
	g.originals[string(seen.Payload)] = append([]byte(nil), f.Payload...)
	return seen
}

// undisguise gives a peer what was there.
func (g *rig) undisguise(f *simulation.Frame) {
	if original, ok := g.originals[string(f.Payload)]; ok {
		f.Payload = append(f.Payload[:0], original...)
	}
}

func own(f simulation.Frame) simulation.Frame { return scenario.Kept(&f) }

type outgoing = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame

// each alters what a host sends.
func each(change func(f *simulation.Frame, m *mr0.Packet) simulation.Frame) outgoing {
	return func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		return []simulation.Frame{own(change(f, m))}
	}
}

// acks disguises ACKs of the receiver.
func (g *rig) acks(change func(m *mr0.Packet)) {
	g.d.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if m.CH.Type != mr0.TypeACK {
			return *f
		}
		return g.disguised(f, change)
	})
}

// data disguises sequenced packets of the sender.
func (g *rig) data(change func(m *mr0.Packet) bool) {
	g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if !m.CH.Type.Sequenced() || !change(m) {
			return *f
		}
		return g.disguised(f, func(n *mr0.Packet) { *n = *m })
	})
}

// handshake disguises what an end says of itself.
func (g *rig) handshake(h *scenario.Host, change func(c *mr0.CONN)) {
	before := h.Out
	h.Out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		if m.Has&mr0.HasCONN != 0 {
			return []simulation.Frame{g.disguised(f, func(n *mr0.Packet) { change(&n.CONN) })}
		}
		if before != nil {
			return before(now, f, m)
		}
		return []simulation.Frame{scenario.Kept(f)}
	}
}

// lose drops a share of the sequenced packets at the receiver, behind every capture.
func (g *rig) lose(share float64) {
	g.d.In = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
		g.undisguise(f)
		return !m.CH.Type.Sequenced() || g.r.Float64() >= share
	}
}

// unasked takes AR from what the receiver gets.
func (g *rig) unasked(share float64) {
	g.d.In = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
		g.undisguise(f)
		if m.CH.Type.Sequenced() {
			*f = edit(f, func(n *mr0.Packet) { n.CH.Flags &^= mr0.FlagAR })
			return g.r.Float64() >= share
		}
		return true
	}
}

// withhold keeps most ACKs with that trigger back, and numbers the others as if there had been none.
func (g *rig) withhold(trigger mr0.ACKTrigger) {
	g.d.Out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		if m.CH.Type != mr0.TypeACK {
			return []simulation.Frame{scenario.Kept(f)}
		}
		if m.ACKH.Trigger == trigger && g.r.Float64() < 0.8 {
			g.dropped[m.CH.PathID]++
			return nil
		}
		return []simulation.Frame{edit(f, func(n *mr0.Packet) { n.CH.PSN -= g.dropped[n.CH.PathID] })}
	}
}

// addPath lets the capture see copies of data on a path that the endpoints do not have.
func (g *rig) addPath(wanted func(m *mr0.Packet) bool, change func(n *mr0.Packet)) {
	g.s.Out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		if m.CH.Type.Sequenced() && wanted(m) {
			c := edit(f, func(n *mr0.Packet) {
				change(n)
				n.CH.PathID = 4
				n.CH.PSN = mr0.PathInitialPSN(g.Connections[0].Local().InitialPSN, 4) + g.extra
			})
			c.Source = netipPort(c, 40000)
			c = edit(&c, func(*mr0.Packet) {})
			g.extra++
			g.s.Delay(now+60*time.Microsecond, c)
		}
		return []simulation.Frame{scenario.Kept(f)}
	}
	g.handshake(g.s, func(c *mr0.CONN) { c.PathCount = 5 })
}

func netipPort(f simulation.Frame, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(f.Source.Addr(), port)
}

func rtx(m *mr0.Packet) bool { return m.CH.Flags&mr0.FlagRTX != 0 }

// silentFor makes the receiver deaf to data for a time, again and again.
func (g *rig) silentFor(deaf, between time.Duration) {
	before := g.d.In
	start := time.Duration(-1)
	g.d.In = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
		g.undisguise(f)
		if m.CH.Type.Sequenced() {
			if start < 0 {
				start = now
			}
			if (now-start)%(deaf+between) > between {
				return false
			}
		}
		return before == nil || before(now, f, m)
	}
}

// naks disguises NAKs of the receiver.
func (g *rig) naks(change func(m *mr0.Packet)) {
	g.d.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if m.CH.Type != mr0.TypeNAK {
			return *f
		}
		return g.disguised(f, change)
	})
}

// mark sets CE on a share of the data as it leaves.
func (g *rig) mark(share float64) {
	g.s.Out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if m.CH.Type.Sequenced() && g.r.Float64() < share {
			f.ECN = dissector.ECNCE
		}
		return *f
	})
}

// repeat sends packets a second time as retransmissions, each so many of the first transmissions or of the
// retransmissions.
func (g *rig) repeat(n int, after time.Duration, ofRetransmissions bool) {
	now := every(n)
	g.s.Out = func(at time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		all := []simulation.Frame{scenario.Kept(f)}
		if !m.CH.Type.Sequenced() || m.CH.Type == mr0.TypeProbe || rtx(m) != ofRetransmissions || !now() {
			return all
		}
		c := edit(f, func(n *mr0.Packet) {
			n.CH.Flags |= mr0.FlagRTX
			n.DH.Timestamp += uint32(after) + 1
		})
		if after == 0 {
			return append(all, c)
		}
		g.s.Delay(at+after, c)
		return all
	}
}
