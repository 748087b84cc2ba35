package injector

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

func responderDeviations() []Deviation {
	return append(answerDeviations(), []Deviation{
		{Rule: finding.RoCEReadResponseSequence, set: func(g *rig) {
			g.answers(0.5, func(p *packet) bool { return p.BTH.Opcode == infiniband.RCReadResponseFirst }, func(f *build.Frame) { f.BTH.Opcode = infiniband.RCReadResponseLast })
		}},
		{Rule: finding.RoCEReadResponseLength, set: func(g *rig) {
			g.answers(0.5, func(p *packet) bool { return p.BTH.Opcode.IsReadResponse() && len(p.Payload) > 8 }, func(f *build.Frame) { f.Payload = f.Payload[:len(f.Payload)-4] })
		}},
		{Rule: finding.RoCEReadResponsePSN, set: func(g *rig) { g.misplaced(infiniband.Opcode.IsReadResponse) }},
		{Rule: finding.RoCEAtomicResponse, set: func(g *rig) { g.misplaced(infiniband.Opcode.IsAtomicAck) }},
		{Rule: finding.RoCEAtomicRepeated, set: func(g *rig) {
			g.out[true] = func(p *packet) []scenario.Delayed {
				if !p.BTH.Opcode.IsAtomicAck() {
					return pass(p)
				}
				return append(pass(p), g.forged(p, time.Microsecond, func(f *build.Frame) { f.AtomicAckETH.OriginalData++ }))
			}
		}},
		{Rule: finding.RoCECNPMissing, Blind: blind(scenario.NearRequester), set: func(g *rig) {
			g.config.MarkChance, g.config.Mix = 0.05, scenario.Writes
			g.config.Think, g.config.Messages = 100*time.Microsecond, 600
			g.out[true] = g.deaf(func(p *packet) bool { return p.BTH.Opcode.IsCNP() })
		}},
		{Rule: finding.RoCECNPUnfounded, set: func(g *rig) {
			g.config.Endpoint.ECN = false
			g.out[true] = func(p *packet) []scenario.Delayed {
				if !p.acks() || !g.chosen(p.BTH.PSN, 0.2) {
					return pass(p)
				}
				return append(pass(p), g.forged(p, time.Microsecond, func(f *build.Frame) {
					f.BTH.Opcode, f.BTH.BECN, f.BTH.PSN, f.ECN = infiniband.CNP, true, 0, dissector.ECNNotECT
				}))
			}
		}},
		{Rule: finding.RoCECNPFormat, set: func(g *rig) {
			g.config.MarkChance = 0.05
			g.answers(1, func(p *packet) bool { return p.BTH.Opcode.IsCNP() }, func(f *build.Frame) { f.BTH.BECN = false })
		}},
	}...)
}

