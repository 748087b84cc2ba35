package judge

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// script makes packets of bytes: 16 of them a packet, with numbers that lie close enough to each other to mean something.
type script struct {
	data   []byte
	number uint64
	time   int64
	packet dissector.Packet
}

func (s *script) next() (lane int, sighting finding.Sighting, ok bool) {
	if len(s.data) < 16 {
		return 0, sighting, false
	}
	b := s.data[:16]
	s.data = s.data[16:]
	near := func(i int) uint32 {
		v := int32(int8(b[i]))
		if v == -128 {
			v = int32(binary.BigEndian.Uint32(b[8:])) // anywhere
		}
		return uint32(v)
	}
	m := mr0.Packet{CH: mr0.CH{
		Type: mr0.Type(b[0] & 0xf), Flags: mr0.Flags(b[1]) &^ (mr0.FlagFirst | mr0.FlagLast | mr0.FlagIMM), DestConnID: uint32(b[2] & 3),
		PathID: b[3] & 0x8f, PSN: near(4), PartitionKey: 0xffff,
	}}
	if m.CH.Type > mr0.TypeNAK {
		m.CH.Type = mr0.TypeACK
	}
	payload := make([]byte, int(b[5])*4)
	if !m.CH.Type.BearsPayload() {
		payload = nil
	}
	m.DH = mr0.DH{Timestamp: near(6) * 1000, StreamID: uint16(b[7] & 7), MSN: near(8), MessageOffset: uint32(b[9]&7) * 256, MessageLength: uint32(b[10]) * 64}
	end := m.DH.MessageOffset + uint32(len(payload))
	m.DH.MessageLength = max(m.DH.MessageLength, end)
	if m.DH.MessageOffset == 0 {
		m.CH.Flags |= mr0.FlagFirst
	}
	if end == m.DH.MessageLength {
		m.CH.Flags |= mr0.FlagLast
	}
	m.CONN = mr0.CONN{
		SourceConnID: uint32(b[11] & 3), PathCount: 1 + b[12]&0x7f, PlaneCount: 1, MTU: 256 << (b[13] & 3), InitialPSN: near(4),
		StreamCount: uint16(b[12] & 7), MaxWindow: uint16(b[13]), Nonce: uint64(b[14] & 1), LinkRate: uint32(b[15]),
	}
	m.REJ.Nonce, m.DISC.SourceConnID = m.CONN.Nonce, m.CONN.SourceConnID
	m.WETH = mr0.WETH{VirtualAddress: uint64(near(11)), RKey: 1}
	m.SETH.ReceiveIndex, m.RRETH.ReadID, m.RSETH.ReadID = near(11), near(11), near(11)
	m.ACKH = mr0.ACKH{
		CumulativePSN: near(9), EchoTimestamp: near(6) * 1000, ACKDelay: uint32(b[10]) * 1000, RateHint: uint32(b[11]) * 100, CECount: uint32(b[12]),
		PacketCount: uint32(b[13]), Trigger: mr0.ACKTrigger(b[14] & 15),
	}
	copy(m.ACKH.SACK[:], b[9:16])
	m.NAKH = mr0.NAKH{Reason: mr0.NAKReason(b[10] & 7), StreamID: uint16(b[7] & 7), MSN: near(8), RefusedPSN: near(9), RetryAfter: uint32(b[12]) * 1000}
	from, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	lane = int(b[15] >> 7)
	if lane == 1 {
		from, to = to, from
	}
	s.number++
	s.time += int64(int8(b[15]<<1)) * 10_000
	frame := build.Frame{Source: from, Destination: to, SourcePort: 50000 + uint16(b[2]>>4), ECN: dissector.ECN(b[1] & 3), MetaRoCE: &m, Payload: payload}
	data, err := frame.AppendTo(nil)
	if err != nil {
		return lane, sighting, true
	}
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: s.number, HasTime: b[15]&0x40 == 0, Time: s.time, OriginalLength: uint32(len(data))}
	cut := len(data)
	if b[2]&0xc == 0xc {
		cut -= int(b[3]) % (cut / 2)
	}
	err = dissector.Decode(data[:cut], meta, &s.packet)
	return lane, finding.Sighting{Packet: &s.packet, Err: err, ICRC: dissector.ICRCState(b[14] >> 6), Copy: b[14]&0x30 == 0x30}, true
}

// Whatever passes: no panic, bounded memory, a bounded number of findings, and each names its packets.
func FuzzObserve(f *testing.F) {
	f.Add([]byte{})
	seed := make([]byte, 16*64)
	for i := range seed {
		seed[i] = byte(i * 7)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		n := map[finding.Rule]int{}
		c := New(7, mr0.DefaultParameters(), func(g *finding.Finding) {
			n[g.Rule]++
			if g.Connection != 7 || g.Sentence == "" || g.Expected == "" || g.Seen == "" || g.Verdict == finding.Conforms {
				t.Fatalf("incomplete finding %+v", g)
			}
		})
		s := script{data: data}
		for {
			lane, sighting, ok := s.next()
			if !ok {
				break
			}
			if sighting.Packet == nil {
				continue
			}
			if s.number == 20 {
				c.Join()
			}
			c.Observe(lane, &sighting)
		}
		var report finding.Connection
		c.Close(&report)
		for r, count := range n {
			if count > maxFull {
				t.Fatalf("%d findings of %s", count, r)
			}
		}
		for i := range c.lanes {
			l := &c.lanes[i]
			if len(l.paths) > maxPaths || len(l.streams.all) > streamCount || len(l.messages.sets) > messageSets {
				t.Fatal("a table grew out of its bounds")
			}
			for _, p := range l.paths {
				if p != nil && len(p.slots) > mostSlots {
					t.Fatal("slots grew out of their bounds")
				}
			}
		}
	})
}
