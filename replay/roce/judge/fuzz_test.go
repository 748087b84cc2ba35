package judge_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/judge"
)

// FuzzObserve gives a judge whatever packets in whatever order, eight bytes of input for each: it must neither panic
// nor say of a finding what cannot be.
func FuzzObserve(f *testing.F) {
	f.Add([]byte{0, 0x0a, 0, 0, 1, 0, 64, 0, 1, 0x11, 0, 0, 1, 0, 0, 0x1f})
	f.Add([]byte{0, 0x0c, 0, 0, 1, 8, 0, 0, 1, 0x0d, 0, 0, 1, 4, 0, 0x1f, 1, 0x11, 0, 0, 3, 0, 0, 0x60})
	f.Fuzz(func(t *testing.T, in []byte) {
		numbers := uint64(0)
		c := judge.New(1, func(x *finding.Finding) {
			if x.Verdict == finding.Conforms || x.Rule.MetaRoCE() || x.Sentence == "" {
				t.Errorf("%+v", x)
			}
			for _, n := range x.Packets() {
				if n == 0 || n > numbers {
					t.Errorf("%s: packet %d of %d", x.Rule, n, numbers)
				}
			}
		})
		ends := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}
		now := int64(1)
		var frame []byte
		for ; len(in) >= 8; in = in[8:] {
			lane := int(in[0] & 1)
			now += int64(in[0]>>1) * int64(in[0]>>1) * 1000
			b := build.Frame{
				Source: ends[lane], Destination: ends[1-lane], SourcePort: 50000, ID: uint16(in[5]),
				BTH: infiniband.BTH{
					Opcode: infiniband.Opcode(in[1]), PSN: uint32(in[2])<<16 | uint32(in[3])<<8 | uint32(in[4]), AckRequest: in[7]&1 != 0,
					DestinationQP: uint32(0x100 + lane), PartitionKey: 0xffff, BECN: in[7]&2 != 0,
				},
				RETH:    infiniband.RETH{DMALength: uint32(binary.BigEndian.Uint16(in[5:])) << (in[7] & 15)},
				AETH:    infiniband.AETH{Syndrome: infiniband.Syndrome(in[7]), MSN: uint32(in[5])},
				Payload: make([]byte, int(in[6])*int(in[5]&31)),
			}
			var err error
			if frame, err = b.AppendTo(frame[:0]); err != nil {
				continue
			}
			numbers++
			var p dissector.Packet
			err = dissector.Decode(frame, dissector.Meta{
				LinkType: dissector.LinkTypeEthernet, Number: numbers, HasTime: in[7] != 0xff, Time: now, OriginalLength: uint32(len(frame)),
			}, &p)
			c.Observe(lane, &finding.Sighting{Packet: &p, Err: err, ICRC: dissector.VerifyICRC(&p), Flow: uint64(lane + 1)})
		}
		var report finding.Connection
		c.Close(&report)
	})
}

// A long transfer takes no memory in steady state.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	c := judge.New(1, func(x *finding.Finding) {
		if x.Verdict == finding.Diverges {
			t.Errorf("%s: %s", x.Rule, x.Sentence)
		}
	})
	s := newStream(t)
	for range 4096 {
		s.next(c)
	}
	if n := testing.AllocsPerRun(4096, func() { s.next(c) }); n != 0 {
		t.Errorf("%v allocations for a WRITE and its ACK", n)
	}
}

// BenchmarkObserve prints what judging takes as a multiple of decoding the same packets with their ICRC.
func BenchmarkObserve(b *testing.B) {
	c := judge.New(1, func(*finding.Finding) {})
	s := newStream(b)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.next(nil)
		}
	})
	b.Run("decode-and-judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.next(c)
		}
	})
}

// stream is WRITEs of one packet and their ACKs.
type stream struct {
	frames [2][]byte
	packet dissector.Packet
	number uint64
	psn    uint32
}

func newStream(tb testing.TB) *stream {
	tb.Helper()
	s := &stream{}
	ends := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}
	for lane, opcode := range []infiniband.Opcode{infiniband.RCWriteOnly, infiniband.RCAcknowledge} {
		f := build.Frame{
			Source: ends[lane], Destination: ends[1-lane], SourcePort: 50000,
			BTH:  infiniband.BTH{Opcode: opcode, DestinationQP: uint32(0x100 + lane), PartitionKey: 0xffff, AckRequest: lane == 0},
			RETH: infiniband.RETH{DMALength: 1024}, AETH: infiniband.AETH{Syndrome: 0x1f},
		}
		if lane == 0 {
			f.Payload = make([]byte, 1024)
		}
		frame, err := f.AppendTo(nil)
		if err != nil {
			tb.Fatal(err)
		}
		s.frames[lane] = frame
	}
	return s
}

// next is one WRITE and its ACK. The ICRC was right before the PSN was put in, and is taken as such.
func (s *stream) next(c *judge.Connection) {
	const psn, msn = 14 + 20 + 8 + 8, 14 + 20 + 8 + 12
	s.psn = (s.psn + 1) & 0xffffff
	for lane, frame := range s.frames {
		s.number++
		binary.BigEndian.PutUint32(frame[psn:], binary.BigEndian.Uint32(frame[psn:])&0xff000000|s.psn)
		if lane == 1 {
			binary.BigEndian.PutUint32(frame[msn:], 0x1f000000|s.psn)
		}
		err := dissector.Decode(frame, dissector.Meta{
			LinkType: dissector.LinkTypeEthernet, Number: s.number, HasTime: true, Time: int64(s.number) * 1000, OriginalLength: uint32(len(frame)),
		}, &s.packet)
		_ = dissector.VerifyICRC(&s.packet)
		if c != nil {
			c.Observe(lane, &finding.Sighting{Packet: &s.packet, Err: err, ICRC: dissector.ICRCGood, Flow: uint64(lane + 1)})
		}
	}
}