func answerDeviations() []Deviation {
	return []Deviation{
		{Rule: finding.RoCESyndrome, set: func(g *rig) {
			g.answers(0.2, (*packet).acks, func(f *build.Frame) { f.AETH.Syndrome = 0x41 })
		}},
		{Rule: finding.RoCEAckUnsent, set: func(g *rig) {
			small(g.config)
			g.config.Think, g.config.Messages = 50*time.Microsecond, 600
			g.answers(0.3, (*packet).acks, func(f *build.Frame) { f.BTH.PSN = infiniband.PSNAdd(f.BTH.PSN, 4) })
		}},
		{Rule: finding.RoCEAckBackwards, set: func(g *rig) {
			g.config.Mix = scenario.Writes
			g.answers(0.2, (*packet).acks, func(f *build.Frame) { f.BTH.PSN = infiniband.PSNAdd(f.BTH.PSN, -40) })
		}},
		{Rule: finding.RoCEMessageCount, set: func(g *rig) {
			g.config.Mix = scenario.Writes
			g.answers(0.2, (*packet).acks, func(f *build.Frame) { f.AETH.MSN += 64 })
		}},
		{Rule: finding.RoCENAKRepeated, set: func(g *rig) {
			g.config.Loss, g.config.Mix, g.config.Messages = lossy, scenario.Writes, 600
			g.out[true] = func(p *packet) []scenario.Delayed {
				if !p.naks() {
					return pass(p)
				}
				out := pass(p)
				for after := time.Duration(0); after < 3*time.Microsecond; after += time.Microsecond {
					out = append(out, g.forged(p, after, func(*build.Frame) {}))
				}
				return out
			}
		}},
		{Rule: finding.RoCENAKMissing, Blind: blind(scenario.NearRequester, scenario.Middle), set: func(g *rig) {
			g.config.Loss, g.config.Mix, g.config.QP.Timeout, g.config.Messages = lossy, scenario.Writes, 10, 1500
			g.out[true] = g.deaf((*packet).naks)
		}},
		{Rule: finding.RoCENAKOfAcknowledged, set: func(g *rig) {
			small(g.config)
			g.answers(0.2, (*packet).acks, func(f *build.Frame) {
				f.BTH.PSN, f.AETH.Syndrome = infiniband.PSNAdd(f.BTH.PSN, -4), 0x60
			})
		}},
		{Rule: finding.RoCEAckOverGap, set: func(g *rig) {
			g.config.Loss, g.config.Mix, g.config.MaxMessage, g.config.Messages = lossy, scenario.Writes, 64<<10, 1500
			g.out[true] = func(p *packet) []scenario.Delayed {
				if !p.naks() {
					return pass(p)
				}
				return append(pass(p), g.forged(p, time.Microsecond, func(f *build.Frame) {
					f.AETH.Syndrome, f.BTH.PSN = 0x1f, infiniband.PSNAdd(f.BTH.PSN, 1)
				}))
			}
		}},
		{Rule: finding.RoCEAnswerAfterFatalNAK, set: func(g *rig) { g.refuses(true) }},
		{Rule: finding.RoCERNRNotForSend, set: func(g *rig) {
			g.config.Mix = scenario.Writes
			g.answers(0.2, (*packet).acks, func(f *build.Frame) { f.AETH.Syndrome = 0x2c })
		}},
		{Rule: finding.RoCEDuplicateUnanswered, set: func(g *rig) { g.ignoresDuplicates() }},
		{Rule: finding.RoCEAckRequestUnanswered, set: func(g *rig) {
			g.config.Mix, g.config.QueueDepth, g.config.QP.Timeout = scenario.Writes, 1, 10
			answered := map[uint32]bool{}
			g.out[true] = func(p *packet) []scenario.Delayed {
				if !p.acks() || answered[p.BTH.PSN] {
					return pass(p)
				}
				answered[p.BTH.PSN] = true
				g.count++
				return nil
			}
		}},
	}
}

// misplaced gives answers of a kind the PSN of a WRITE.
func (g *rig) misplaced(kind func(infiniband.Opcode) bool) {
	g.config.Mix = mixed
	known := false
	g.in[true] = func(p *packet) []scenario.Delayed {
		if p.BTH.Opcode.IsWrite() {
			g.last, known = p.BTH.PSN, true
		}
		return pass(p)
	}
	g.out[true] = func(p *packet) []scenario.Delayed {
		if !known || !kind(p.BTH.Opcode) || !g.chosen(p.BTH.PSN, 0.2) {
			return pass(p)
		}
		return g.disguised(p, func(f *build.Frame) { f.BTH.PSN = g.last })
	}
}

// ignoresDuplicates lets the server answer only the sixth repetition of a request, whose first answer the client, now
// and then, does not hear.
func (g *rig) ignoresDuplicates() {
	small(g.config)
	g.config.Messages, g.config.QP.Timeout = 6000, 8
	repeats, heard := map[uint32]int{}, map[uint32]bool{}
	g.in[true] = func(p *packet) []scenario.Delayed {
		if !p.BTH.Opcode.IsRequest() {
			return pass(p)
		}
		repeats[p.BTH.PSN]++
		if n := repeats[p.BTH.PSN]; n > 1 && n < 7 {
			g.count++
			return nil
		}
		return pass(p)
	}
	g.in[false] = func(p *packet) []scenario.Delayed {
		again := heard[p.BTH.PSN]
		heard[p.BTH.PSN] = true
		if p.acks() && !again && g.chosen(p.BTH.PSN, 0.002) {
			return nil
		}
		return pass(p)
	}
}
