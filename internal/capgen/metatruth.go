package capgen

import (
	"slices"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// MetaTruth is what a generated capture of MetaRoCE holds, told by somebody who saw each packet and forgot none.
type MetaTruth struct {
	Packets       uint64
	Messages      uint64
	Retransmitted uint64
	MirrorCopies  uint64
	MissingPSNs   uint64
	CEMarked      uint64
	Connections   uint64

	Paths   []MetaPathTruth   // by connection id, and number
	Streams []MetaStreamTruth // by connection id, and number
}

// MetaPathTruth is one path of one direction, without mirror copies. Times are in ns.
type MetaPathTruth struct {
	Conn                   uint32 // dest_conn_id of its packets
	Path                   uint8
	Plane                  uint8
	Ports                  int
	Packets, PayloadBytes  uint64
	Retransmitted          uint64
	RetransmittedSeen      uint64
	Duplicates             uint64
	Missing                uint64
	MissingAcknowledged    uint64
	CEMarked               uint64
	Acks                   uint64
	ReceivedPackets        uint64
	ReceivedCE             uint64
	RTTSamples             uint64
	RTTMin, RTTMax         uint64
	HintMin, HintMax, Hint uint64
}

// MetaStreamTruth is one stream of one direction.
type MetaStreamTruth struct {
	Conn                       uint32
	Stream                     uint16
	Messages, Complete         uint64
	Packets                    uint64
	PayloadBytes, GoodputBytes uint64
	LatencyMin, LatencyMax     uint64
	LatencySum                 uint64
}

type metaPathKey struct {
	conn uint32
	path uint8
}

type metaStreamKey struct {
	conn   uint32
	stream uint16
}

type metaMessageKey struct {
	metaStreamKey
	msn uint32
}

// metaPathState is a path as the oracle sees it.
type metaPathState struct {
	truth   MetaPathTruth
	started bool
	first   uint32 // where missing psns are counted from
	end     uint32 // behind the highest that was seen or acknowledged
	seen    map[uint32]*metaPacket
	acked   map[uint32]bool
	ports   map[uint16]bool
}

// metaMessageState is a message as the oracle sees it.
type metaMessageState struct {
	first    int64
	length   uint32
	acked    uint32
	request  bool
	complete bool
}

type metaOracle struct {
	truth    MetaTruth
	paths    map[metaPathKey]*metaPathState
	streams  map[metaStreamKey]*MetaStreamTruth
	messages map[metaMessageKey]*metaMessageState // of requests and one-way messages
	answers  map[metaMessageKey]*metaMessageState // responses, by the direction that they go
}

func metaTruthOf(cfg *MetaConfig, log []metaPacket) MetaTruth {
	o := &metaOracle{
		paths: map[metaPathKey]*metaPathState{}, streams: map[metaStreamKey]*MetaStreamTruth{},
		messages: map[metaMessageKey]*metaMessageState{}, answers: map[metaMessageKey]*metaMessageState{},
	}
	o.truth.Connections = uint64(cfg.Connections)
	for i := range log {
		p := &log[i]
		o.truth.Packets++
		switch {
		case p.copied:
			o.truth.MirrorCopies++
		case p.m.CH.Type == mr0.TypeACK:
			o.ack(p)
		case p.m.CH.Type.Sequenced():
			o.data(cfg, p)
		}
	}
	for _, s := range o.paths {
		s.finish()
		t := &s.truth
		o.truth.Retransmitted += t.Retransmitted
		o.truth.MissingPSNs += t.Missing
		o.truth.CEMarked += t.CEMarked
		o.truth.Paths = append(o.truth.Paths, *t)
	}
	for _, s := range o.streams {
		o.truth.Messages += s.Messages
		o.truth.Streams = append(o.truth.Streams, *s)
	}
	slices.SortFunc(o.truth.Paths, func(a, b MetaPathTruth) int {
		return int(int64(a.Conn)-int64(b.Conn))*256 + int(a.Path) - int(b.Path)
	})
	slices.SortFunc(o.truth.Streams, func(a, b MetaStreamTruth) int {
		return int(int64(a.Conn)-int64(b.Conn))*65536 + int(a.Stream) - int(b.Stream)
	})
	return o.truth
}

func (o *metaOracle) path(conn uint32, path uint8) *metaPathState {
	key := metaPathKey{conn, path}
	if o.paths[key] == nil {
		o.paths[key] = &metaPathState{
			truth: MetaPathTruth{Conn: conn, Path: path}, seen: map[uint32]*metaPacket{}, acked: map[uint32]bool{}, ports: map[uint16]bool{},
		}
	}
	return o.paths[key]
}

// data takes a sequenced packet that was captured.
func (o *metaOracle) data(cfg *MetaConfig, p *metaPacket) {
	m := &p.m
	s := o.path(m.CH.DestConnID, m.CH.PathID)
	if !s.started {
		s.started = true
		s.first, s.end = m.CH.PSN, m.CH.PSN
		if !cfg.NoHandshake {
			s.first = p.conn.sides[p.side].initial + uint32(m.CH.PathID)<<20
		}
	}
	t := &s.truth
	t.Packets++
	t.PayloadBytes += uint64(p.length)
	t.Plane = m.CH.PlaneID
	s.ports[p.port] = true
	before := s.seen[m.CH.PSN]
	if m.CH.Flags&mr0.FlagRTX != 0 && (before == nil || before.m.DH.Timestamp != m.DH.Timestamp) {
		t.Retransmitted++
		if before != nil {
			t.RetransmittedSeen++
		}
	}
	if before != nil {
		t.Duplicates++
	}
	if p.ce {
		t.CEMarked++
	}
	if before == nil || before.m.DH.Timestamp != m.DH.Timestamp {
		s.seen[m.CH.PSN] = p
	}
	if int32(m.CH.PSN+1-s.end) > 0 {
		s.end = m.CH.PSN + 1
	}
	o.stream(p, before == nil)
	if s.acked[m.CH.PSN] && before == nil {
		o.credit(p, p.time)
	}
}

func (o *metaOracle) stream(p *metaPacket, fresh bool) {
	m := &p.m
	key := metaStreamKey{m.CH.DestConnID, m.DH.StreamID}
	t := o.streams[key]
	if t == nil {
		t = &MetaStreamTruth{Conn: key.conn, Stream: key.stream}
		o.streams[key] = t
	}
	t.Packets++
	t.PayloadBytes += uint64(p.length)
	if fresh {
		t.GoodputBytes += uint64(p.length)
	}
	message := metaMessageKey{key, m.DH.MSN}
	states := o.messages
	response := m.CH.Type == mr0.TypeReadResp || m.CH.Type == mr0.TypeAtomicResp
	if response {
		states = o.answers
	}
	if states[message] != nil {
		return
	}
	states[message] = &metaMessageState{
		first: p.time, length: m.DH.MessageLength,
		request: m.CH.Type == mr0.TypeReadReq || m.CH.Type == mr0.TypeAtomicReq,
	}
	if !response {
		t.Messages++
	}
}

// ack takes an ACK that was captured.
func (o *metaOracle) ack(p *metaPacket) {
	h := &p.m.ACKH
	peer := p.conn.sides[p.side].id // whom the acknowledged packets are for
	s := o.path(peer, p.m.CH.PathID)
	t := &s.truth
	t.Acks++
	t.ReceivedPackets, t.ReceivedCE = uint64(h.PacketCount), uint64(h.CECount)
	t.Hint = uint64(h.RateHint)
	if t.HintMin == 0 || t.Hint < t.HintMin {
		t.HintMin = t.Hint
	}
	t.HintMax = max(t.HintMax, t.Hint)
	if !s.started {
		return
	}
	for _, d := range s.seen {
		if d.m.DH.Timestamp == h.EchoTimestamp {
			rtt := uint64(p.time - d.time - int64(h.ACKDelay))
			if t.RTTSamples == 0 || rtt < t.RTTMin {
				t.RTTMin = rtt
			}
			t.RTTMax = max(t.RTTMax, rtt)
			t.RTTSamples++
			break
		}
	}
	cover := func(psn uint32) {
		if s.acked[psn] {
			return
		}
		s.acked[psn] = true
		if d := s.seen[psn]; d != nil {
			o.credit(d, p.time)
		}
	}
	for psn := s.first; int32(h.CumulativePSN-psn) > 0; psn++ {
		cover(psn)
	}
	for i := range mr0.SACKBits {
		if h.SACK.Has(i) {
			cover(h.CumulativePSN + 1 + uint32(i))
		}
	}
	if int32(h.CumulativePSN-s.end) > 0 {
		s.end = h.CumulativePSN
	}
}

// credit adds the bytes of a packet that has arrived to its message.
func (o *metaOracle) credit(p *metaPacket, now int64) {
	m := &p.m
	key := metaMessageKey{metaStreamKey{m.CH.DestConnID, m.DH.StreamID}, m.DH.MSN}
	states, asked := o.messages, key
	if m.CH.Type == mr0.TypeReadResp || m.CH.Type == mr0.TypeAtomicResp {
		states = o.answers
		asked.conn = p.conn.sides[p.side].id
	}
	state := states[key]
	state.acked += uint32(p.length)
	if state.request || state.complete || state.acked < state.length {
		return
	}
	state.complete = true
	if asked != key {
		if state = o.messages[asked]; state == nil {
			return
		}
	}
	t := o.streams[asked.metaStreamKey]
	latency := uint64(now - state.first)
	if t.Complete == 0 || latency < t.LatencyMin {
		t.LatencyMin = latency
	}
	t.LatencyMax = max(t.LatencyMax, latency)
	t.LatencySum += latency
	t.Complete++
}

func (s *metaPathState) finish() {
	s.truth.Ports = len(s.ports)
	for psn := s.first; psn != s.end; psn++ {
		if s.seen[psn] == nil {
			s.truth.Missing++
			if s.acked[psn] {
				s.truth.MissingAcknowledged++
			}
		}
	}
}
