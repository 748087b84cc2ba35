package flow_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
)

// packetSize is how many bytes of fuzz input make a packet.
const packetSize = 12

// packetOf makes a packet of a few bytes: few hosts and QPs, so that packets meet, and any opcode.
func packetOf(b []byte, number uint64, now *int64) (dissector.Packet, error) {
	var p dissector.Packet
	host := b[0] & 3
	p.Protocol = dissector.ProtocolRoCEv2
	if b[0]&0x80 != 0 {
		p.Protocol = dissector.ProtocolRoCEv1
	}
	p.Network.Version = 4
	p.Network.Source[15], p.Network.Destination[15] = host, host^1
	p.Network.TTL = 64 - b[0]>>6&1
	p.Network.ID = uint16(b[1])
	p.Network.ECN = dissector.ECN(b[0] >> 4 & 3)
	p.UDP.SourcePort = uint16(b[2])
	opcode := infiniband.Opcode(b[3])
	if b[2]&0xc0 != 0 { // mostly what RC has
		opcode &= 0x1f
	}
	p.BTH = infiniband.BTH{Opcode: opcode, DestinationQP: uint32(b[4] & 3), AckRequest: b[4]&4 != 0}
	p.BTH.PSN = 0xffffe0 + uint32(b[5])
	if b[4]&0xf0 == 0xf0 {
		p.BTH.PSN = binary.BigEndian.Uint32(b[5:])
	}
	p.BTH.PSN &= 0xffffff
	p.Has, _ = opcode.Headers()
	p.Has |= infiniband.HasBTH
	p.RETH = infiniband.RETH{VirtualAddress: uint64(b[6]) << 8, DMALength: uint32(b[7]) << (b[8] & 31)}
	p.AETH = infiniband.AETH{Syndrome: infiniband.Syndrome(b[8]), MSN: uint32(b[9])}
	p.DETH.SourceQP = uint32(b[9] & 1)
	p.PayloadLength = uint16(b[10]) << 4
	*now += int64(int8(b[11])) << (b[10] & 31)
	p.Meta = dissector.Meta{Number: number, Time: *now, HasTime: b[11] != 0x7f, OriginalLength: uint32(b[10])<<4 + 60}
	switch b[6] {
	case 0xfd:
		p.Has = infiniband.HasBTH
		return p, dissector.ErrTruncated
	case 0xfe:
		return p, dissector.ErrMalformed
	case 0xff:
		p.Protocol, p.Has = dissector.ProtocolOther, 0
		return p, dissector.ErrNotRDMA
	}
	if _, known := opcode.Headers(); !known {
		return p, dissector.ErrUnsupported
	}
	return p, nil
}

// FuzzTracker feeds any packets in any order and holds the sums against each other.
func FuzzTracker(f *testing.F) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, packetSize*400)
		for i := range data {
			data[i] = byte(rng.Uint32())
			if seed%2 == 0 && i%packetSize == 5 { // mostly in order
				data[i] = byte(i / packetSize)
			}
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config := flow.DefaultConfig()
		config.MaxFlows = 8
		res := result{flags: map[uint64]flow.Flags{}}
		tracker := flow.NewTracker(config, func(r *flow.Record) { res.records = append(res.records, *r) })
		now := int64(1 << 60)
		for n := uint64(1); len(data) >= packetSize; n++ {
			p, err := packetOf(data, n, &now)
			data = data[packetSize:]
			o := tracker.Observe(&p, err, dissector.ICRCState(p.BTH.PSN&3))
			res.flags[n] = o.Flags
			for r := o.Revised; r.Number != 0; r, _ = tracker.Revised() {
				res.flags[r.Number] = r.Flags
			}
		}
		tracker.Flush()
		res.totals = tracker.Totals()
		checkSums(t, res)
		if res.totals.Connections > res.totals.Flows {
			t.Errorf("%d connections of %d flows", res.totals.Connections, res.totals.Flows)
		}
	})
}
