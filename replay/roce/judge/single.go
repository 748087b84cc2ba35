package judge

import (
	"errors"
	"fmt"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// Rules that one packet, or one packet and what is constant, decide.

const maxMessage = 1 << 31

// refused looks at a packet that the decoder would not read, and tells whether it was that.
func (c *Connection) refused(i int, s *finding.Sighting) bool {
	p := s.Packet
	if !errors.Is(s.Err, dissector.ErrUnsupported) || p.Fault.Reason != dissector.ReasonTransportHeader || s.ICRC != dissector.ICRCGood {
		return false
	}
	e := event{packet: p, number: p.Meta.Number, time: p.Meta.Time, hasTime: p.Meta.HasTime}
	c.find(i, finding.RoCETransportVersion, finding.Diverges, &e, packets(e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "transport version 0", fmt.Sprintf("transport version %d", p.BTH.TransportVersion)
		f.Sentence = fmt.Sprintf("Packet %d has transport version %d and a right ICRC: its sender made it so, and a responder drops it.",
			e.number, p.BTH.TransportVersion)
	})
	return true
}

// single applies the rules of one packet.
func (c *Connection) single(i int, e *event) {
	l := &c.lanes[i]
	h := &e.packet.BTH
	c.conforms(finding.RoCETransportVersion)
	if h.Reserved6|h.Reserved7 != 0 {
		c.find(i, finding.RoCEReservedBits, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
			f.Expected, f.Seen = "0", fmt.Sprintf("0x%02x in byte 4, 0x%02x in byte 8", h.Reserved6, h.Reserved7)
			f.Sentence = fmt.Sprintf("Packet %d has reserved bits of its BTH set; they mean nothing that the IBTA defines.", e.number)
		})
	} else {
		c.conforms(finding.RoCEReservedBits)
	}
	c.partitionKey(i, l, e)
	c.pad(i, e)
	if h.SolicitedEvent {
		c.solicited(i, e)
	}
	if e.opcode.IsRequest() {
		c.sourcePort(i, l, e)
		c.limits(i, e)
	}
	if e.has(infiniband.HasAETH) {
		c.syndrome(i, e)
	}
}

func (c *Connection) partitionKey(i int, l *lane, e *event) {
	key := e.packet.BTH.PartitionKey
	switch {
	case !l.hasKey:
		l.key, l.hasKey = key, true
	case key != l.key:
		before := l.key
		l.key = key
		c.find(i, finding.RoCEPartitionKey, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
			f.Expected, f.Seen = fmt.Sprintf("0x%04x, as before", before), fmt.Sprintf("0x%04x", key)
			f.Sentence = fmt.Sprintf("Packet %d has partition key 0x%04x, those before it 0x%04x: a QP belongs to one partition.", e.number, key, before)
		})
		return
	}
	c.conforms(finding.RoCEPartitionKey)
}

func (c *Connection) pad(i int, e *event) {
	pad := uint32(e.packet.BTH.PadCount)
	if !e.whole || e.packet.ICRCOffset == 0 {
		return
	}
	full := e.opcode.IsFirst() || e.opcode.IsMiddle()
	if (e.length+pad)%4 == 0 && (!full || pad == 0) {
		c.conforms(finding.RoCEPadCount)
		return
	}
	e.whole = false // how long the payload was meant to be is not known
	c.find(i, finding.RoCEPadCount, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
		f.Expected = "payload and pad together a multiple of 4, and no pad but at the end of a message"
		f.Seen = fmt.Sprintf("%s with %d bytes of payload and %d of pad", e.opcode, e.length, pad)
		f.Sentence = fmt.Sprintf("Packet %d, %s, carries %d bytes of payload with %d bytes of pad.", e.number, e.opcode, e.length, pad)
	})
}

func (c *Connection) solicited(i int, e *event) {
	o := e.opcode
	if (o.IsSend() || (o.IsWrite() && o.HasImmediate())) && (o.IsLast() || o.IsOnly()) {
		c.conforms(finding.RoCESolicitedEvent)
		return
	}
	c.find(i, finding.RoCESolicitedEvent, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "solicited event only at the end of a SEND or a WRITE with immediate", "solicited event on "+o.String()
		f.Sentence = fmt.Sprintf("Packet %d, %s, solicits an event, which it cannot.", e.number, o)
	})
}

