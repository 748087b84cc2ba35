package metaroce

import (
	"math/bits"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// noTrigger is the trigger of a path that has no ACK to send.
const noTrigger mr0.ACKTrigger = 0xff

// inboundPath is the receiving side of a path of the peer.
type inboundPath struct {
	cumulative  uint32    // next psn expected
	sack        [4]uint64 // bit i: cumulative + 1 + i has arrived
	packetCount uint32
	ceCount     uint32
	marked      bool // the packet before was marked CE
	seen        bool // there was one
	sourcePort  uint16

	ackNumber uint32
	pending   int // packets since the last ACK
	trigger   mr0.ACKTrigger
	ackAt     time.Duration // when the ACK timer runs out
	timestamp uint32        // of the packet that came last
	arrivedAt time.Duration
}

// has tells whether the psn that lies d behind the next expected one has arrived.
func (p *inboundPath) has(d int32) bool {
	return d < 0 || d > 0 && p.sack[(d-1)>>6]>>((d-1)&63)&1 != 0
}

// edge is how far behind the next expected psn the next new one would lie: what comes beyond it leaves a gap.
func (p *inboundPath) edge() int32 {
	for i := len(p.sack) - 1; i >= 0; i-- {
		if p.sack[i] != 0 {
			return int32(64*i + bits.Len64(p.sack[i]) + 1)
		}
	}
	return 0
}

// mark notes a psn that has arrived. Neither a bit of the SACK nor the cumulative psn is ever taken back.
func (p *inboundPath) mark(d int32) {
	if d > 0 {
		p.sack[(d-1)>>6] |= 1 << ((d - 1) & 63)
		return
	}
	for arrived := true; arrived; {
		arrived = p.sack[0]&1 != 0
		p.cumulative++
		for i := range p.sack {
			p.sack[i] >>= 1
			if i+1 < len(p.sack) {
				p.sack[i] |= p.sack[i+1] << 63
			}
		}
	}
}

// receive takes a sequenced packet.
func (c *Connection) receive(now time.Duration, d *Datagram, in *mr0.Packet) Verdict {
	if int(in.CH.PathID) >= len(c.inbound) {
		return VerdictInvalid
	}
	p := &c.inbound[in.CH.PathID]
	distance := mr0.PSNDistance(p.cumulative, in.CH.PSN)
	if distance > mr0.SACKBits {
		c.statistics.BeyondWindow++
		return VerdictBeyondWindow
	}
	c.learn(in.CH.PlaneID, c.from)
	verdict := VerdictAccepted
	if p.has(distance) {
		verdict = VerdictDuplicate
	} else {
		reason, room := c.place(in, in.Payload(d.Payload))
		if c.state != StateOpen {
			return verdict
		}
		if !room {
			return VerdictNoRoom
		}
		if reason != 0 {
			c.refuse(in, reason)
			verdict = VerdictRefused
		}
	}
	c.endpoint.hints.arrived(now, c, in.CH.PathID, len(d.Payload)+c.endpoint.overhead)
	c.statistics.Received++
	p.packetCount++
	p.timestamp, p.arrivedAt = in.DH.Timestamp, now
	ce := d.ECN == dissector.ECNCE
	if ce {
		p.ceCount++
		c.statistics.CE++
	}
	changed := p.seen && ce != p.marked
	p.marked, p.seen = ce, true

	edge := p.edge()
	if in.CH.Type == mr0.TypeProbe || distance >= edge {
		c.follow(in.CH.PathID, d.Source)
	}
	if verdict == VerdictDuplicate {
		c.statistics.Duplicates++
		c.acknowledge(in.CH.PathID, mr0.ACKTriggerDuplicate)
		return verdict
	}
	if verdict == VerdictRefused {
		return verdict
	}
	p.mark(distance)
	p.pending++
	switch {
	case in.CH.Flags&mr0.FlagAR != 0:
		c.acknowledge(in.CH.PathID, mr0.ACKTriggerRequested)
	case distance > edge:
		c.acknowledge(in.CH.PathID, mr0.ACKTriggerGap)
	case changed:
		c.acknowledge(in.CH.PathID, mr0.ACKTriggerCEChange)
	case in.CH.Flags&mr0.FlagLast != 0 || c.landed:
		c.acknowledge(in.CH.PathID, mr0.ACKTriggerMessageEnd)
	case p.pending >= c.endpoint.config.ACKEvery:
		c.acknowledge(in.CH.PathID, mr0.ACKTriggerCoalesced)
	case p.ackAt == Never:
		p.ackAt = now + c.endpoint.config.ACKTimer
		c.arm(p.ackAt)
	}
	return verdict
}

// follow gives the own path that a peer's path is acknowledged by a new source port, too, when the peer's got one: the
// way back may be what was broken, and an own path that sends nothing else cannot find out.
func (c *Connection) follow(id uint8, source netip.AddrPort) {
	p := &c.inbound[id]
	before := p.sourcePort
	p.sourcePort = source.Port()
	if own := &c.paths[int(id)%len(c.paths)]; before != 0 && before != p.sourcePort && own.span() == 0 {
		c.repath(own)
	}
}

// acknowledge has an ACK for a path of the peer sent now. Of several reasons the first of the profile's list is told.
func (c *Connection) acknowledge(id uint8, trigger mr0.ACKTrigger) {
	p := &c.inbound[id]
	p.ackAt = Never
	if p.trigger == noTrigger || p.trigger == mr0.ACKTriggerCoalesced || trigger != mr0.ACKTriggerCoalesced && trigger < p.trigger {
		p.trigger = trigger
	}
	c.ackPaths.add(id)
}

// sendACK builds one of the ACKs that are due. It leaves by the own path path_id mod path_count.
func (c *Connection) sendACK(now time.Duration, scratch []byte) Datagram {
	e := c.endpoint
	id := c.ackPaths.first()
	c.ackPaths.remove(id)
	p := &c.inbound[id]
	p.ackNumber++
	own := &c.paths[int(id)%len(c.paths)]
	source, destination := c.addresses(own)
	e.out.CH = mr0.CH{
		Type: mr0.TypeACK, DestConnID: c.peer.SourceConnID, PathID: id, PlaneID: own.plane,
		PartitionKey: e.config.PartitionKey, PSN: p.ackNumber,
	}
	a := &e.out.ACKH
	*a = mr0.ACKH{
		CumulativePSN: p.cumulative, EchoTimestamp: p.timestamp, ACKDelay: uint32(min(now-p.arrivedAt, 1<<32-1)),
		RateHint: e.hints.tell(c), CECount: p.ceCount, PacketCount: p.packetCount, Trigger: p.trigger,
	}
	for i, word := range p.sack {
		for j := range 8 {
			a.SACK[8*i+j] = byte(word >> (8 * j))
		}
	}
	p.pending, p.trigger, p.ackAt = 0, noTrigger, Never
	c.statistics.ACKsSent++
	return e.datagram(scratch, nil, source, destination, own.plane)
}
