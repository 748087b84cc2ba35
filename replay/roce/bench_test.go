package roce_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/replay/roce"
)

// transfer is two endpoints joined without a network, which pass messages on from buffer to buffer.
type transfer struct {
	ends    [2]*roce.Endpoint
	qp      *roce.QP
	data    []byte
	scratch []byte
	now     time.Duration
	packets int
}

func newTransfer(tb testing.TB, size int) *transfer {
	tb.Helper()
	x := &transfer{data: make([]byte, size), scratch: make([]byte, 0, 9000)}
	addresses := [2]netip.Addr{ownAddress, peerAddress}
	for i := range x.ends {
		c, qc := roce.DefaultConfig(), roce.DefaultQPConfig()
		c.Address, c.Memory = addresses[i], roce.Regions{1: {Bytes: make([]byte, size), Access: roce.AccessWrite | roce.AccessRead}}
		qc.QPN, qc.RemoteQPN, qc.Remote, qc.MTU = uint32(16+i), uint32(17-i), addresses[1-i], 4096
		e, err := roce.New(c)
		if err != nil {
			tb.Fatal(err)
		}
		q, err := e.Open(qc)
		if err != nil {
			tb.Fatal(err)
		}
		x.ends[i] = e
		if i == 0 {
			x.qp = q
		}
	}
	return x
}

// message passes one message on, and everything that belongs to it.
func (x *transfer) message(tb testing.TB, op roce.Operation) {
	tb.Helper()
	if err := x.qp.Post(roce.WorkRequest{Operation: op, Data: x.data, RKey: 1}); err != nil {
		tb.Fatal(err)
	}
	var done roce.Completion
	for !x.ends[0].NextCompletion(&done) {
		x.now += time.Microsecond
		for i, e := range x.ends {
			for {
				d, ok := e.Poll(x.now, x.scratch)
				if !ok {
					break
				}
				x.packets++
				if v := x.ends[1-i].Handle(x.now, &d); v != roce.VerdictAccepted {
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
	for _, op := range []roce.Operation{roce.OperationWrite, roce.OperationRead} {
		for range 20 {
			x.message(t, op)
		}
		if n := testing.AllocsPerRun(20, func() { x.message(t, op) }); n > 0 {
			t.Errorf("%v: %v allocations a message of 256 packets", op, n)
		}
	}
}

func BenchmarkTransfer(b *testing.B) {
	for _, op := range []roce.Operation{roce.OperationWrite, roce.OperationRead} {
		b.Run(op.String(), func(b *testing.B) {
			x := newTransfer(b, 1<<20)
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				x.message(b, op)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(x.packets), "ns/packet")
		})
	}
}

// BenchmarkSmall is what small packets cost, without copying and checksums of payload: a WRITE of no bytes, its ACK.
func BenchmarkSmall(b *testing.B) {
	x := newTransfer(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		x.message(b, roce.OperationWrite)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(x.packets), "ns/packet")
}
