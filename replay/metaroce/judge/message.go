package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// message is what the packets of one message say of it.
type message struct {
	used    bool
	begun   bool // the first packet that was seen was FIRST, and no retransmission
	kind    mr0.Type
	stream  uint16
	msn     uint32
	length  uint32
	base    uint64 // WRITE: address of the whole; ATOMIC_RESP: value
	key     uint32 // WRITE: rkey; READ_REQ and READ_RESP: read_id
	index   uint32 // SEND: receive_index
	first   uint64 // packet
	stamp   uint64 // of its latest packet, for the table
	top     uint32 // highest offset
	size    uint32 // bytes seen
	packets uint32 // that bear them
	origin  uint32 // packet of the message that bit 0 of sent stands for
	sent    [4]uint64
}

// messages is a table of the latest messages of a lane: sets of four, of which the oldest makes room.
type messages struct {
	sets  [][4]message
	clock uint64
	cut   uint32 // payload of packets that are not the last of their message, 0: unknown
	cutBy uint64 // packet that showed it
	whole uint64 // packets of messages that were seen whole
	holes uint64 // messages that were not
}

const messageSets = 64

// find is the message of that stream and number, and the place for it when it is not there. Answers have tables with
// requests, but for keys of their own.
func (t *messages) find(stream uint16, msn uint32, answer bool) (m, place *message) {
	if t.sets == nil {
		return nil, nil
	}
	hash := (msn ^ uint32(stream)<<16) * 0x9e3779b1
	set := &t.sets[hash>>26]
	place = &set[0]
	for i := range set {
		m := &set[i]
		if m.used && m.msn == msn && m.stream == stream && isAnswer(m.kind) == answer {
			return m, m
		}
		if !m.used || place.used && m.stamp < place.stamp {
			place = m
		}
	}
	return nil, place
}

func isAnswer(t mr0.Type) bool { return t == mr0.TypeReadResp || t == mr0.TypeAtomicResp }

// message takes a packet that is seen for the first time, and holds it against others of its message.
func (c *Connection) message(d *lane, e *event, again bool) {
	m := e.m
	t := &d.messages
	if t.sets == nil {
		t.sets = make([][4]message, messageSets)
	}
	c.payload(d, e)
	t.clock++
	answer := isAnswer(m.CH.Type)
	known, place := t.find(m.DH.StreamID, m.DH.MSN, answer)
	above := known == nil && c.numbered(d, e, answer)
	if above && d.setup.fromStart {
		c.weigh(d, clueFirstFlagged, int(m.CH.PathID), e, again, 0, d.setup.number, e.number)
	} else if known != nil && known.begun && m.DH.MessageOffset > known.top {
		c.weigh(d, clueFirstFlagged, int(m.CH.PathID), e, again, 0, known.first, e.number)
	}
	if known == nil {
		t.leave(place)
		*place = message{
			used: true, kind: m.CH.Type, stream: m.DH.StreamID, msn: m.DH.MSN, length: m.DH.MessageLength, first: e.number,
		}
		place.describe(m)
		place.begun = m.DH.MessageOffset == 0 && !again
		if m.CH.Type == mr0.TypeSend {
			c.receiveIndex(d, e)
		}
	} else {
		c.agrees(d, known, e)
	}
	place.stamp = t.clock
	if answer {
		c.answers(d, place, e)
	}
	place.size += uint32(m.CH.PayloadLength)
	place.packets++
	place.top = max(place.top, m.DH.MessageOffset)
	c.bytes(d, place, e, again)
}

// leave counts a message that makes room.
func (t *messages) leave(m *message) {
	if !m.used {
		return
	}
	if m.size >= m.length || !m.kind.BearsPayload() {
		t.whole += uint64(m.packets)
		return
	}
	t.holes++
}

// describe takes what the packets of a message have in common.
func (g *message) describe(m *mr0.Packet) {
	switch m.CH.Type {
	case mr0.TypeWrite:
		g.base, g.key = m.WETH.VirtualAddress-uint64(m.DH.MessageOffset), m.WETH.RKey
	case mr0.TypeSend:
		g.index = m.SETH.ReceiveIndex
	case mr0.TypeReadReq:
		g.key = m.RRETH.ReadID
	case mr0.TypeReadResp:
		g.key = m.RSETH.ReadID
	case mr0.TypeAtomicResp:
		g.base = m.ARETH.OriginalValue
	default:
	}
}

