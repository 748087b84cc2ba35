package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// metaStream is one stream of a flow.
type metaStream struct {
	id                             uint16
	started                        bool
	told                           [streamCounts]uint64
	firstMSN, nextMSN              uint32
	begun                          [metaRecentMSNs / 64]uint64 // messages below nextMSN that have begun, by msn modulo their number
	messages                       uint64
	writes, sends, reads, atomics  uint64
	complete                       uint64
	packets, payload, goodput      uint64
	responses, retransmitted, naks uint64
	hasTime                        bool
	firstTime, lastTime            int64
	firstNumber, lastNumber        uint64
	latency                        *histogram // allocated with the first message that completes
}

// begins tells whether the message was not seen before, and notes it.
func (s *metaStream) begins(msn uint32) bool {
	if !s.started {
		s.started, s.firstMSN, s.nextMSN = true, msn, msn
	}
	d := int32(msn - s.nextMSN)
	switch {
	case d >= metaRecentMSNs || d < -metaReach:
		clear(s.begun[:])
		s.nextMSN = msn + 1
	case d >= 0:
		for ; s.nextMSN != msn; s.nextMSN++ {
			s.begun[s.nextMSN%metaRecentMSNs/64] &^= 1 << (s.nextMSN % 64)
		}
		s.nextMSN++
	case -d > metaRecentMSNs:
		return false // so long ago that it is not known
	case s.begun[msn%metaRecentMSNs/64]>>(msn%64)&1 != 0:
		return false
	}
	if int32(msn-s.firstMSN) < 0 && d < 0 {
		s.firstMSN = msn
	}
	s.begun[msn%metaRecentMSNs/64] |= 1 << (msn % 64)
	return true
}

func (s *metaStream) touch(p *dissector.Packet) {
	s.packets++
	s.lastNumber = p.Meta.Number
	if s.firstNumber == 0 {
		s.firstNumber = p.Meta.Number
	}
	if p.Meta.HasTime {
		if !s.hasTime {
			s.hasTime, s.firstTime = true, p.Meta.Time
		}
		s.lastTime = p.Meta.Time
	}
}

// completed counts a message of which all was acknowledged at a time.
func (s *metaStream) completed(first, now int64, timed bool) {
	s.complete++
	if !timed || now < first {
		return
	}
	if s.latency == nil {
		s.latency = new(histogram)
	}
	s.latency.add(uint64(now - first))
}

// openMessage is a message of several packets, or a request that waits for its response.
type openMessage struct {
	first  int64
	length uint32
	acked  uint64 // bytes
	stream uint16 // number of the stream
	life   uint16 // of the place, which is used again
	kind   messageKind
	used   bool
	timed  bool
}

type messageKind uint8

const (
	messageOneWay   messageKind = iota // WRITE, SEND: complete when its bytes are acknowledged
	messageRequest                     // READ, atomic: complete when the response is
	messageResponse                    // of the other direction's request
)

func kindOf(t mr0.Type) messageKind {
	switch t {
	case mr0.TypeReadReq, mr0.TypeAtomicReq:
		return messageRequest
	case mr0.TypeReadResp, mr0.TypeAtomicResp:
		return messageResponse
	default:
		return messageOneWay
	}
}

// alone tells whether the packet is the whole of a message that needs no answer.
func alone(m *mr0.Packet) bool {
	return kindOf(m.CH.Type) == messageOneWay && m.CH.Flags&(mr0.FlagFirst|mr0.FlagLast) == mr0.FlagFirst|mr0.FlagLast
}

// messageTable holds open messages by stream and msn.
type messageTable struct {
	places []openMessage
	index  chains
	next   int // place to be used, once all are
	free   []uint16
}

func messageKey(stream uint16, msn uint32, kind messageKind) uint64 {
	key := uint64(stream)<<32 | uint64(msn)
	if kind == messageResponse {
		key |= 1 << 63 // the other direction numbers its own messages of the stream
	}
	return key
}

// add opens a message and returns its number.
func (t *messageTable) add(key uint64, m openMessage) int {
	var n int
	switch {
	case len(t.free) > 0:
		n = int(t.free[len(t.free)-1])
		t.free = t.free[:len(t.free)-1]
	case len(t.places) < metaMessages:
		n = len(t.places)
		t.places = append(t.places, openMessage{})
	default: // the one that was opened first, about
		n = t.next
		t.next = (t.next + 1) % metaMessages
		t.index.remove(n)
	}
	m.used, m.life = true, t.places[n].life+1
	t.places[n] = m
	t.index.add(n, key)
	return n
}

