package capgen

import (
	"bufio"
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// MetaConfig says what capture of MetaRoCE, profile mr0, to make. Probabilities are of each packet.
type MetaConfig struct {
	Seed        uint64
	Connections int
	Paths       int
	Planes      int
	Streams     int
	Messages    int // of each stream
	MinMessage  int // bytes
	MaxMessage  int
	MTU         int
	AckEvery    int // packets of a path
	Window      int // packets in flight a path, at most 200

	LossBefore  float64 // data lost before the vantage point
	LossAfter   float64 // data lost behind it
	LossAck     float64 // ACKs lost behind it
	Mark        float64 // data marked CE
	Duplicate   float64 // data doubled by the network, before the vantage point
	CaptureMiss float64 // data and ACKs that arrive, but are missing in the capture

	Reads       bool // READs and atomics among the messages
	RePath      bool // each path changes its source port half way
	NoHandshake bool // the capture begins behind it
	Mirror      bool // every packet is captured at a second place, too
	IPv6        bool
}

// DefaultMeta is four connections that spray WRITEs and SENDs over eight paths.
func DefaultMeta() MetaConfig {
	return MetaConfig{
		Seed: 1, Connections: 4, Paths: 8, Planes: 2, Streams: 3, Messages: 20, MinMessage: 1, MaxMessage: 64 << 10,
		MTU: 4096, AckEvery: 4, Window: 64,
	}
}

// metaPacket is a packet of MetaRoCE on its way.
type metaPacket struct {
	conn   *metaConn
	side   int // that sends it
	m      mr0.Packet
	length int
	port   uint16
	id     uint16
	ce     bool
	copied bool
	double bool // by the network
	time   int64
	order  int
}

// metaMessage is a message that is sent, and what its sender knows of it.
type metaMessage struct {
	kind        mr0.Type
	stream      uint16
	msn, length uint32
	address     uint64
}

// metaSide is one end of a connection.
type metaSide struct {
	id       uint32
	ip       netip.Addr
	initial  uint32
	paths    []*metaEnd
	queue    []metaPacket // to be sent for the first time
	delayOut int64        // to the vantage point
	ipID     uint16
	pumping  bool
}

// metaEnd is a path of one direction: what its sender and its receiver know.
type metaEnd struct {
	number   uint8
	port     uint16
	next     uint32
	base     uint32 // first psn that is not acknowledged
	flying   map[uint32]*flight
	received map[uint32]bool
	cum      uint32
	since    int // packets since the last ACK
	acks     uint32
	arrived  uint32
	ce       uint32
	repathed bool
}

type flight struct {
	p    metaPacket
	sent int64
	rtx  bool
}

type metaConn struct {
	number int
	sides  [2]metaSide
}

// metaSim is a discrete-event simulation of all connections.
type metaSim struct {
	cfg    *MetaConfig
	random *rand.Rand
	now    int64
	events metaEvents
	count  int
	log    []metaPacket // what was captured
}

const (
	metaRTO      = 2_000_000 // ns
	metaAckDelay = 500
)

// GenerateMeta writes a capture of MetaRoCE and returns the truth about it.
func GenerateMeta(w io.Writer, format pcapfile.Format, cfg MetaConfig) (MetaTruth, error) {
	random := rand.New(rand.NewPCG(cfg.Seed, 0x6d657461)) //nolint:gosec // has to be the same again
	s := &metaSim{cfg: &cfg, random: random, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).UnixNano()}
	for i := range cfg.Connections {
		s.connect(i)
	}
	for len(s.events) > 0 {
		e, _ := heap.Pop(&s.events).(metaEvent)
		s.now = e.at
		e.do()
	}
	slices.SortStableFunc(s.log, func(a, b metaPacket) int {
		if a.time != b.time {
			return int(a.time - b.time)
		}
		return a.order - b.order
	})
	truth := metaTruthOf(&cfg, s.log)
	out := bufio.NewWriter(w)
	writer, err := pcapfile.NewWriter(out, format, pcapfile.WriterOptions{Nanosecond: true})
	if err != nil {
		return MetaTruth{}, err
	}
	for i := range s.log {
		data, err := s.log[i].frame()
		if err != nil {
			return MetaTruth{}, fmt.Errorf("generate capture: %w", err)
		}
		if err := writer.WriteFrame(&capture.Frame{Data: data, Time: s.log[i].time, HasTime: true}); err != nil {
			return MetaTruth{}, fmt.Errorf("generate capture: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return MetaTruth{}, fmt.Errorf("generate capture: %w", err)
	}
	return truth, nil
}

type metaEvent struct {
	at    int64
	order int
	do    func()
}

type metaEvents []metaEvent

func (e metaEvents) Len() int { return len(e) }
func (e metaEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e metaEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push is for container/heap.
func (e *metaEvents) Push(x any) {
	if event, ok := x.(metaEvent); ok {
		*e = append(*e, event)
	}
}

// Pop is for container/heap.
func (e *metaEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (s *metaSim) after(ns int64, do func()) {
	s.count++
	heap.Push(&s.events, metaEvent{s.now + ns, s.count, do})
}

func (s *metaSim) chance(p float64) bool { return p > 0 && s.random.Float64() < p }

// connect sets a connection up and fills the queue of its first side.
func (s *metaSim) connect(number int) {
	c := &metaConn{number: number}
	for i := range c.sides {
		e := &c.sides[i]
		e.id = s.random.Uint32() | 1
		e.initial = s.random.Uint32()
		e.delayOut = 1_000 + s.random.Int64N(4_000)
		e.ipID = uint16(s.random.Uint32())
		e.ip = netip.AddrFrom4([4]byte{10, byte(20 + i), byte(number >> 8), byte(number%250 + 1)})
		if s.cfg.IPv6 {
			e.ip = netip.AddrFrom16([16]byte{0xfd, byte(i), 14: byte(number >> 8), 15: byte(number + 1)})
		}
		for path := range s.cfg.Paths {
			first := e.initial + uint32(path)<<20
			e.paths = append(e.paths, &metaEnd{
				number: uint8(path), port: uint16(0xc000 | s.random.Uint32()&0x3fff), next: first, base: first, cum: first,
				flying: map[uint32]*flight{}, received: map[uint32]bool{},
			})
		}
	}
	start := int64(number) * 1500
	if !s.cfg.NoHandshake {
		nonce := s.random.Uint64()
		s.after(start, func() { s.control(c, 0, s.conn(c, 0, mr0.TypeConnReq, nonce)) })
		s.after(start+20_000, func() { s.control(c, 1, s.conn(c, 1, mr0.TypeConnRep, nonce)) })
	}
	for msn := range s.cfg.Messages {
		for stream := range s.cfg.Streams {
			m := metaMessage{
				stream: uint16(stream * 7), msn: uint32(msn), address: s.random.Uint64() &^ 7,
				length: uint32(s.cfg.MinMessage + s.random.IntN(s.cfg.MaxMessage-s.cfg.MinMessage+1)),
			}
			kinds := []mr0.Type{mr0.TypeWrite, mr0.TypeSend}
			if s.cfg.Reads {
				kinds = append(kinds, mr0.TypeReadReq, mr0.TypeAtomicReq)
			}
			m.kind = kinds[s.random.IntN(len(kinds))]
			s.enqueue(c, 0, &m)
		}
	}
	s.after(start+60_000, func() { s.pump(c, 0) })
}

func (s *metaSim) conn(c *metaConn, side int, kind mr0.Type, nonce uint64) mr0.Packet {
	e := &c.sides[side]
	m := mr0.Packet{CH: mr0.CH{Type: kind, PartitionKey: 0xffff}, CONN: mr0.CONN{
		SourceConnID: e.id, PathCount: uint8(s.cfg.Paths), PlaneCount: uint8(max(s.cfg.Planes, 1)), MTU: uint16(s.cfg.MTU),
		LinkRate: 400_000, InitialPSN: e.initial, StreamCount: 64, MaxWindow: 256, Nonce: nonce,
	}}
	if kind == mr0.TypeConnRep {
		m.CH.DestConnID = c.sides[0].id
	}
	return m
}

// control sends a packet without a psn that is neither lost nor missed.
func (s *metaSim) control(c *metaConn, side int, m mr0.Packet) {
	p := metaPacket{conn: c, side: side, m: m, port: c.sides[side].paths[0].port}
	s.capture(p, c.sides[side].delayOut)
}

// enqueue cuts a message into packets.
func (s *metaSim) enqueue(c *metaConn, side int, m *metaMessage) {
	length := m.length
	request := m.kind == mr0.TypeReadReq || m.kind == mr0.TypeAtomicReq
	if m.kind == mr0.TypeAtomicReq || m.kind == mr0.TypeAtomicResp {
		length = 0
	}
	for offset := uint32(0); ; offset += uint32(s.cfg.MTU) {
		carried := min(length-offset, uint32(s.cfg.MTU))
		if request {
			carried = 0
		}
		p := metaPacket{conn: c, side: side, length: int(carried), m: mr0.Packet{
			CH:    mr0.CH{Type: m.kind, PartitionKey: 0xffff, DestConnID: c.sides[1-side].id, PayloadLength: uint16(carried)},
			DH:    mr0.DH{StreamID: m.stream, MSN: m.msn, MessageOffset: offset, MessageLength: length},
			WETH:  mr0.WETH{VirtualAddress: m.address + uint64(offset), RKey: 7},
			SETH:  mr0.SETH{ReceiveIndex: m.msn},
			RRETH: mr0.RRETH{VirtualAddress: m.address, RKey: 7, ReadID: m.msn},
			RSETH: mr0.RSETH{ReadID: m.msn},
			AETH:  mr0.AETH{VirtualAddress: m.address, RKey: 7, SwapOrAdd: 1},
		}}
		if offset == 0 {
			p.m.CH.Flags |= mr0.FlagFirst
		}
		if offset+carried == length {
			p.m.CH.Flags |= mr0.FlagLast
		}
		c.sides[side].queue = append(c.sides[side].queue, p)
		if request || offset+carried == length {
			return
		}
	}
}

// pump sends one packet that waits, on the path with the fewest in flight, and comes again.
func (s *metaSim) pump(c *metaConn, side int) {
	e := &c.sides[side]
	e.pumping = false
	if len(e.queue) == 0 {
		return
	}
	best := e.paths[0]
	for _, path := range e.paths {
		if len(path.flying) < len(best.flying) {
			best = path
		}
	}
	if len(best.flying) < s.cfg.Window && best.next-best.base < 200 {
		p := e.queue[0]
		e.queue = e.queue[1:]
		p.m.CH.PathID, p.m.CH.PSN = best.number, best.next
		best.next++
		if s.cfg.RePath && !best.repathed && best.next-e.initial-uint32(best.number)<<20 > 20 {
			best.port, best.repathed = best.port^0x15, true
		}
		s.transmit(c, side, best, p, false)
	}
	e.pumping = true
	s.after(gap(uint32(s.cfg.MTU)), func() { s.pump(c, side) })
}

func (s *metaSim) wake(c *metaConn, side int) {
	if e := &c.sides[side]; !e.pumping && len(e.queue) > 0 {
		e.pumping = true
		s.after(0, func() { s.pump(c, side) })
	}
}

// transmit sends a packet that has its psn.
func (s *metaSim) transmit(c *metaConn, side int, path *metaEnd, p metaPacket, again bool) {
	e := &c.sides[side]
	if again {
		p.m.CH.Flags |= mr0.FlagRTX
	}
	p.m.DH.Timestamp = uint32(s.now) + e.id
	p.m.CH.PlaneID = path.number % uint8(max(s.cfg.Planes, 1))
	p.port = path.port
	e.ipID++
	p.id = e.ipID
	path.flying[p.m.CH.PSN] = &flight{p: p, sent: s.now, rtx: again}
	sent := s.now
	s.after(metaRTO, func() {
		if f := path.flying[p.m.CH.PSN]; f != nil && f.sent == sent {
			s.transmit(c, side, path, f.p, true)
		}
	})
	if s.chance(s.cfg.LossBefore) {
		return
	}
	p.ce = s.chance(s.cfg.Mark)
	s.pass(c, side, path, p)
	if s.chance(s.cfg.Duplicate) {
		p.double = true
		s.after(40_000, func() { s.pass(c, side, path, p) })
	}
}

// pass brings a packet past the vantage point and to its receiver.
func (s *metaSim) pass(c *metaConn, side int, path *metaEnd, p metaPacket) {
	from, to := &c.sides[side], &c.sides[1-side]
	if !s.chance(s.cfg.CaptureMiss) {
		s.capture(p, from.delayOut)
	}
	if !s.chance(s.cfg.LossAfter) {
		s.after(from.delayOut+to.delayOut, func() { s.receive(c, side, path, p) })
	}
}

func (s *metaSim) capture(p metaPacket, in int64) {
	p.time = s.now + in
	p.order = len(s.log)
	s.log = append(s.log, p)
	if s.cfg.Mirror {
		p.time += 700
		p.copied = true
		p.order = len(s.log)
		s.log = append(s.log, p)
	}
}

// receive takes a data packet at the side opposite to its sender.
func (s *metaSim) receive(c *metaConn, side int, path *metaEnd, p metaPacket) {
	psn := p.m.CH.PSN
	path.arrived++
	if p.ce {
		path.ce++
	}
	trigger := mr0.ACKTriggerCoalesced
	switch {
	case int32(psn-path.cum) < 0 || path.received[psn]:
		trigger = mr0.ACKTriggerDuplicate
	case psn != path.cum && !path.received[psn-1]:
		trigger = mr0.ACKTriggerGap
	case p.m.CH.Flags&mr0.FlagLast != 0:
		trigger = mr0.ACKTriggerMessageEnd
	}
	if trigger != mr0.ACKTriggerDuplicate {
		path.received[psn] = true
		s.answer(c, side, &p)
	}
	for path.received[path.cum] {
		path.cum++
	}
	path.since++
	if trigger == mr0.ACKTriggerCoalesced && path.since < s.cfg.AckEvery {
		return
	}
	path.since = 0
	path.acks++
	m := mr0.Packet{CH: mr0.CH{
		Type: mr0.TypeACK, PartitionKey: 0xffff, DestConnID: c.sides[side].id, PathID: path.number, PSN: path.acks,
	}, ACKH: mr0.ACKH{
		CumulativePSN: path.cum, EchoTimestamp: p.m.DH.Timestamp, ACKDelay: metaAckDelay, CECount: path.ce,
		PacketCount: path.arrived, Trigger: trigger, RateHint: uint32(40_000 + 1000*s.random.IntN(20)),
	}}
	for i := range mr0.SACKBits {
		if path.received[path.cum+1+uint32(i)] {
			m.ACKH.SACK.Set(i)
		}
	}
	s.after(metaAckDelay, func() { s.acknowledge(c, side, path, m) })
}

// answer queues what a request asks for.
func (s *metaSim) answer(c *metaConn, side int, p *metaPacket) {
	m := metaMessage{stream: p.m.DH.StreamID, msn: p.m.DH.MSN, length: p.m.DH.MessageLength}
	switch p.m.CH.Type {
	case mr0.TypeReadReq:
		m.kind = mr0.TypeReadResp
	case mr0.TypeAtomicReq:
		m.kind = mr0.TypeAtomicResp
	default:
		return
	}
	s.enqueue(c, 1-side, &m)
	s.wake(c, 1-side)
}

// acknowledge sends an ACK about a path of the side given, from the other one.
func (s *metaSim) acknowledge(c *metaConn, side int, path *metaEnd, m mr0.Packet) {
	from, to := &c.sides[1-side], &c.sides[side]
	from.ipID++
	p := metaPacket{conn: c, side: 1 - side, m: m, port: from.paths[path.number].port, id: from.ipID}
	if !s.chance(s.cfg.CaptureMiss) {
		s.capture(p, from.delayOut)
	}
	if s.chance(s.cfg.LossAck) {
		return
	}
	s.after(from.delayOut+to.delayOut, func() { s.acknowledged(c, side, path, &m.ACKH) })
}

// acknowledged lets the sender of a path know.
func (s *metaSim) acknowledged(c *metaConn, side int, path *metaEnd, h *mr0.ACKH) {
	highest := h.CumulativePSN
	for psn := range path.flying {
		d := int32(psn - h.CumulativePSN)
		if d < 0 || d > 0 && h.SACK.Has(int(d-1)) {
			delete(path.flying, psn)
		}
	}
	for i := range mr0.SACKBits {
		if h.SACK.Has(i) {
			highest = h.CumulativePSN + 1 + uint32(i)
		}
	}
	for psn := h.CumulativePSN; int32(highest-psn) > 0; psn++ {
		if f := path.flying[psn]; f != nil && !f.rtx {
			s.transmit(c, side, path, f.p, true)
		}
	}
	for path.base != path.next && path.flying[path.base] == nil {
		path.base++
	}
	s.wake(c, side)
}

// frame writes the packet out.
func (p *metaPacket) frame() ([]byte, error) {
	from, to := &p.conn.sides[p.side], &p.conn.sides[1-p.side]
	f := build.Frame{
		SourceMAC: [6]byte{2, 0, 0, byte(p.side), 0, byte(p.conn.number)}, DestinationMAC: [6]byte{2, 0, 0, byte(1 - p.side), 0, byte(p.conn.number)},
		Source: from.ip, Destination: to.ip, SourcePort: p.port, ID: p.id, DSCP: 26, MetaRoCE: &p.m,
		Payload: make([]byte, p.length),
	}
	if p.m.CH.Type.Sequenced() {
		f.ECN = dissector.ECNECT0
	}
	if p.ce {
		f.ECN = dissector.ECNCE
	}
	if p.copied {
		f.TTL = 63
	}
	if p.double { // a sender that repeats itself counts on
		f.ID += 0x4000
	}
	return f.AppendTo(nil)
}