// agrees judges a packet by what others of its message have said.
func (c *Connection) agrees(d *lane, g *message, e *event) {
	m := e.m
	path := int(m.CH.PathID)
	if m.CH.Type != g.kind {
		c.diverges(finding.MetaRoCEMessageType, d, path, e, g.first, "packets of one type", "two types",
			"Message %d of stream %d began as %s and goes on as %s.", g.msn, g.stream, g.kind, m.CH.Type)
		return
	}
	c.conforms(finding.MetaRoCEMessageType)
	if m.DH.MessageLength != g.length {
		c.diverges(finding.MetaRoCEMessageLength, d, path, e, g.first, "one length", "two",
			"Message %d of stream %d has %d bytes by one packet, %d by another.", g.msn, g.stream, g.length, m.DH.MessageLength)
		return
	}
	c.conforms(finding.MetaRoCEMessageLength)
	var now message
	now.describe(m)
	switch m.CH.Type {
	case mr0.TypeWrite:
		if now.base != g.base || now.key != g.key {
			c.diverges(finding.MetaRoCEPlacement, d, path, e, g.first, "the address of the message and the offset, under one key", "another place",
				"Message %d of stream %d begins at %#x (key %#x) by one packet, at %#x (key %#x) by another.",
				g.msn, g.stream, g.base, g.key, now.base, now.key)
			return
		}
		c.conforms(finding.MetaRoCEPlacement)
	case mr0.TypeSend:
		if now.index != g.index {
			c.diverges(finding.MetaRoCEReceiveIndex, d, path, e, g.first, "one receive buffer", "two",
				"Message %d of stream %d goes to receive buffer %d by one packet, %d by another.", g.msn, g.stream, g.index, now.index)
			return
		}
		c.conforms(finding.MetaRoCEReceiveIndex)
	case mr0.TypeAtomicResp:
		if now.base != g.base {
			c.diverges(finding.MetaRoCEAtomicRepeated, d, path, e, g.first, "one value", "two",
				"Two answers to atomic %d of stream %d give %d and %d.", g.msn, g.stream, g.base, now.base)
			return
		}
		c.conforms(finding.MetaRoCEAtomicRepeated)
	default:
	}
}

// answeredAgain holds a retransmitted answer to an atomic against the first.
func (c *Connection) answeredAgain(d *lane, e *event) {
	if known, _ := d.messages.find(e.m.DH.StreamID, e.m.DH.MSN, true); known != nil {
		c.agrees(d, known, e)
	}
}

// payload judges the length of a packet's payload and its offset.
func (c *Connection) payload(d *lane, e *event) {
	m := e.m
	if !m.CH.Type.BearsPayload() {
		return
	}
	path, length := int(m.CH.PathID), uint32(m.CH.PayloadLength)
	mtu := uint32(0)
	for i := range c.lanes { // each end's is a bound, though the other's was not seen
		l := &c.lanes[i]
		if l.hasConn && length > uint32(l.conn.MTU) {
			c.diverges(finding.MetaRoCEMTU, d, path, e, l.setup.number, "at most the smaller MTU", "more",
				"The payload has %d bytes; one end takes %d.", length, l.conn.MTU)
			return
		}
	}
	if other := &c.lanes[1-d.index]; d.hasConn && other.hasConn {
		mtu = uint32(min(d.conn.MTU, other.conn.MTU))
		c.conforms(finding.MetaRoCEMTU)
	}
	t := &d.messages
	if m.CH.Flags&mr0.FlagLast != 0 {
		if t.cut != 0 && (length > t.cut || m.DH.MessageOffset%t.cut != 0) {
			c.badCut(d, e, t.cut)
		}
		return
	}
	if mtu != 0 {
		t.cut = mtu
	} else if t.cut == 0 {
		t.cut, t.cutBy = length, e.number
	}
	if length != t.cut || t.cut == 0 || m.DH.MessageOffset%t.cut != 0 {
		c.badCut(d, e, t.cut)
		return
	}
	c.conforms(finding.MetaRoCEMessageCut)
}

func (c *Connection) badCut(d *lane, e *event, cut uint32) {
	m := e.m
	c.diverges(finding.MetaRoCEMessageCut, d, int(m.CH.PathID), e, d.messages.cutBy, "full packets, but for the last", "another cut",
		"A packet with %d bytes at offset %d of a message of %d bytes; packets are full with %d.",
		m.CH.PayloadLength, m.DH.MessageOffset, m.DH.MessageLength, cut)
}

