package metaroce_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// script is one endpoint whose peer is the test: packets are fed one by one, and what it answers is looked at.
type script struct {
	t      *testing.T
	e      *metaroce.Endpoint
	c      *metaroce.Connection
	now    time.Duration
	memory metaroce.Regions
	local  mr0.CONN
	peer   mr0.CONN
}

// emitted is a packet of the endpoint.
type emitted struct {
	mr0.Packet
	metaroce.Datagram
	payload []byte
}

const us = time.Microsecond

// newScript is an open connection. The own paths begin at psn 1000, the peer's at 5000; payloads are of 256 bytes.
func newScript(t *testing.T, change func(c *metaroce.Config, local, peer *mr0.CONN)) *script {
	t.Helper()
	s := &script{t: t, memory: metaroce.Regions{}, now: time.Millisecond}
	config := s.config()
	s.local = mr0.CONN{
		SourceConnID: 0xa, PathCount: 2, PlaneCount: 1, MTU: 256, InitialPSN: 1000, StreamCount: 8, MaxWindow: 256,
	}
	s.peer = mr0.CONN{
		SourceConnID: 0xb, PathCount: 2, PlaneCount: 1, MTU: 256, InitialPSN: 5000, StreamCount: 8, MaxWindow: 256,
	}
	if change != nil {
		change(&config, &s.local, &s.peer)
	}
	s.start(config)
	c, err := s.e.Resume(s.local, s.peer, addressB)
	if err != nil {
		t.Fatal(err)
	}
	s.c = c
	return s
}

func (s *script) config() metaroce.Config {
	config := metaroce.DefaultConfig()
	config.Planes = []netip.Addr{addressA}
	config.Memory = s.memory
	config.Random = rand.NewPCG(1, 2)
	config.StreamCount = 8
	return config
}

