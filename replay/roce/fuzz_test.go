package roce

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

var fuzzPeer, fuzzOwn = netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.1")

// fuzzed is an endpoint with a QP that has work under way in all states, a QP that is being connected, and memory.
func fuzzed(t *testing.T, selective bool) (*Endpoint, *QP) {
	t.Helper()
	config := DefaultConfig()
	config.Address = fuzzOwn
	config.Memory = Regions{1: {Address: 4096, Bytes: make([]byte, 4096), Access: AccessRead | AccessWrite | AccessAtomic}}
	qc := DefaultQPConfig()
	qc.QPN, qc.RemoteQPN, qc.Remote, qc.MTU, qc.Window = 0x11, 0x22, fuzzPeer, 256, 64
	qc.SelectiveRepeat, qc.ReorderLimit, qc.Credits = selective, 8, selective
	next := uint32(0x100)
	config.Accept = func(*ConnectRequest) (QPConfig, mad.Reason) {
		c := qc
		c.QPN, next = next, next+1
		return c, 0
	}
	e, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	q, err := e.Open(qc)
	if err != nil {
		t.Fatal(err)
	}
	for op := range operationCount {
		if err := q.Post(WorkRequest{Operation: op, Data: make([]byte, 600), RemoteAddress: 4096}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := q.PostReceive(1, make([]byte, 700)); err != nil {
			t.Fatal(err)
		}
	}
	qc.QPN = 0x12
	if _, err := e.Connect(0, qc, 1<<24); err != nil {
		t.Fatal(err)
	}
	return e, q
}

// nearby makes a packet of bytes that reaches a QP: opcode, PSN, syndrome, addresses and lengths are the fuzzer's.
func nearby(b []byte) build.Frame {
	at := func(i int) uint64 {
		if i < len(b) {
			return uint64(b[i])
		}
		return 0
	}
	f := build.Frame{
		Source: fuzzPeer, Destination: fuzzOwn, SourcePort: 50000, ECN: dissector.ECN(at(1) >> 6),
		BTH: infiniband.BTH{
			Opcode: infiniband.Opcode(at(0)), PartitionKey: 0xffff, DestinationQP: 0x11, PSN: uint32(at(2)) - 8, AckRequest: at(1)&1 != 0,
		},
		RETH:         infiniband.RETH{VirtualAddress: 4096 + at(3), RemoteKey: uint32(at(4) & 1), DMALength: uint32(at(5) << (at(4) >> 3))},
		AtomicETH:    infiniband.AtomicETH{VirtualAddress: 4096 + at(3), RemoteKey: uint32(at(4) & 1)},
		AETH:         infiniband.AETH{Syndrome: infiniband.Syndrome(at(3)), MSN: uint32(at(4))},
		AtomicAckETH: infiniband.AtomicAckETH{OriginalData: at(5)},
		Payload:      make([]byte, (at(6)<<2|at(1)>>1)&0x1ff),
	}
	if f.BTH.Opcode == infiniband.UDSendOnly {
		f.BTH.DestinationQP, f.DETH.QueueKey, f.Payload = 1, infiniband.GSIQueueKey, nil
		h := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, AttributeID: 0x10 + uint16(at(2)&0xf)}
		f.Payload = append(h.AppendTo(nil), b[min(3, len(b)):]...)
		if at(1)&2 != 0 {
			f.Payload = append(f.Payload, make([]byte, max(0, mad.Length-len(f.Payload)))...)
		}
	}
	return f
}

// Whatever arrives: no panic, what is kept stays within its limits, and Poll comes to an end.
func FuzzHandle(f *testing.F) {
	for i := range 256 {
		op := byte(i)
		f.Add(false, []byte{1, 7, op, 1, 8, 0, 1, 0, 0})
		f.Add(true, []byte{1, 7, op, 1, 8, 0, 1, 0, 0, 0x11, 7, op, 1, 9, 0, 1, 0, 0, 1, 7, op, 0, 10, 60, 0, 3, 1})
	}
	f.Add(false, []byte{0, 200, 0x10, 0, 0x0c, 0, 0x10})
	f.Fuzz(func(t *testing.T, selective bool, script []byte) {
		e, q := fuzzed(t, selective)
		now := time.Millisecond
		var frame []byte
		for step := 0; len(script) > 2 && step < 200; step++ {
			mode, n := script[0], min(int(script[1]), len(script)-2)
			b := script[2 : 2+n]
			script = script[2+n:]
			now += time.Duration(mode>>4) * 700 * time.Microsecond
			if mode&1 != 0 {
				description := nearby(b)
				built, err := description.AppendTo(frame[:0])
				if err != nil {
					continue
				}
				frame = built
			} else {
				frame = append(frame[:0], b...)
			}
			e.Handle(now, &Datagram{Frame: frame})
			if mode&2 == 0 {
				drain(t, e, now)
			}
			checkLimits(t, e, q)
		}
		for range 50 { // timers, until there is none or for long enough
			drain(t, e, now)
			at := e.NextTimeout()
			if at == Never {
				break
			}
			now = max(now, at)
		}
	})
}

func drain(t *testing.T, e *Endpoint, now time.Duration) {
	t.Helper()
	var scratch [8192]byte
	for sent := 0; ; sent++ {
		if _, ok := e.Poll(now, scratch[:0]); !ok {
			break
		}
		if sent > 200_000 {
			t.Fatal("Poll comes to no end")
		}
	}
	if e.NextTimeout() <= now {
		t.Fatalf("deadline %v is not after %v", e.NextTimeout(), now)
	}
}

func checkLimits(t *testing.T, e *Endpoint, q *QP) {
	t.Helper()
	switch {
	case len(q.reorder) > 8:
		t.Fatalf("%d packets kept", len(q.reorder))
	case q.answering < 0 || q.answering > q.config.MaxDestReadAtomic:
		t.Fatalf("%d READs in work", q.answering)
	case q.una > q.next || q.next > q.tail || q.high > q.tail:
		t.Fatalf("sequence %d %d %d %d", q.una, q.next, q.high, q.tail)
	case q.cursor < 0 || q.cursor > q.messages.len() || q.reads < 0 || q.reads > q.config.MaxReadAtomic:
		t.Fatalf("cursor %d of %d, %d READs", q.cursor, q.messages.len(), q.reads)
	case q.atomics.len() > q.config.MaxDestReadAtomic:
		t.Fatalf("%d results of atomics", q.atomics.len())
	case len(e.manager.waiting) > len(e.manager.dialogues):
		t.Fatalf("%d dialogues wait", len(e.manager.waiting))
	}
}