// bytes judges whether the bytes of a packet were sent before under another psn.
func (c *Connection) bytes(d *lane, g *message, e *event, again bool) {
	m := e.m
	packet := uint32(0)
	if cut := d.messages.cut; m.CH.Type.BearsPayload() && m.DH.MessageOffset > 0 {
		if cut == 0 || m.DH.MessageOffset%cut != 0 {
			return
		}
		packet = m.DH.MessageOffset / cut
	}
	const width = 256
	if packet >= g.origin+width { // only of the latest
		if packet >= g.origin+2*width {
			g.sent, g.origin = [4]uint64{}, packet&^63
		}
		for packet >= g.origin+width {
			copy(g.sent[:], g.sent[1:])
			g.sent[3] = 0
			g.origin += 64
		}
	}
	if packet < g.origin {
		return
	}
	bit := packet - g.origin
	if again {
		return
	}
	if g.sent[bit>>6]>>(bit&63)&1 != 0 {
		c.diverges(finding.MetaRoCEBytesTwice, d, int(m.CH.PathID), e, g.first, "RTX on bytes that were sent before", "none",
			"The bytes at offset %d of message %d of stream %d were sent twice under different psns, without RTX.",
			m.DH.MessageOffset, g.msn, g.stream)
		return
	}
	g.sent[bit>>6] |= 1 << (bit & 63)
	c.conforms(finding.MetaRoCEBytesTwice)
}

// answers holds an answer against its request, if that was seen.
func (c *Connection) answers(d *lane, g *message, e *event) {
	m := e.m
	request, _ := c.lanes[1-d.index].messages.find(g.stream, g.msn, false)
	if request == nil {
		return
	}
	want, rule := mr0.TypeReadReq, finding.MetaRoCEReadResponse
	if m.CH.Type == mr0.TypeAtomicResp {
		want, rule = mr0.TypeAtomicReq, finding.MetaRoCEAtomicResponse
	}
	switch {
	case request.kind != want:
		c.diverges(rule, d, int(m.CH.PathID), e, request.first, "an answer to a "+want.String(), "one to another request",
			"The %s answers message %d of stream %d, which is a %s.", m.CH.Type, g.msn, g.stream, request.kind)
	case want == mr0.TypeReadReq && (m.RSETH.ReadID != request.key || m.DH.MessageLength != request.length):
		c.diverges(rule, d, int(m.CH.PathID), e, request.first, "read_id and length of the request", "others",
			"The answer to READ %d of stream %d has read_id %d and %d bytes; asked for were %d and %d.",
			g.msn, g.stream, m.RSETH.ReadID, m.DH.MessageLength, request.key, request.length)
	default:
		c.conforms(rule)
	}
}

// stream is what is known of one stream.
type stream struct {
	used    bool
	id      uint16
	high    uint32 // highest msn
	seen    uint64 // bit i: msn high - i was seen
	span    uint32 // msns within sight, at most 64
	taken   [16]taken
	takings uint32
}

// taken is a receive buffer and the message that it took.
type taken struct {
	index, msn uint32
	number     uint64
}

// streams are the latest streams of a lane, one for each id mod their number.
type streams struct{ all []stream }

const streamCount = 64

func (t *streams) of(id uint16) *stream {
	if t.all == nil {
		t.all = make([]stream, streamCount)
	}
	s := &t.all[id%streamCount]
	if !s.used || s.id != id {
		*s = stream{used: true, id: id}
	}
	return s
}

// numbered takes the first packet that is seen of a message, and tells whether its number is above all before.
func (c *Connection) numbered(d *lane, e *event, answer bool) bool {
	if answer {
		return false
	}
	s := d.streams.of(e.m.DH.StreamID)
	msn := e.m.DH.MSN
	if s.span == 0 {
		s.high, s.seen, s.span = msn, 1, 1
		return false
	}
	ahead := metaroce.Distance(s.high, msn)
	switch {
	case ahead <= -64:
		return false
	case ahead <= 0:
		s.seen |= 1 << -ahead
		return false
	case ahead >= 64: // the capture paused
		s.high, s.seen, s.span = msn, 1, 1
		return true
	}
	for range ahead {
		if s.span == 64 {
			lost, neighbour := s.seen>>63 == 0, s.seen>>62&1 != 0
			if !lost || neighbour { // of several in a row the last stands for all
				c.weigh(d, clueMSNSkipped, -1, e, lost, 0, e.number)
			}
		}
		s.seen <<= 1
		s.span = min(64, s.span+1)
	}
	s.seen |= 1
	s.high = msn
	return true
}

// receiveIndex judges that a receive buffer takes one message.
func (c *Connection) receiveIndex(d *lane, e *event) {
	s := d.streams.of(e.m.DH.StreamID)
	index, msn := e.m.SETH.ReceiveIndex, e.m.DH.MSN
	for i := range s.taken {
		if t := &s.taken[i]; t.number != 0 && t.index == index && t.msn != msn {
			c.diverges(finding.MetaRoCEReceiveIndexReused, d, int(e.m.CH.PathID), e, t.number, "a receive buffer for each message", "one for two",
				"Messages %d and %d of stream %d both go to receive buffer %d.", t.msn, msn, s.id, index)
			return
		}
	}
	c.conforms(finding.MetaRoCEReceiveIndexReused)
	s.taken[s.takings%uint32(len(s.taken))] = taken{index: index, msn: msn, number: e.number}
	s.takings++
}