func (t *messageTable) close(n int) {
	t.index.remove(n)
	t.places[n].used = false
	t.free = append(t.free, uint16(n))
}

// of is the message that an entry names, if it is open still.
func (t *messageTable) of(e *sent) (int, bool) {
	n := int(e.message) - 1
	return n, n >= 0 && n < len(t.places) && t.places[n].used && t.places[n].life == e.life
}

// stream is a stream of the flow by its id, nil beyond the limit.
func (t *Tracker) stream(f *metaFlow, id uint16) (*metaStream, int) {
	if n, ok := f.byID.find(uint64(id)); ok {
		return f.streams[n], n
	}
	if len(f.streams) == metaStreams {
		return nil, 0
	}
	s := &metaStream{id: id}
	f.byID.add(len(f.streams), uint64(id))
	f.streams = append(f.streams, s)
	t.meta.grown(f)
	return s, len(f.streams) - 1
}

// carry takes a packet that brings bytes of a message which had not been captured, and says in the entry which.
func (t *Tracker) carry(f *metaFlow, p *dissector.Packet, m *mr0.Packet, s *metaStream, number int, e *sent, fresh bool) {
	kind := kindOf(m.CH.Type)
	response := kind == messageResponse
	e.stream, e.offset, e.length = uint16(number+1), m.DH.MessageOffset, m.CH.PayloadLength
	begins := false
	if !response {
		if begins = s.begins(m.DH.MSN); begins {
			t.begun(f, s, m.CH.Type)
		}
	}
	if fresh {
		s.goodput += uint64(m.CH.PayloadLength)
		if response {
			s.responses += uint64(m.CH.PayloadLength)
		}
	}
	if begins && alone(m) {
		e.what |= sentOnly
	}
	if e.what&sentOnly != 0 {
		e.offset = m.DH.MSN
		return
	}
	key := messageKey(m.DH.StreamID, m.DH.MSN, kind)
	n, ok := f.open.index.find(key)
	if !ok && (begins || response && f.awaits(key, m)) {
		length := m.DH.MessageLength
		if m.CH.Type == mr0.TypeAtomicResp {
			length = 0 // its value is in a header
		}
		n, ok = f.open.add(key, openMessage{
			first: p.Meta.Time, timed: p.Meta.HasTime, length: length, stream: uint16(number), kind: kind,
		}), true
	}
	if ok {
		e.message, e.life = uint16(n+1), f.open.places[n].life
	}
}

// awaits tells whether a response that is not open may be opened: it has not been completed before.
func (f *metaFlow) awaits(key uint64, m *mr0.Packet) bool {
	if m.CH.Flags&mr0.FlagRTX == 0 {
		return true
	}
	if f.reverse == nil {
		return false
	}
	_, ok := f.reverse.open.index.find(key &^ (1 << 63))
	return ok
}

// begun counts a message.
func (t *Tracker) begun(f *metaFlow, s *metaStream, kind mr0.Type) {
	f.messages++
	s.messages++
	t.totals.Messages++
	switch kind {
	case mr0.TypeWrite:
		s.writes++
		f.operations.Write++
	case mr0.TypeSend:
		s.sends++
		f.operations.Send++
	case mr0.TypeReadReq:
		s.reads++
		f.operations.ReadRequest++
	case mr0.TypeAtomicReq:
		s.atomics++
		f.operations.Atomic++
	default:
	}
}

// credit tells the message of a psn that was acknowledged.
func (f *metaFlow) credit(e *sent, now int64, timed bool) {
	if e.what&sentMoved != 0 || e.stream == 0 {
		return
	}
	if e.what&sentOnly != 0 {
		f.streams[e.stream-1].completed(e.first, now, timed && e.timed)
		return
	}
	n, ok := f.open.of(e)
	if !ok {
		return
	}
	m := &f.open.places[n]
	m.acked += uint64(e.length)
	if m.acked < uint64(m.length) || m.kind == messageRequest {
		return
	}
	key := f.open.index.links[n].key
	done := *m
	f.open.close(n)
	if done.kind == messageOneWay {
		f.streams[done.stream].completed(done.first, now, timed && done.timed)
		return
	}
	g := f.reverse
	if g == nil {
		return
	}
	if n, ok := g.open.index.find(key &^ (1 << 63)); ok && g.open.places[n].kind == messageRequest {
		request := g.open.places[n]
		g.open.close(n)
		g.streams[request.stream].completed(request.first, now, timed && request.timed)
	}
}