func (c *Connection) sourcePort(i int, l *lane, e *event) {
	if e.packet.Protocol != dissector.ProtocolRoCEv2 {
		return
	}
	port := e.packet.UDP.SourcePort
	switch {
	case !l.hasPort:
		l.port, l.hasPort, l.portNumber = port, true, e.number
	case port != l.port && l.moved:
		return // said once
	case port != l.port:
		before, number := l.port, l.portNumber
		l.moved = true
		c.find(i, finding.RoCESourcePort, finding.Diverges, e, packets(number, e.number), func(f *finding.Finding) {
			f.Expected, f.Seen = fmt.Sprintf("UDP source port %d, as before", before), fmt.Sprintf("UDP source port %d", port)
			f.Sentence = fmt.Sprintf("Packet %d leaves from UDP source port %d, packet %d left from %d: switches may send the two on different paths.",
				e.number, port, number, before)
		})
		return
	}
	c.conforms(finding.RoCESourcePort)
}

func (c *Connection) limits(i int, e *event) {
	if e.has(infiniband.HasRETH) {
		if n := e.packet.RETH.DMALength; n > maxMessage {
			c.find(i, finding.RoCEMessageTooLong, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
				f.Expected, f.Seen = "at most 2147483648 bytes", fmt.Sprintf("%d bytes", n)
				f.Sentence = fmt.Sprintf("Packet %d, %s, asks for %d bytes; a message has at most 2147483648.", e.number, e.opcode, n)
			})
		} else {
			c.conforms(finding.RoCEMessageTooLong)
		}
	}
	if e.has(infiniband.HasAtomicETH) {
		if a := e.packet.AtomicETH.VirtualAddress; a%8 != 0 {
			c.find(i, finding.RoCEAtomicAlignment, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
				f.Expected, f.Seen = "an address that is a multiple of 8", fmt.Sprintf("0x%x", a)
				f.Sentence = fmt.Sprintf("Packet %d, %s, names the address 0x%x, which is no multiple of 8.", e.number, e.opcode, a)
			})
		} else {
			c.conforms(finding.RoCEAtomicAlignment)
		}
	}
}

func (c *Connection) syndrome(i int, e *event) {
	s := e.packet.AETH.Syndrome
	defined := s.IsACK() || s.IsRNR() || (s.IsNAK() && s.NAKCode() <= infiniband.NAKOperationInProgress)
	if defined && (e.opcode.IsAck() || s.IsACK()) {
		c.conforms(finding.RoCESyndrome)
		return
	}
	c.find(i, finding.RoCESyndrome, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "ACK, RNR NAK or a NAK with a defined code", fmt.Sprintf("syndrome 0x%02x on %s", uint8(s), e.opcode)
		f.Sentence = fmt.Sprintf("Packet %d, %s, has syndrome 0x%02x, which the IBTA does not define there.", e.number, e.opcode, uint8(s))
	})
}

// versions says that the two ends speak different versions of RoCE.
func (c *Connection) versions(i int, e *event) {
	other := &c.lanes[1-i]
	c.find(i, finding.RoCEVersionMix, finding.Diverges, e, packets(other.lastSign, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = other.protocol.String()+" in both directions", c.lanes[i].protocol.String()+" in this one"
		f.Sentence = fmt.Sprintf("%s sends %s, its peer %s: each drops what the other sends, unless a NIC accepts both.",
			c.lanes[i].sender.Address, c.lanes[i].protocol, other.protocol)
	})
}

// damaged counts a packet with a wrong ICRC.
func (c *Connection) damaged(l *lane, e *event) {
	if l.icrcBad < uint64(len(l.badNumbers)) {
		l.badNumbers[l.icrcBad] = e.number
	}
	l.icrcBad++
}

// everyBad is from how many packets on a sender's ICRCs, all of them wrong, are its own fault.
const everyBad = 8

func (c *Connection) closeICRC(i int) {
	l := &c.lanes[i]
	if l.icrcBad == 0 {
		if l.icrcGood != 0 {
			c.conforms(finding.RoCEICRC)
		}
		return
	}
	// What was answered had a right one when it arrived: the capture, or a device behind it, changed the packets.
	verdict := finding.Undetermined
	if l.icrcBad >= everyBad && l.icrcGood == 0 && c.lanes[1-i].icrcGood != 0 && !c.dialogues[i].heard {
		verdict = finding.Diverges
	}
	c.find(i, finding.RoCEICRC, verdict, nil, packets(l.badNumbers[:]...), func(f *finding.Finding) {
		f.Expected, f.Seen = "a right ICRC in each packet", fmt.Sprintf("a wrong one in %d of %d", l.icrcBad, l.icrcBad+l.icrcGood)
		f.Sentence = fmt.Sprintf("%d of the %d packets of %s whose ICRC could be checked have a wrong one.", l.icrcBad, l.icrcBad+l.icrcGood, l.sender.Address)
		if c.dialogues[i].heard {
			f.Sentence += " The receiver answered, so it found them right: something changed them for the capture."
		}
	})
}
