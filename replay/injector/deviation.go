package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// Deviation is a way to break one rule.
type Deviation struct {
	Rule finding.Rule
	// Blind are vantages from which the deviation cannot be seen or told from a fault of the path.
	Blind map[scenario.Vantage]bool
	set   func(g *rig)
}

// Deviations has one for each rule of RoCE, in the order of the catalogue.
func Deviations() []Deviation {
	all := append(packetDeviations(), requesterDeviations()...)
	all = append(all, recoveryDeviations()...)
	return append(all, responderDeviations()...)
}

func blind(v ...scenario.Vantage) map[scenario.Vantage]bool {
	m := map[scenario.Vantage]bool{}
	for _, x := range v {
		m[x] = true
	}
	return m
}

// small makes messages of one packet, one at a time.
func small(c *scenario.Config) {
	c.Mix, c.MaxMessage, c.QueueDepth = scenario.Writes, 512, 1
}

// rep disguises what the server's connection manager accepts.
func (g *rig) rep(change func(m *mad.REP)) {
	g.config.Handshake = true
	g.out[true] = func(p *packet) []scenario.Delayed {
		var h mad.Header
		body := p.managed()
		n, err := h.Decode(body)
		if err != nil || h.Message() != mad.MessageREP {
			return pass(p)
		}
		var m mad.REP
		if _, err := m.Decode(body[n:]); err != nil {
			return pass(p)
		}
		change(&m)
		out := g.disguised(p, func(f *build.Frame) { f.Payload = m.AppendTo(append([]byte(nil), body[:n]...)) })
		g.count-- // what is said of the limit is no deviation yet
		return out
	}
}

// req disguises what the client's connection manager asks for.
func (g *rig) req(change func(m *mad.REQ)) {
	g.config.Handshake = true
	g.out[false] = func(p *packet) []scenario.Delayed {
		var h mad.Header
		body := p.managed()
		n, err := h.Decode(body)
		if err != nil || h.Message() != mad.MessageREQ {
			return pass(p)
		}
		var m mad.REQ
		if _, err := m.Decode(body[n:]); err != nil {
			return pass(p)
		}
		change(&m)
		return g.disguised(p, func(f *build.Frame) { f.Payload = m.AppendTo(append([]byte(nil), body[:n]...)) })
	}
}

func packetDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.RoCETransportVersion, set: func(g *rig) {
			g.requests(0.2, anyRequest, func(f *build.Frame) { f.BTH.TransportVersion = 1 })
		}},
		{Rule: finding.RoCEReservedBits, set: func(g *rig) {
			g.requests(0.2, anyRequest, func(f *build.Frame) { f.BTH.Reserved6 = 1 })
		}},
		{Rule: finding.RoCEICRC, set: func(g *rig) {
			g.config.BothWays, g.config.QP.Timeout = true, 8
			g.out[false] = func(p *packet) []scenario.Delayed {
				g.count++
				return scenario.Pass(p.build(func(f *build.Frame) { f.ICRCFlip = 1 }))
			}
		}},
		{Rule: finding.RoCEPadCount, set: func(g *rig) {
			g.requests(0.5, func(o infiniband.Opcode) bool { return o.CarriesPayload() && (o.IsLast() || o.IsOnly()) }, func(f *build.Frame) {
				f.KeepPadCount, f.BTH.PadCount = true, uint8(1-len(f.Payload))&3
			})
		}},
		{Rule: finding.RoCESolicitedEvent, set: func(g *rig) {
			g.requests(0.2, func(o infiniband.Opcode) bool { return o.IsFirst() || o.IsMiddle() || o.IsReadRequest() }, func(f *build.Frame) { f.BTH.SolicitedEvent = true })
		}},
		{Rule: finding.RoCEAtomicAlignment, set: func(g *rig) {
			g.requests(1, infiniband.Opcode.IsAtomic, func(f *build.Frame) { f.AtomicETH.VirtualAddress |= 4 })
		}},
		{Rule: finding.RoCEMessageTooLong, set: func(g *rig) {
			g.requests(1, func(o infiniband.Opcode) bool { return o == infiniband.RCWriteFirst }, func(f *build.Frame) { f.RETH.DMALength |= 1<<31 | 1 })
		}},
		{Rule: finding.RoCEPartitionKey, set: func(g *rig) {
			g.requests(0.2, anyRequest, func(f *build.Frame) { f.BTH.PartitionKey = 0x8001 })
		}},
		{Rule: finding.RoCESourcePort, set: func(g *rig) {
			g.requests(0.2, anyRequest, func(f *build.Frame) { f.SourcePort ^= 1 })
		}},
		{Rule: finding.RoCEVersionMix, set: func(g *rig) {
			g.out[false] = func(p *packet) []scenario.Delayed {
				return g.disguised(p, func(f *build.Frame) { f.RoCEv1 = true })
			}
		}},
	}
}

func requesterDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.RoCEOpcodeSequence, set: func(g *rig) {
			g.requests(0.5, func(o infiniband.Opcode) bool { return o == infiniband.RCSendMiddle }, func(f *build.Frame) { f.BTH.Opcode = infiniband.RCSendFirst })
		}},
		{Rule: finding.RoCEPathMTU, set: func(g *rig) {
			g.requests(0.3, func(o infiniband.Opcode) bool { return o == infiniband.RCSendFirst || o == infiniband.RCSendMiddle }, func(f *build.Frame) { f.Payload = f.Payload[:1000] })
		}},
		{Rule: finding.RoCELastLength, set: func(g *rig) {
			g.requests(1, func(o infiniband.Opcode) bool { return o == infiniband.RCSendLast }, func(f *build.Frame) { f.Payload = nil })
		}},
		{Rule: finding.RoCEOnlyLength, set: func(g *rig) {
			g.requests(1, func(o infiniband.Opcode) bool { return o == infiniband.RCSendOnly }, func(f *build.Frame) { f.Payload = make([]byte, 1500) })
		}},
		{Rule: finding.RoCERETHLength, set: func(g *rig) {
			g.requests(1, infiniband.Opcode.IsWrite, func(f *build.Frame) { f.RETH.DMALength += 4 })
		}},
		{Rule: finding.RoCEReadSpan, set: func(g *rig) { g.narrowReads() }},
		{Rule: finding.RoCEReadDepth, set: func(g *rig) {
			g.config.Mix = scenario.Reads
			g.rep(func(m *mad.REP) { m.ResponderResources = 2; g.count++ })
		}},
		{Rule: finding.RoCEStartingPSN, set: func(g *rig) {
			g.rep(func(m *mad.REP) { m.StartingPSN = infiniband.PSNAdd(m.StartingPSN, 16); g.count++ })
		}},
		{Rule: finding.RoCERetransmissionDiffers, set: func(g *rig) {
			g.config.Loss = 0.02
			g.out[false] = func(p *packet) []scenario.Delayed {
				if !p.BTH.Opcode.IsSend() || len(p.Payload) < 8 {
					return pass(p)
				}
				if _, again := g.sent[p.BTH.PSN]; !again {
					g.sent[p.BTH.PSN] = p.frame
					return pass(p)
				}
				return g.disguised(p, func(f *build.Frame) { f.Payload = f.Payload[:len(f.Payload)-4] })
			}
		}},
		{Rule: finding.RoCECNPIgnored, set: func(g *rig) {
			c := g.config // marks are so frequent that CNPs come in long runs: what single ones do is too little to be told
			c.Mix, c.MaxMessage, c.Messages, c.MarkChance, c.Endpoint.RateControl = scenario.Writes, 128<<10, 600, 0.1, false
			g.in[false] = func(p *packet) []scenario.Delayed {
				if p.BTH.Opcode.IsCNP() {
					g.count++
				}
				return pass(p)
			}
		}},
	}
}

// narrowReads lets the request behind a READ have a PSN that belongs to its answer.
func (g *rig) narrowReads() {
	read, span := uint32(0), int32(0)
	g.out[false] = func(p *packet) []scenario.Delayed {
		start, end := read, infiniband.PSNAdd(read, span)
		if p.BTH.Opcode.IsReadRequest() {
			read, span = p.BTH.PSN, int32(max(1, (p.RETH.DMALength+1023)/1024))
		}
		if span0 := infiniband.PSNDiff(end, start); span0 < 2 || p.BTH.PSN != end || p.BTH.Opcode.IsReadRequest() || p.managed() != nil {
			return pass(p)
		}
		return g.disguised(p, func(f *build.Frame) { f.BTH.PSN = infiniband.PSNAdd(start, 1) })
	}
}

// dead lets the server hear nothing from its nth frame on, for some time.
func (g *rig) dead(n int, span time.Duration) {
	var from time.Duration
	g.in[true] = func(p *packet) []scenario.Delayed {
		if g.number++; g.number < n {
			return pass(p)
		}
		if from == 0 {
			from = p.now
		}
		if p.now-from < span {
			g.count++
			return nil
		}
		return pass(p)
	}
}
