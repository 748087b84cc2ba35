package judge_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/judge"
)

// Whatever passes, a connection takes no more memory than replay.Config says: nothing is ever acknowledged, PSNs leap, READs
// ask for gigabytes and NAKs refuse what nobody sent.
func TestAConnectionKeepsToItsMemory(t *testing.T) {
	const most = 600 << 10
	random := rand.New(rand.NewPCG(1, 2))
	opcodes := []infiniband.Opcode{infiniband.RCWriteFirst, infiniband.RCWriteMiddle, infiniband.RCSendOnly, infiniband.RCReadRequest, infiniband.RCReadResponseMiddle, infiniband.RCAcknowledge}
	ends := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}
	for _, leap := range []uint32{1, 3, 1 << 12, 1 << 24} {
		c := judge.New(1, func(*finding.Finding) {})
		var frame []byte
		var p dissector.Packet
		greatest, psn := 0, uint32(0)
		for number := range uint64(40_000) {
			opcode := opcodes[random.IntN(len(opcodes))]
			lane := 0
			if opcode.IsAck() || opcode.IsResponse() {
				lane = 1
			}
			psn = (psn + random.Uint32N(leap) + 1) & 0xffffff
			b := build.Frame{
				Source: ends[lane], Destination: ends[1-lane], SourcePort: 50000, ID: uint16(number),
				BTH:     infiniband.BTH{Opcode: opcode, PSN: psn, DestinationQP: uint32(0x100 + lane), PartitionKey: 0xffff},
				RETH:    infiniband.RETH{DMALength: random.Uint32()},
				AETH:    infiniband.AETH{Syndrome: 0x60, MSN: random.Uint32N(1 << 24)},
				Payload: make([]byte, 256),
			}
			var err error
			if frame, err = b.AppendTo(frame[:0]); err != nil {
				t.Fatal(err)
			}
			err = dissector.Decode(frame, dissector.Meta{
				LinkType: dissector.LinkTypeEthernet, Number: number + 1, HasTime: true, Time: int64(number) * 1000, OriginalLength: uint32(len(frame)),
			}, &p)
			c.Observe(lane, &finding.Sighting{Packet: &p, Err: err, ICRC: dissector.ICRCGood, Flow: uint64(lane + 1)})
			greatest = max(greatest, c.Footprint())
		}
		t.Logf("leaps of up to %d: %d bytes", leap, greatest)
		if greatest > most {
			t.Errorf("leaps of up to %d: %d bytes, expected at most %d", leap, greatest, most)
		}
	}
}