func (s *script) start(config metaroce.Config) {
	s.t.Helper()
	e, err := metaroce.New(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.e = e
}

// poll takes all that the endpoint sends now.
func (s *script) poll() []emitted {
	s.t.Helper()
	var out []emitted
	for {
		d, ok := s.e.Poll(s.now, nil)
		if !ok {
			return out
		}
		var x emitted
		x.Datagram = d
		if err := mr0.Decode(d.Payload, &x.Packet); err != nil {
			s.t.Fatalf("malformed packet: %s", mr0.Profile.Explain(x.Fault))
		}
		if !mr0.VerifyICRC(d.Payload, d.Source, d.Destination) {
			s.t.Fatal("wrong ICRC")
		}
		x.payload = x.Packet.Payload(d.Payload)
		out = append(out, x)
	}
}

// one takes the only packet that the endpoint sends now.
func (s *script) one(kind mr0.Type) emitted {
	s.t.Helper()
	out := s.poll()
	if len(out) != 1 || out[0].CH.Type != kind {
		s.t.Fatalf("sent %s, want one %s", names(out), kind)
	}
	return out[0]
}

// none checks that the endpoint has nothing to send now.
func (s *script) none() {
	s.t.Helper()
	if out := s.poll(); len(out) > 0 {
		s.t.Fatalf("sent %s, want nothing", names(out))
	}
}

func names(out []emitted) []string {
	list := []string{}
	for _, x := range out {
		list = append(list, x.CH.Type.String())
	}
	return list
}

// advance lets time pass. What the endpoint sends before the end of it is returned.
func (s *script) advance(d time.Duration) []emitted {
	s.t.Helper()
	end := s.now + d
	var out []emitted
	for {
		out = append(out, s.poll()...)
		next := s.e.NextTimeout()
		if next > end {
			s.now = end
			return out
		}
		s.now = max(s.now, next)
	}
}

// as says how a packet arrives.
type as func(p *mr0.Packet, d *metaroce.Datagram)

func withCE(_ *mr0.Packet, d *metaroce.Datagram) { d.ECN = dissector.ECNCE }

func withFlags(f mr0.Flags) as { return func(p *mr0.Packet, _ *metaroce.Datagram) { p.CH.Flags |= f } }

func fromPort(port uint16) as {
	return func(_ *mr0.Packet, d *metaroce.Datagram) { d.Source = netip.AddrPortFrom(d.Source.Addr(), port) }
}

// feed gives a packet of the peer to the endpoint.
func (s *script) feed(p mr0.Packet, payload []byte, how ...as) metaroce.Verdict {
	s.t.Helper()
	d := metaroce.Datagram{
		Source: netip.AddrPortFrom(addressB, 50000), Destination: netip.AddrPortFrom(addressA, mr0.Port), ECN: dissector.ECNECT0,
	}
	if p.CH.DestConnID == 0 && p.CH.Type != mr0.TypeConnReq {
		p.CH.DestConnID = s.local.SourceConnID
	}
	p.CH.PartitionKey = 0xffff
	for _, h := range how {
		h(&p, &d)
	}
	var err error
	if d.Payload, err = p.AppendDatagram(nil, payload, d.Source, d.Destination); err != nil {
		s.t.Fatal(err)
	}
	return s.e.Handle(s.now, &d)
}

// write is a packet of a WRITE of the peer, on path 0 unless told otherwise: psn counts from the path's first.
func (s *script) write(psn int, msn, offset, length uint32, carried int, how ...as) metaroce.Verdict {
	s.t.Helper()
	p := s.data(mr0.TypeWrite, psn, msn, offset, length, carried)
	p.WETH = mr0.WETH{VirtualAddress: base + uint64(offset), RKey: keyWrite}
	return s.feed(p, make([]byte, carried), how...)
}

// data is a sequenced packet of the peer without its last header.
func (s *script) data(kind mr0.Type, psn int, msn, offset, length uint32, carried int) mr0.Packet {
	var flags mr0.Flags
	if offset == 0 {
		flags |= mr0.FlagFirst
	}
	if offset+uint32(carried) == length && kind != mr0.TypeReadReq {
		flags |= mr0.FlagLast
	}
	return mr0.Packet{
		CH: mr0.CH{Type: kind, Flags: flags, PSN: s.peer.InitialPSN + uint32(psn)},
		DH: mr0.DH{Timestamp: uint32(s.now), StreamID: 1, MSN: msn, MessageOffset: offset, MessageLength: length},
	}
}

func onPath(path uint8) as {
	return func(p *mr0.Packet, _ *metaroce.Datagram) {
		p.CH.PathID = path
		p.CH.PSN += uint32(path) * mr0.PathPSNStride
	}
}

func onStream(id uint16) as { return func(p *mr0.Packet, _ *metaroce.Datagram) { p.DH.StreamID = id } }

// ack acknowledges packets of an own path: all before cumulative, which counts from the path's first, and those in
// beyond.
func (s *script) ack(path uint8, number uint32, cumulative int, echo time.Duration, beyond []int, change ...func(a *mr0.ACKH)) metaroce.Verdict {
	s.t.Helper()
	p := mr0.Packet{CH: mr0.CH{Type: mr0.TypeACK, PathID: path, PSN: number}}
	first := mr0.PathInitialPSN(s.local.InitialPSN, int(path))
	p.ACKH = mr0.ACKH{CumulativePSN: first + uint32(cumulative), EchoTimestamp: uint32(echo), RateHint: mr0.ACKHRateHintNoLimit}
	for _, psn := range beyond {
		p.ACKH.SACK.Set(psn - cumulative - 1)
	}
	for _, f := range change {
		f(&p.ACKH)
	}
	return s.feed(p, nil)
}

// nak refuses an own packet.
func (s *script) nak(x emitted, reason mr0.NAKReason, retry time.Duration) metaroce.Verdict {
	s.t.Helper()
	return s.feed(mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeNAK, PathID: x.CH.PathID},
		NAKH: mr0.NAKH{
			Reason: reason, StreamID: x.DH.StreamID, MSN: x.DH.MSN, RefusedPSN: x.CH.PSN, RetryAfter: uint32(retry),
		},
	}, nil)
}

// post posts work to stream 1.
func (s *script) post(r metaroce.WorkRequest) {
	s.t.Helper()
	stream, err := s.c.Stream(1)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := stream.Post(r); err != nil {
		s.t.Fatal(err)
	}
}

// completions takes all completions.
func (s *script) completions() []metaroce.Completion {
	var out []metaroce.Completion
	var done metaroce.Completion
	for s.e.NextCompletion(&done) {
		out = append(out, done)
	}
	return out
}

// events takes all events.
func (s *script) events() []metaroce.Event {
	var out []metaroce.Event
	var ev metaroce.Event
	for s.e.NextEvent(&ev) {
		out = append(out, ev)
	}
	return out
}

// writable registers memory that the peer may write.
func (s *script) writable(n int) []byte {
	b := make([]byte, n)
	s.memory[keyWrite] = metaroce.Region{Address: base, Bytes: b, Access: metaroce.AccessWrite}
	return b
}
