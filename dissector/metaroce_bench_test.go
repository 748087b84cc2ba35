package dissector_test

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// metaFrame is a frame around a packet of the profile mr0.
func metaFrame(p mr0.Packet, payload int) build.Frame {
	f := dataFrame(infiniband.RCSendOnly, payload)
	f.MetaRoCE = &p
	return f
}

func metaWrite() mr0.Packet {
	return mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeWrite, Flags: mr0.FlagAR, DestConnID: 0x1234, PathID: 3, PartitionKey: 0xffff, PSN: 77},
		DH:   mr0.DH{Timestamp: 99, StreamID: 2, MSN: 5, MessageOffset: 4096, MessageLength: 1 << 20},
		WETH: mr0.WETH{VirtualAddress: 0x7f0012346678, RKey: 0x55},
	}
}

func metaACK() mr0.Packet {
	p := mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeACK, DestConnID: 0x4321, PathID: 3, PartitionKey: 0xffff, PSN: 6},
		ACKH: mr0.ACKH{CumulativePSN: 70, EchoTimestamp: 99, ACKDelay: 5, RateHint: mr0.ACKHRateHintNoLimit, CECount: 1, PacketCount: 90, Trigger: mr0.ACKTriggerGap},
	}
	for _, i := range []int{0, 1, 6, 7, 100, 255} {
		p.ACKH.SACK.Set(i)
	}
	return p
}

// ring lays copies of a frame one behind the other, as captures do, so that how one of them lies in memory is not what
// is measured.
func ring(data []byte, copies int) [][]byte {
	const between = 16 // header of a record
	all := make([]byte, copies*(len(data)+between))
	frames := make([][]byte, copies)
	for i := range frames {
		at := i * (len(data) + between)
		frames[i] = all[at : at+len(data) : at+len(data)]
		copy(frames[i], data)
	}
	return frames
}

// BenchmarkMetaRoCEDecode measures packets of the profile mr0 against RoCEv2 WRITEs, block by block in the same
// run, and reports how many times as long they take: at most 1.2 for a WRITE, 1.5 for an ACK with its vector. The
// quickest block of each counts: what else the machine does only makes blocks slower.
func BenchmarkMetaRoCEDecode(b *testing.B) {
	const block, payload = 256, 4096
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: 1, HasTime: true}
	frames := func(f build.Frame) [][]byte { return ring(mustBuild(b, f), block) }
	writeFirst, writeMiddle := frames(dataFrame(infiniband.RCWriteFirst, payload)), frames(dataFrame(infiniband.RCWriteMiddle, payload))
	for _, s := range []struct {
		name   string
		frames [][]byte
	}{
		{"WRITE", frames(metaFrame(metaWrite(), payload))},
		{"ACK", frames(metaFrame(metaACK(), 0))},
	} {
		b.Run(s.name, func(b *testing.B) {
			var p dissector.Packet
			const first, middle, this = 0, 1, 2
			quickest := [...]time.Duration{time.Hour, time.Hour, time.Hour}
			measure := func(which int, frames [][]byte) {
				start := time.Now()
				for _, data := range frames {
					if err := dissector.Decode(data, meta, &p); err != nil {
						b.Fatal(err)
					}
				}
				quickest[which] = min(quickest[which], time.Since(start))
			}
			b.ReportAllocs()
			for b.Loop() {
				measure(first, writeFirst)
				measure(middle, writeMiddle)
				measure(this, s.frames)
			}
			b.ReportMetric(float64(quickest[this])/block, "ns/packet")
			b.ReportMetric(float64(quickest[this])/float64(quickest[first]), "x-WRITE-First")
			b.ReportMetric(float64(quickest[this])/float64(quickest[middle]), "x-WRITE-Middle")
		})
	}
}
