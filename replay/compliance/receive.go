package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// inlane is a path of the target.
type inlane struct {
	first      uint32
	cumulative uint32
	held       uint32             // the first psn of which nothing was acknowledged, see hold
	have       map[uint32]*packet // the first with each psn
	order      []*packet          // sequenced packets as they came, those sent again too
	number     uint32             // of the last ACK
	count, ce  uint32
	latest     *packet
}

// messageKey names a message of the target.
type messageKey struct {
	kind   mr0.Type
	stream uint16
	msn    uint32
}

// message is one that the target sends.
type message struct {
	data    []byte
	landed  map[uint32]int // payload bytes by message_offset
	missing int
	last    *packet // that came
}

// maxMessage bounds what the target can make the suite keep.
const maxMessage = 4 << 20

// land takes a sequenced packet of the target.
func (c *conn) land(p *packet) {
	if int(p.CH.PathID) >= len(c.inbound) {
		c.x.violate(violationPath, fmt.Sprintf("paths below the path_count of the CONN_REP, %d", len(c.inbound)), fmt.Sprintf("path %d", p.CH.PathID), p)
		return
	}
	l := c.inbound[p.CH.PathID]
	l.order = append(l.order, p)
	l.count++
	l.latest = p
	if l.have[p.CH.PSN] == nil && !mr0.PSNBefore(p.CH.PSN, l.cumulative) {
		l.have[p.CH.PSN] = p
	}
	for l.have[l.cumulative] != nil {
		l.cumulative++
	}
	if p.CH.Type != mr0.TypeProbe {
		c.place(p)
	}
	if c.acknowledge != nil {
		c.acknowledge(p)
	}
}

// place puts the payload of a packet into its message.
func (c *conn) place(p *packet) {
	key := messageKey{p.CH.Type, p.DH.StreamID, p.DH.MSN}
	m := c.received[key]
	if p.DH.MessageLength > maxMessage || len(c.received) > 1<<14 {
		return
	}
	if m == nil {
		m = &message{data: make([]byte, p.DH.MessageLength), landed: map[uint32]int{}, missing: int(p.DH.MessageLength)}
		c.received[key] = m
	}
	m.last = p
	offset, payload := p.DH.MessageOffset, p.payload()
	if _, before := m.landed[offset]; before || int(offset)+len(payload) > len(m.data) {
		return
	}
	m.landed[offset] = len(payload)
	m.missing -= len(payload)
	copy(m.data[offset:], payload)
}

func (m *message) complete() bool { return m != nil && m.missing == 0 && len(m.landed) > 0 }

// acknowledgeNow is the suite's own receiver: an ACK for each packet.
func (c *conn) acknowledgeNow(p *packet) { c.ack(int(p.CH.PathID)) }

// ack acknowledges all that has come on a path of the target.
func (c *conn) ack(path int, change ...func(a *mr0.Packet)) *packet {
	l := c.inbound[path]
	l.number++
	o := &outgoing{Packet: mr0.Packet{CH: c.header(mr0.TypeACK, path)}, sender: c.paths[path%len(c.paths)].sender}
	o.CH.PSN = l.number
	a := &o.ACKH
	*a = mr0.ACKH{CumulativePSN: l.cumulative, RateHint: mr0.ACKHRateHintNoLimit, CECount: l.ce, PacketCount: l.count}
	for i := range mr0.SACKBits {
		if l.have[l.cumulative+1+uint32(i)] != nil {
			a.SACK.Set(i)
		}
	}
	if l.latest != nil {
		a.EchoTimestamp = l.latest.DH.Timestamp - uint32(c.distance[l.number&1])
		a.ACKDelay = uint32(min(c.x.lab.now()-l.latest.at, 1<<31))
		if l.latest.CH.Flags&mr0.FlagAR != 0 {
			a.Trigger = mr0.ACKTriggerRequested
		}
	}
	for _, f := range change {
		f(&o.Packet)
	}
	return c.x.send(o)
}

// watch looks at where a packet of the target comes from.
func (c *conn) watch(p *packet) {
	if c.reply == nil {
		return
	}
	switch {
	case p.CH.Type.Sequenced():
		for i, l := range c.inbound {
			if l.latest != nil && i != int(p.CH.PathID) && l.latest.source.Port() == p.source.Port() {
				c.x.violate(violationSharedPort, "a source port of its own for each path", fmt.Sprintf("port %d on paths %d and %d", p.source.Port(), i, p.CH.PathID), p)
			}
		}
	case p.is(mr0.TypeACK) || p.is(mr0.TypeNAK):
		own := c.inbound[int(p.CH.PathID)%len(c.inbound)]
		if own.latest != nil && own.latest.source.Port() != p.source.Port() {
			c.x.violate(violationAnswerPort, fmt.Sprintf("%s of path %d from port %d, as sequenced packets of the own path %d", p.CH.Type, p.CH.PathID, own.latest.source.Port(), int(p.CH.PathID)%len(c.inbound)),
				fmt.Sprintf("port %d", p.source.Port()), p)
		}
	}
}
