package judge_test

import (
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func netipPort(f simulation.Frame, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(f.Source.Addr(), port)
}

// raw alters the bytes of a frame, behind the common header's check, and makes the ICRC right again.
func raw(f *simulation.Frame, change func(b []byte)) simulation.Frame {
	g := kept(f)
	change(g.Payload)
	n := len(g.Payload) - 4
	crc := mr0.ComputeICRC(g.Payload[:n], g.Source, g.Destination)
	for i := range 4 {
		g.Payload[n+i] = byte(crc >> (8 * i))
	}
	return g
}

func rtx(m *mr0.Packet) bool { return m.CH.Flags&mr0.FlagRTX != 0 }

// silentFor makes the receiver deaf to data for a time, again and again.
func (g *rig) silentFor(deaf, between time.Duration) {
	before := g.d.in
	start := time.Duration(-1)
	g.d.in = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
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

var deviations = []deviation{
	// What one packet says of itself.
	{rule: finding.MetaRoCEVersion, prepare: func(g *rig) {
		tenth := every(10)
		g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if m.CH.Type.Sequenced() && tenth() {
				return raw(f, func(b []byte) { b[0] |= 0x10 })
			}
			return *f
		})
	}},
	{rule: finding.MetaRoCEMalformed, prepare: func(g *rig) {
		tenth := every(10)
		g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if m.CH.Type.Sequenced() && tenth() {
				return raw(f, func(b []byte) { b[1] ^= byte(mr0.FlagFirst) })
			}
			return *f
		})
	}},
	{rule: finding.MetaRoCEICRC, prepare: func(g *rig) {
		g.s.out = each(func(f *simulation.Frame, _ *mr0.Packet) simulation.Frame {
			h := kept(f)
			h.Payload[len(h.Payload)-1] ^= 0x55
			g.originals[string(h.Payload)] = append([]byte(nil), f.Payload...)
			return h
		})
	}},
	{rule: finding.MetaRoCEReservedBits, prepare: func(g *rig) {
		g.data(func(m *mr0.Packet) bool { m.CH.Flags |= 1; return true })
	}},
	{rule: finding.MetaRoCECodes, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.Trigger = 9 }) }},
	{rule: finding.MetaRoCEUnusedFields, prepare: func(g *rig) {
		g.d.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if m.CH.Type == mr0.TypeConnRep {
				return edit(f, func(n *mr0.Packet) { n.CH.PSN = 5 })
			}
			return *f
		})
	}},
	{rule: finding.MetaRoCESequencedECN, prepare: func(g *rig) {
		g.s.out = each(func(f *simulation.Frame, _ *mr0.Packet) simulation.Frame {
			f.ECN = dissector.ECNNotECT
			return *f
		})
	}},
	{rule: finding.MetaRoCEAnswerECN, prepare: func(g *rig) {
		g.d.out = each(func(f *simulation.Frame, _ *mr0.Packet) simulation.Frame {
			f.ECN = dissector.ECNECT0
			return *f
		})
	}},
	{rule: finding.MetaRoCEPartitionKey, prepare: func(g *rig) {
		hundred := 0
		g.data(func(m *mr0.Packet) bool {
			if hundred++; hundred > 100 {
				m.CH.PartitionKey = 0x7fff
			}
			return hundred > 100
		})
	}},

	// Connecting.
	{rule: finding.MetaRoCEConnNonce, prepare: func(g *rig) { g.handshake(g.d, func(c *mr0.CONN) { c.Nonce ^= 1 }) }},
	{rule: finding.MetaRoCEConnRetry, prepare: func(g *rig) {
		g.s.out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
			if m.CH.Type == mr0.TypeConnReq {
				for i := range 4 {
					g.s.delay(now+time.Duration(i+1)*time.Millisecond, kept(f))
				}
			}
			return []simulation.Frame{kept(f)}
		}
	}},
	{rule: finding.MetaRoCEConnChanged, prepare: func(g *rig) {
		g.s.out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
			if m.CH.Type == mr0.TypeConnReq {
				g.s.delay(now+time.Millisecond, edit(f, func(n *mr0.Packet) { n.CONN.StreamCount++ }))
			}
			return []simulation.Frame{kept(f)}
		}
	}},
	{rule: finding.MetaRoCEDisconnectUnanswered, prepare: func(g *rig) {
		g.d.in = func(_ time.Duration, _ *simulation.Frame, m *mr0.Packet) bool { return m.CH.Type != mr0.TypeDisconnect }
	}, load: func(g *rig) {
		for range 900 {
			g.back(1)
			g.pace(1, 10*time.Microsecond, metaroce.OperationWrite, 400)
		}
		for range 400 {
			if s, err := g.accepted[0].Stream(0); err == nil {
				_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 4000), RemoteAddress: 1 << 33, RKey: 1})
			}
		}
		g.net.Wake(g.hosts[1])
		g.connections[0].Disconnect(g.net.Now)
		g.net.Wake(g.hosts[0])
		g.run(2*time.Second, nil)
	}},
	{rule: finding.MetaRoCEAfterDisconnect, prepare: func(g *rig) {
		n := 0
		g.s.out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
			all := []simulation.Frame{kept(f)}
			if m.CH.Type.Sequenced() {
				if n++; n == 100 {
					left := mr0.Packet{
						CH:   mr0.CH{Type: mr0.TypeDisconnect, DestConnID: m.CH.DestConnID, PartitionKey: m.CH.PartitionKey},
						DISC: mr0.DISC{SourceConnID: g.connections[0].ID()},
					}
					d := *f
					d.ECN = dissector.ECNNotECT
					d.Payload, _ = left.AppendDatagram(nil, nil, f.Source, f.Destination)
					all = append(all, d)
				}
			}
			return all
		}
		g.d.in = func(_ time.Duration, _ *simulation.Frame, m *mr0.Packet) bool { return m.CH.Type != mr0.TypeDisconnect }
	}, load: paced},

	// Paths.
	{rule: finding.MetaRoCEPathOrder, prepare: func(g *rig) {
		twentieth := every(20)
		g.data(func(m *mr0.Packet) bool {
			if rtx(m) || !twentieth() {
				return false
			}
			m.DH.Timestamp -= 1_000_000
			return true
		})
	}},
	{rule: finding.MetaRoCEInitialPSN, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.InitialPSN += 1 << 24 }) }},
	{rule: finding.MetaRoCEPathRange, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.PathCount = 2 }) }},
	{rule: finding.MetaRoCEPortCollision, prepare: func(g *rig) {
		g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if !m.CH.Type.Sequenced() {
				return *f
			}
			if m.CH.PathID == 0 {
				g.ports[0] = f.Source.Port()
			}
			if p := g.ports[0]; m.CH.PathID == 1 && p != 0 {
				f.Source = netipPort(*f, p)
				return rewritten(f, m)
			}
			return *f
		})
	}},
	{rule: finding.MetaRoCEAnswerPort, prepare: func(g *rig) {
		g.d.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if m.CH.Type != mr0.TypeACK {
				return *f
			}
			f.Source = netipPort(*f, 45000)
			return rewritten(f, m)
		})
	}},
	{rule: finding.MetaRoCEPathUnused, load: paced, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.PathCount = 5 }) }},
	{rule: finding.MetaRoCEWindow, load: bulk, prepare: func(g *rig) { g.handshake(g.s, func(c *mr0.CONN) { c.MaxWindow = 4 }) }},
	{rule: finding.MetaRoCESACKWindow, load: func(g *rig) { g.pace(2400, 10*time.Microsecond, metaroce.OperationWrite, 400) }, prepare: func(g *rig) {
		frozen := map[uint8]uint32{}
		g.acks(func(m *mr0.Packet) {
			if _, ok := frozen[m.CH.PathID]; !ok {
				frozen[m.CH.PathID] = m.ACKH.CumulativePSN
			}
			m.ACKH.CumulativePSN, m.ACKH.SACK = frozen[m.CH.PathID], mr0.SACK{}
		})
	}},

	// Retransmission.
	{rule: finding.MetaRoCERetransmissionFlag, prepare: func(g *rig) {
		g.lose(0.03)
		g.data(func(m *mr0.Packet) bool {
			again := rtx(m)
			m.CH.Flags &^= mr0.FlagRTX
			return again
		})
	}},
	{rule: finding.MetaRoCEFirstFlagged, load: brisk, prepare: func(g *rig) {
		g.data(func(m *mr0.Packet) bool { m.CH.Flags |= mr0.FlagRTX; return true })
	}},
	{rule: finding.MetaRoCERetransmissionTimestamp, prepare: func(g *rig) {
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
	{rule: finding.MetaRoCERetransmissionContent, prepare: func(g *rig) {
		g.lose(0.03)
		g.data(func(m *mr0.Packet) bool { m.DH.MSN += 5000; return rtx(m) && m.CH.Type != mr0.TypeProbe })
	}},
	{rule: finding.MetaRoCERetransmissionUnfounded, load: long, prepare: func(g *rig) { g.repeat(20, 0, false) }},
	{rule: finding.MetaRoCEAcknowledgedResent, load: paced, prepare: func(g *rig) { g.repeat(10, 200*time.Microsecond, false) }},
	{rule: finding.MetaRoCELostAgainEarly, load: long, prepare: func(g *rig) {
		g.lose(0.03)
		g.repeat(1, 0, true)
	}},
	{rule: finding.MetaRoCEGapNotResent, load: func(g *rig) { g.pace(600, 20*time.Microsecond, metaroce.OperationWrite, 8*512) }, prepare: func(g *rig) {
		g.lose(0.01)
		g.s.in = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
			if m.CH.Type == mr0.TypeACK {
				*f = edit(f, func(n *mr0.Packet) {
					n.ACKH.SACK = mr0.SACK{}
					n.ACKH.EchoTimestamp, n.ACKH.ACKDelay = uint32(now)-1_000_000_000, 1_000_000_000-40_000
				})
			}
			return true
		}
	}},
	{rule: finding.MetaRoCEMovedWithoutFailure, load: brisk, prepare: func(g *rig) {
		tenth := every(10)
		g.addPath(func(m *mr0.Packet) bool { return !rtx(m) && tenth() }, func(n *mr0.Packet) { n.CH.Flags |= mr0.FlagRTX; n.DH.Timestamp += 60_000 })
	}},
	{rule: finding.MetaRoCEFailedPathKept, config: func(i int, c *metaroce.Config) {
		if i == 0 {
			c.PathFailedAfter = 100
		}
	}, load: func(g *rig) {
		g.pace(400, 10*time.Microsecond, metaroce.OperationWrite, 400)
		g.run(700*time.Millisecond, nil)
	}, prepare: func(g *rig) { g.silentFor(time.Second, 2*time.Millisecond) }},
	{rule: finding.MetaRoCEProbePort, load: func(g *rig) { g.pace(3000, 100*time.Microsecond, metaroce.OperationWrite, 400) }, config: func(_ int, c *metaroce.Config) {
		c.RTOMax = 5 * time.Millisecond
	}, prepare: func(g *rig) {
		g.silentFor(25*time.Millisecond, 15*time.Millisecond)
		g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if !m.CH.Type.Sequenced() {
				return *f
			}
			if g.ports[m.CH.PathID] == 0 {
				g.ports[m.CH.PathID] = f.Source.Port()
			}
			f.Source = netipPort(*f, g.ports[m.CH.PathID])
			return rewritten(f, m)
		})
	}},
	{rule: finding.MetaRoCEProbeInterval, load: func(g *rig) { g.pace(1000, 100*time.Microsecond, metaroce.OperationWrite, 400) }, config: func(_ int, c *metaroce.Config) {
		c.RTOMax = 5 * time.Millisecond
	}, prepare: func(g *rig) { g.silentFor(75*time.Millisecond, 5*time.Millisecond) }},

	// Messages.
	{rule: finding.MetaRoCEMTU, prepare: func(g *rig) { g.handshake(g.d, func(c *mr0.CONN) { c.MTU = 256 }) }},
	{rule: finding.MetaRoCEMessageCut, prepare: func(g *rig) {
		tenth := every(10)
		g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
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
	{rule: finding.MetaRoCEMessageLength, prepare: func(g *rig) {
		tenth := every(10)
		g.data(func(m *mr0.Packet) bool {
			m.DH.MessageLength++
			return m.CH.Type.BearsPayload() && m.CH.Flags&mr0.FlagLast == 0 && tenth()
		})
	}},
	{rule: finding.MetaRoCEMessageType, prepare: func(g *rig) {
		tenth := every(10)
		g.data(func(m *mr0.Packet) bool {
			if m.CH.Type != mr0.TypeWrite || m.CH.Flags&(mr0.FlagLast|mr0.FlagFirst|mr0.FlagIMM) != 0 || !tenth() {
				return false
			}
			m.CH.Type = mr0.TypeSend
			return true
		})
	}},
	{rule: finding.MetaRoCEPlacement, prepare: func(g *rig) {
		tenth := every(10)
		g.data(func(m *mr0.Packet) bool { m.WETH.VirtualAddress += 64; return m.CH.Type == mr0.TypeWrite && tenth() })
	}},
	{rule: finding.MetaRoCEReceiveIndex, prepare: func(g *rig) {
		tenth := every(10)
		g.data(func(m *mr0.Packet) bool { m.SETH.ReceiveIndex++; return m.CH.Type == mr0.TypeSend && tenth() })
	}},
	{rule: finding.MetaRoCEReceiveIndexReused, prepare: func(g *rig) {
		g.data(func(m *mr0.Packet) bool { m.SETH.ReceiveIndex /= 2; return m.CH.Type == mr0.TypeSend })
	}},
	{rule: finding.MetaRoCEBytesTwice, prepare: func(g *rig) {
		tenth := every(10)
		g.addPath(func(m *mr0.Packet) bool { return !rtx(m) && tenth() && m.CH.Type != mr0.TypeProbe }, func(n *mr0.Packet) { n.DH.Timestamp += 60_000 })
	}},
	{rule: finding.MetaRoCEMSNSkipped, load: paced, prepare: func(g *rig) {
		g.data(func(m *mr0.Packet) bool { m.DH.MSN *= 2; return true })
	}},
	{rule: finding.MetaRoCEStreamRange, prepare: func(g *rig) { g.handshake(g.d, func(c *mr0.CONN) { c.StreamCount = 1 }) }},
	{rule: finding.MetaRoCEReadResponse, load: reads, prepare: func(g *rig) {
		g.d.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if m.CH.Type == mr0.TypeReadResp {
				return g.disguised(f, func(n *mr0.Packet) { n.RSETH.ReadID += 1000 })
			}
			return *f
		})
	}},
	{rule: finding.MetaRoCEAtomicResponse, load: atomics, prepare: func(g *rig) {
		g.d.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
			if m.CH.Type == mr0.TypeAtomicResp {
				return g.disguised(f, func(n *mr0.Packet) { n.DH.MSN-- })
			}
			return *f
		})
	}},
	{rule: finding.MetaRoCEAtomicRepeated, load: atomics, prepare: func(g *rig) {
		g.d.out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
			all := []simulation.Frame{kept(f)}
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

	// Acknowledgments.
	{rule: finding.MetaRoCEAckBackwards, prepare: func(g *rig) {
		twentieth := every(20)
		g.acks(func(m *mr0.Packet) {
			if twentieth() {
				m.ACKH.CumulativePSN -= 40
			}
		})
	}},
	{rule: finding.MetaRoCEAckReneged, prepare: func(g *rig) {
		g.lose(0.03)
		second := every(2)
		g.acks(func(m *mr0.Packet) {
			if second() {
				m.ACKH.SACK = mr0.SACK{}
			}
		})
	}},
	{rule: finding.MetaRoCEAckUnsent, load: paced, prepare: func(g *rig) {
		g.acks(func(m *mr0.Packet) {
			m.ACKH.CumulativePSN += 32
			m.ACKH.PacketCount += 32
			m.ACKH.SACK = mr0.SACK{}
		})
	}},
	{rule: finding.MetaRoCEAckNumber, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.CH.PSN *= 2 }) }},
	{rule: finding.MetaRoCEPacketCount, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.PacketCount /= 2 }) }},
	{rule: finding.MetaRoCECECount, load: brisk, prepare: func(g *rig) {
		g.mark(0.2)
		g.acks(func(m *mr0.Packet) { m.ACKH.CECount = 0 })
	}},
	{rule: finding.MetaRoCEEchoUnsent, load: brisk, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.EchoTimestamp += 12345 }) }},
	{rule: finding.MetaRoCEAckTrigger, load: brisk, prepare: func(g *rig) {
		g.acks(func(m *mr0.Packet) {
			if m.ACKH.SACK == (mr0.SACK{}) {
				m.ACKH.Trigger = mr0.ACKTriggerGap
			}
		})
	}},
	{rule: finding.MetaRoCEAckEvery, load: bulk, config: func(_ int, c *metaroce.Config) {
		c.ACKEvery, c.ACKTimer = 120, time.Millisecond
		c.InitialWindow = 256
	}, prepare: func(g *rig) { g.unasked(0) }},
	{rule: finding.MetaRoCEAckDelay, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.ACKDelay += 200_000 }) }},
	{rule: finding.MetaRoCEAckRequested, load: bulk, prepare: func(g *rig) { g.unasked(0) }},
	{rule: finding.MetaRoCEAckGap, load: bulk, prepare: func(g *rig) {
		g.unasked(0.03)
		g.withhold(mr0.ACKTriggerGap)
	}},
	{rule: finding.MetaRoCEAckDuplicate, load: long, prepare: func(g *rig) {
		tenth := every(10)
		g.s.out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
			if m.CH.Type.Sequenced() && tenth() {
				return []simulation.Frame{kept(f), kept(f)}
			}
			return []simulation.Frame{kept(f)}
		}
		g.unasked(0)
		g.withhold(mr0.ACKTriggerDuplicate)
	}},
	{rule: finding.MetaRoCEAckCEChange, load: long, prepare: func(g *rig) {
		g.mark(0.2)
		g.unasked(0)
		g.withhold(mr0.ACKTriggerCEChange)
	}},
	{rule: finding.MetaRoCEAckMessageEnd, load: func(g *rig) { g.pace(600, 5*time.Microsecond, metaroce.OperationWrite, 3*512) }, prepare: func(g *rig) {
		g.unasked(0)
		g.withhold(mr0.ACKTriggerMessageEnd)
	}},

	// Rate.
	{rule: finding.MetaRoCEHintRange, prepare: func(g *rig) { g.acks(func(m *mr0.Packet) { m.ACKH.RateHint = 30_000 }) }},
	{rule: finding.MetaRoCEHintExceeded, load: func(g *rig) { g.pace(160, 0, metaroce.OperationWrite, 200*512) }, prepare: func(g *rig) {
		g.acks(func(m *mr0.Packet) { m.ACKH.RateHint = 500 })
	}},
	{rule: finding.MetaRoCEHintAnnounced, prepare: func(g *rig) {
		fifth := every(5)
		g.acks(func(m *mr0.Packet) {
			m.ACKH.RateHint = 9000
			if fifth() {
				m.ACKH.Trigger = mr0.ACKTriggerWindowUpdate
			}
		})
	}},
	{rule: finding.MetaRoCECEIgnored, config: func(_ int, c *metaroce.Config) { c.InitialWindow, c.LinkRate = 120, 0 }, load: func(g *rig) {
		for range 250 {
			g.back(4)
			g.pace(1, 20*time.Microsecond, metaroce.OperationWrite, 200*512)
		}
	}, prepare: func(g *rig) {
		g.mark(1)
		g.s.in = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
			if m.CH.Type == mr0.TypeACK {
				*f = edit(f, func(n *mr0.Packet) { n.ACKH.CECount = 0 })
			}
			return true
		}
	}},

	// Refusals.
	{rule: finding.MetaRoCENAKReason, load: unready, prepare: func(g *rig) {
		g.naks(func(m *mr0.Packet) { m.NAKH.Reason, m.NAKH.RetryAfter = mr0.NAKReasonRemoteOperationError, 0 })
	}},
	{rule: finding.MetaRoCENAKMatch, load: unready, prepare: func(g *rig) { g.naks(func(m *mr0.Packet) { m.NAKH.MSN++ }) }},
	{rule: finding.MetaRoCERetryEarly, load: unready, prepare: func(g *rig) {
		g.s.in = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
			if m.CH.Type == mr0.TypeNAK {
				*f = edit(f, func(n *mr0.Packet) { n.NAKH.RetryAfter = 1 })
			}
			return true
		}
	}},
	{rule: finding.MetaRoCEAfterFatalNAK, prepare: func(g *rig) {
		g.s.in = func(_ time.Duration, _ *simulation.Frame, m *mr0.Packet) bool { return m.CH.Type != mr0.TypeNAK }
	}, load: func(g *rig) {
		s, _ := g.connections[0].Stream(5)
		_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 100), RemoteAddress: 1 << 33, RKey: 99})
		g.pace(1200, 70*time.Microsecond, metaroce.OperationWrite, 8*512)
	}},
}

