package simulation

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// GoBackN is a node with RoCEv2 reliable connections to compare with: one path each, go-back-N as IBTA chapter 9.7
// has it (a NAK for the first packet behind a gap, then silence until the missing one comes), and DCQCN.
type GoBackN struct {
	Address netip.Addr
	Rate    float64 // of the interface, bit/s: DCQCN begins with it
	MTU     int
	Window  int           // packets in flight, at most
	Timeout time.Duration // of the retransmission timer

	senders   []*rcSender
	receivers map[uint32]*rcReceiver
	replies   []Frame
	next      int
}

// roceOverhead is what Ethernet, IPv4, UDP, BTH, RETH and ICRC add to a payload: 18 + 20 + 8 + 12 + 16 + 4 bytes.
const roceOverhead = 78

// Kinds of packets: the first byte of the payload; QP number and PSN follow.
const (
	rcData    = iota
	rcDataACK // asks for an ACK
	rcACK
	rcNAK
	rcCNP
)

const ackRequestEvery = 16

type rcSender struct {
	qp        uint32
	plane     uint8
	from, to  netip.AddrPort
	una, next uint32 // packets since the beginning
	highest   uint32 // first that was never sent
	timerAt   time.Duration
	nextAt    time.Duration
	sinceACK  int
	dcqcn
	again uint64
}

type rcReceiver struct {
	expected uint32
	nak      bool
	cnpAt    time.Duration
	bytes    uint64
}

// Open adds a sender of endless data to a node, on one plane, and returns a view of its rate in bit/s.
func (g *GoBackN) Open(qp uint32, plane uint8, sourcePort uint16, to netip.Addr) func() float64 {
	s := &rcSender{
		qp: qp, plane: plane, from: netip.AddrPortFrom(g.Address, sourcePort), to: netip.AddrPortFrom(to, 4791), timerAt: never,
	}
	s.init(g.Rate)
	g.senders = append(g.senders, s)
	return func() float64 { return s.rate }
}

// Delivered is how many bytes of payload have arrived in order for a QP of a peer.
func (g *GoBackN) Delivered(qp uint32) uint64 {
	if r := g.receivers[qp]; r != nil {
		return r.bytes
	}
	return 0
}

// Handle takes a frame.
func (g *GoBackN) Handle(now time.Duration, f *Frame) {
	kind, qp, psn := f.Payload[0], binary.BigEndian.Uint32(f.Payload[1:]), binary.BigEndian.Uint32(f.Payload[5:])
	switch kind {
	case rcData, rcDataACK:
		g.receive(now, f, kind, qp, psn)
		return
	default:
	}
	s := g.sender(qp)
	if s == nil {
		return
	}
	switch kind {
	case rcACK, rcNAK: // all before psn have arrived
		if int32(psn-s.una) > 0 {
			s.una = psn
			s.timerAt = never
			if s.una != s.highest {
				s.timerAt = now + g.Timeout
			}
		}
		if int32(s.una-s.next) > 0 {
			s.next = s.una
		}
		if kind == rcNAK && psn == s.una {
			s.next = s.una // go back
		}
	case rcCNP:
		s.cut(now)
	}
}

func (g *GoBackN) sender(qp uint32) *rcSender {
	for _, s := range g.senders {
		if s.qp == qp {
			return s
		}
	}
	return nil
}

func (g *GoBackN) receive(now time.Duration, f *Frame, kind byte, qp, psn uint32) {
	r := g.receivers[qp]
	if r == nil {
		if g.receivers == nil {
			g.receivers = map[uint32]*rcReceiver{}
		}
		r = &rcReceiver{}
		g.receivers[qp] = r
	}
	if f.ECN == dissector.ECNCE && now >= r.cnpAt {
		r.cnpAt = now + cnpInterval
		g.reply(f, rcCNP, qp, 0)
	}
	switch d := int32(psn - r.expected); {
	case d == 0:
		r.expected++
		r.nak = false
		r.bytes += uint64(f.Size - roceOverhead)
		if kind == rcDataACK {
			g.reply(f, rcACK, qp, r.expected)
		}
	case d < 0:
		g.reply(f, rcACK, qp, r.expected)
	case !r.nak:
		r.nak = true
		g.reply(f, rcNAK, qp, r.expected)
	}
}

func (g *GoBackN) reply(f *Frame, kind byte, qp, psn uint32) {
	g.replies = append(g.replies, Frame{
		Source: netip.AddrPortFrom(g.Address, f.Source.Port()), Destination: netip.AddrPortFrom(f.Source.Addr(), 4791),
		Plane: f.Plane, Size: roceOverhead - 12, Payload: rcPayload(nil, kind, qp, psn),
	})
}

func rcPayload(b []byte, kind byte, qp, psn uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(append(b, kind), qp), psn)
}

// Poll sends replies first, then the senders' packets in turn.
func (g *GoBackN) Poll(now time.Duration, scratch []byte) (Frame, bool) {
	if len(g.replies) > 0 {
		f := g.replies[0]
		g.replies = g.replies[1:]
		return f, true
	}
	for range g.senders {
		s := g.senders[g.next]
		g.next = (g.next + 1) % len(g.senders)
		if s.timerAt <= now {
			s.next = s.una
			s.timerAt = now + g.Timeout
		}
		s.recover(now)
		if s.nextAt > now || int(s.next-s.una) >= g.Window {
			continue
		}
		kind := byte(rcData)
		if s.sinceACK++; s.sinceACK >= min(ackRequestEvery, max(1, g.Window/4)) || int(s.next-s.una) == g.Window-1 {
			kind, s.sinceACK = rcDataACK, 0
		}
		psn := s.next
		s.next++
		if int32(s.next-s.highest) > 0 {
			s.highest = s.next
		} else {
			s.again++
		}
		size := g.MTU + roceOverhead
		s.nextAt = max(s.nextAt, now-time.Microsecond) + time.Duration(float64(size)*8e9/s.rate)
		if s.timerAt == never {
			s.timerAt = now + g.Timeout
		}
		return Frame{
			Source: s.from, Destination: s.to, Plane: s.plane, ECN: dissector.ECNECT0, Size: size,
			Payload: rcPayload(scratch, kind, s.qp, psn),
		}, true
	}
	return Frame{}, false
}

// NextTimeout is the earliest timer, or when a sender's rate lets the next packet out.
func (g *GoBackN) NextTimeout() time.Duration {
	if len(g.replies) > 0 {
		return 0
	}
	at := never
	for _, s := range g.senders {
		at = min(at, s.timerAt)
		if int(s.next-s.una) < g.Window {
			at = min(at, s.nextAt)
		}
	}
	return at
}
