package metaroce_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// transfer is two endpoints joined without a network, which pass WRITEs on from buffer to buffer.
type transfer struct {
	ends    [2]*metaroce.Endpoint
	stream  *metaroce.Stream
	data    []byte
	scratch []byte
	now     time.Duration
	packets int
}

func newTransfer(tb testing.TB, size int) *transfer {
	tb.Helper()
	x := &transfer{data: make([]byte, size), scratch: make([]byte, 0, 9000)}
	var connections [2]*metaroce.Connection
	addresses := [2]netip.Addr{addressA, addressB}
	for i := range x.ends {
		config := metaroce.DefaultConfig()
		config.Planes = []netip.Addr{addresses[i]}
		config.Random = rand.NewPCG(1, uint64(i))
		config.Memory = metaroce.Regions{1: {Bytes: make([]byte, size), Access: metaroce.AccessWrite}}
		config.LinkRate = 1_000_000
		e, err := metaroce.New(config)
		if err != nil {
			tb.Fatal(err)
		}
		x.ends[i] = e
	}
	say := func(i int) mr0.CONN {
		return mr0.CONN{SourceConnID: uint32(1 + i), PathCount: 8, PlaneCount: 1, MTU: 4096, StreamCount: 4, MaxWindow: 256}
	}
	for i := range x.ends {
		c, err := x.ends[i].Resume(say(i), say(1-i), addresses[1-i])
		if err != nil {
			tb.Fatal(err)
		}
		connections[i] = c
	}
	var err error
	if x.stream, err = connections[0].Stream(0); err != nil {
		tb.Fatal(err)
	}
	return x
}

// message passes one message on, and everything that belongs to it.
func (x *transfer) message(tb testing.TB) {
	tb.Helper()
	if err := x.stream.Post(metaroce.WorkRequest{Data: x.data, RKey: 1}); err != nil {
		tb.Fatal(err)
	}
	var done metaroce.Completion
	for !x.ends[0].NextCompletion(&done) {
		x.now += time.Microsecond
		for i, e := range x.ends {
			for {
				d, ok := e.Poll(x.now, x.scratch)
				if !ok {
					break
				}
				x.packets++
				if v := x.ends[1-i].Handle(x.now, &d); v > metaroce.VerdictLate {
					tb.Fatal(v)
				}
			}
		}
	}
	if done.Err != nil {
		tb.Fatal(done.Err)
	}
}

// The data path allocates nothing once its buffers have grown.
func TestDataPathAllocatesNothing(t *testing.T) {
	x := newTransfer(t, 1<<20)
	for range 20 {
		x.message(t)
	}
	if n := testing.AllocsPerRun(20, func() { x.message(t) }); n > 0 {
		t.Errorf("%v allocations a message of 256 packets", n)
	}
}

func BenchmarkTransfer(b *testing.B) {
	x := newTransfer(b, 1<<20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	x.packets = 0
	for b.Loop() {
		x.message(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(x.packets), "ns/packet")
}