// atomics are WRITEs and atomics in turn.
func atomics(g *rig) {
	for i := range 200 {
		s, err := g.connections[0].Stream(1)
		if err != nil {
			return
		}
		q := metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 100), RemoteAddress: 1 << 33, RKey: 1}
		if i%2 == 1 {
			q = metaroce.WorkRequest{Operation: metaroce.OperationFetchAndAdd, RemoteAddress: 1 << 33, RKey: 2, SwapOrAdd: 1}
		}
		_ = s.Post(q)
		g.net.Wake(g.hosts[0])
		g.run(10*time.Microsecond, nil)
	}
	g.run(10*time.Millisecond, nil)
}

// back posts work on the receiver's side.
func (g *rig) back(n int) {
	for range n {
		if s, err := g.accepted[0].Stream(1); err == nil {
			_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 500), RemoteAddress: 1 << 33, RKey: 1})
		}
	}
	g.net.Wake(g.hosts[1])
}

// reads are READs.
func reads(g *rig) { g.pace(200, 10*time.Microsecond, metaroce.OperationRead, 3*512) }

// unready are SENDs whose buffers come late.
func unready(g *rig) {
	for range 150 {
		s, err := g.connections[0].Stream(1)
		to, err2 := g.accepted[0].Stream(1)
		if err != nil || err2 != nil {
			return
		}
		_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: make([]byte, 300)})
		g.net.Wake(g.hosts[0])
		g.run(90*time.Microsecond, nil)
		_ = to.PostReceive(1, make([]byte, 300))
		g.run(150*time.Microsecond, nil)
	}
}

// naks disguises NAKs of the receiver.
func (g *rig) naks(change func(m *mr0.Packet)) {
	g.d.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if m.CH.Type != mr0.TypeNAK {
			return *f
		}
		return g.disguised(f, change)
	})
}

// mark sets CE on a share of the data as it leaves.
func (g *rig) mark(share float64) {
	g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
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
	g.s.out = func(at time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		all := []simulation.Frame{kept(f)}
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
		g.s.delay(at+after, c)
		return all
	}
}
