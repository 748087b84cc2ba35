package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

const lossy = 0.02

func recoveryDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.RoCEGoBackStart, set: func(g *rig) { g.startsBelow() }},
		{Rule: finding.RoCENAKIgnored, set: func(g *rig) {
			g.config.Loss, g.config.Mix, g.config.QP.Timeout, g.config.Messages = lossy, scenario.Writes, 12, 1500
			g.in[false] = g.deaf((*packet).naks)
		}},
		{Rule: finding.RoCEAcknowledgedResent, set: func(g *rig) { g.sendsAgain() }},
		{Rule: finding.RoCERNREarly, set: func(g *rig) {
			g.unready(2 * time.Millisecond)
			g.in[false] = func(p *packet) []scenario.Delayed {
				if !p.BTH.Opcode.IsAck() || !p.AETH.Syndrome.IsRNR() {
					return pass(p)
				}
				g.count++
				return scenario.Pass(p.build(func(f *build.Frame) { f.AETH.Syndrome = 0x21 }))
			}
		}},
		{Rule: finding.RoCERNRRetries, set: func(g *rig) {
			g.unready(8 * time.Millisecond)
			g.rep(func(m *mad.REP) { m.RNRRetryCount = 1; g.count++ })
		}},
		{Rule: finding.RoCERetries, set: func(g *rig) {
			// Of a SEND the capture may have missed RNR NAKs, which ask for retries of their own.
			g.config.QP.Timeout, g.config.Mix = 10, scenario.Writes
			g.req(func(m *mad.REQ) { m.RetryCount = 1 })
			g.dead(40, 20*time.Millisecond)
		}},
		{Rule: finding.RoCETimeoutEarly, set: func(g *rig) { g.timer(18) }},
		{Rule: finding.RoCETimeoutLate, set: func(g *rig) { g.timer(6) }},
		{Rule: finding.RoCEAfterFatalNAK, set: func(g *rig) {
			small(g.config)
			g.config.QueueDepth, g.config.Think = 256, time.Millisecond
			g.refuses(false)
		}},
	}
}

func (g *rig) deaf(to func(*packet) bool) hook {
	return func(p *packet) []scenario.Delayed {
		if to(p) {
			g.count++
			return nil
		}
		return pass(p)
	}
}

func (g *rig) unready(span time.Duration) {
	c := g.config
	c.Mix, c.Unready, c.UnreadyFor, c.ReceiveAhead, c.MaxMessage = scenario.Sends, 0.3, span, 1, 2048
}

// timer lets the REQ announce another timeout than the server's requests have, whose last packets are lost.
func (g *rig) timer(code mad.Timeout) {
	c := g.config
	small(c)
	c.BothWays, c.QP.Timeout = true, 12
	g.req(func(m *mad.REQ) { m.PrimaryPath.AckTimeout = code })
	g.in[false] = func(p *packet) []scenario.Delayed {
		if p.BTH.Opcode.IsRequest() && p.managed() == nil && g.random.Float64() < 0.2 {
			return nil
		}
		return pass(p)
	}
}

// startsBelow lets the client begin two packets below what a NAK asks for.
func (g *rig) startsBelow() {
	g.config.Loss, g.config.Mix, g.config.Messages = lossy, scenario.Writes, 1500
	asked, pending := uint32(0), false
	g.in[false] = func(p *packet) []scenario.Delayed {
		if p.naks() {
			asked, pending = p.BTH.PSN, true
		}
		return pass(p)
	}
	g.out[false] = func(p *packet) []scenario.Delayed {
		if !p.BTH.Opcode.IsRequest() {
			return pass(p)
		}
		g.sent[p.BTH.PSN] = p.frame
		if !pending || p.BTH.PSN != asked {
			return pass(p)
		}
		pending = false
		var out []scenario.Delayed
		for n := int32(-2); n < 0; n++ {
			before := g.sent[infiniband.PSNAdd(asked, n)]
			if before == nil {
				continue
			}
			out = append(out, g.copyOf(before, 0))
		}
		return append(out, scenario.Delayed{Data: p.frame})
	}
}

// copyOf is a frame sent once more, with an identification of its own.
func (g *rig) copyOf(frame []byte, after time.Duration) scenario.Delayed {
	g.number++
	b, err := scenario.Edit(frame, func(f *build.Frame) { f.ID += 0x4000 + uint16(g.number) })
	if err != nil {
		panic("injector: " + err.Error())
	}
	g.count++
	return scenario.Delayed{After: after, Data: b}
}

// sendsAgain lets the client send again, long after, each message that was acknowledged.
func (g *rig) sendsAgain() {
	small(g.config)
	g.config.Think = 2 * time.Millisecond
	g.out[false] = func(p *packet) []scenario.Delayed {
		return append(pass(p), g.copyOf(p.frame, 200*time.Microsecond))
	}
}

// refuses lets the server answer requests with a NAK that ends the connection, which the client does not heed. The
// server is silent otherwise from then on, unless it goes on itself.
func (g *rig) refuses(goesOn bool) {
	g.out[true] = func(p *packet) []scenario.Delayed {
		if !p.acks() {
			return pass(p)
		}
		if g.number++; g.number < 20 {
			return pass(p)
		}
		nak := g.forged(p, 0, func(f *build.Frame) { f.AETH.Syndrome = 0x61 })
		if !goesOn {
			g.originals[key(nak.Data)] = p.frame
			return []scenario.Delayed{nak}
		}
		if g.number > 21 {
			g.count--
			return pass(p)
		}
		return []scenario.Delayed{nak, {After: time.Microsecond, Data: p.frame}}
	}
}

var mixed = scenario.Mix{roce.OperationWrite: 2, roce.OperationRead: 2, roce.OperationFetchAdd: 2}
