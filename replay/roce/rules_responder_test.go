package roce_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/roce"
)

// What a responder does with requests, and answers.
func TestResponderRules(t *testing.T) {
	const (
		invalid = "ACK 200 msn 0, NAK, invalid request"
		access  = "ACK 200 msn 0, NAK, remote access error"
	)
	refuses := func(packet func(*script) roce.Verdict, nak string) func(*script) {
		return func(s *script) {
			s.receive(256)
			s.verdict(packet(s), roce.VerdictRefused)
			s.expect(nak)
			if s.q.State() != roce.StateError {
				s.t.Error("the QP goes on")
			}
			s.verdict(s.request(infiniband.RCWriteOnly, 200, 1, 1), roce.VerdictIgnored)
			s.expect()
		}
	}
	only := func(opcode infiniband.Opcode, payload, total int) func(*script) roce.Verdict {
		return func(s *script) roce.Verdict { return s.request(opcode, 200, payload, total) }
	}
	proveRules(t, []rule{
		{"9.7.5.1", "what asks for an ACK is answered, with the count of messages", nil, func(s *script) {
			s.receive(300)
			s.request(infiniband.RCSendFirst, 200, 256, 0)
			s.expect()
			s.request(infiniband.RCSendLast, 201, 44, 0)
			s.expect("ACK 201 msn 1")
			s.request(infiniband.RCWriteOnly, 202, 5, 5)
			s.expect("ACK 202 msn 2")
			s.expectDone("received SEND 1 of 300 bytes")
		}},
		{"9.7.5.1", "one ACK answers all that came before it was sent", nil, func(s *script) {
			for i := range uint32(5) {
				s.request(infiniband.RCWriteOnly, 200+i, 5, 5)
			}
			s.expect("ACK 204 msn 5")
		}},
		{"9.7.5.1", "ACKs may wait for more, but not long", func(_ *roce.Config, q *roce.QPConfig) {
			q.AckCoalescing, q.AckDelay = 3, 10*time.Microsecond
		}, func(s *script) {
			s.request(infiniband.RCWriteOnly, 200, 5, 5)
			s.request(infiniband.RCWriteOnly, 201, 5, 5)
			s.expect()
			s.request(infiniband.RCWriteOnly, 202, 5, 5)
			s.expect("ACK 202 msn 3")
			s.request(infiniband.RCWriteOnly, 203, 5, 5)
			s.expect()
			if d := s.wait(long); d != 10*time.Microsecond {
				s.t.Errorf("waited %v", d)
			}
			s.expect("ACK 203 msn 4")
		}},
		{"9.7.5.2.3", "a gap is answered by one NAK, whatever follows, and again when there is a new one", nil, func(s *script) {
			s.request(infiniband.RCWriteOnly, 200, 5, 5)
			s.sent()
			for i := range uint32(3) {
				s.verdict(s.request(infiniband.RCWriteOnly, 202+i, 5, 5), roce.VerdictOutOfOrder)
			}
			s.expect("ACK 201 msn 1, NAK, PSN sequence error")
			s.request(infiniband.RCWriteOnly, 201, 5, 5)
			s.expect("ACK 201 msn 2")
			s.request(infiniband.RCWriteOnly, 203, 5, 5)
			s.expect("ACK 202 msn 2, NAK, PSN sequence error")
		}},
		{"9.7.2", "the expected PSN wraps at 24 bits", func(_ *roce.Config, q *roce.QPConfig) { q.ReceivePSN = 1<<24 - 1 }, func(s *script) {
			s.request(infiniband.RCWriteFirst, 1<<24-1, 256, 300)
			s.request(infiniband.RCWriteLast, 0, 44, 0)
			s.expect("ACK 0 msn 1")
			s.verdict(s.request(infiniband.RCWriteOnly, 1<<24-1, 5, 5), roce.VerdictDuplicate)
		}},
		{"9.7.5.1.2", "a SEND or WRITE that comes again is acknowledged, not executed", nil, func(s *script) {
			s.receive(10, 10)
			s.request(infiniband.RCSendOnly, 200, 5, 0)
			s.request(infiniband.RCWriteOnly, 201, 5, 5)
			s.sent()
			s.done()
			s.verdict(s.request(infiniband.RCSendOnly, 200, 5, 0), roce.VerdictDuplicate)
			s.expect("ACK 201 msn 2")
			s.expectDone()
		}},
		{"9.7.5.1.4", "a READ is answered by its bytes in packets of the path MTU", nil, func(s *script) {
			s.read(200, keyReadOnly, 16, 600)
			s.read(203, keyAll, 0, 256)
			s.read(204, 99, 0, 0) // no bytes: no key either
			s.expect("RDMA READ Response First 200 256B msn 1", "RDMA READ Response Middle 201 256B", "RDMA READ Response Last 202 88B msn 1",
				"RDMA READ Response Only 203 256B msn 2", "RDMA READ Response Only 204 0B msn 3")
		}},
		{"9.7.5.1.4", "a READ that comes again is answered from the PSN that it asks for", nil, func(s *script) {
			s.read(200, keyAll, 0, 1000)
			s.sent()
			s.verdict(s.read(202, keyAll, 512, 488), roce.VerdictDuplicate)
			s.expect("RDMA READ Response First 202 256B msn 1", "RDMA READ Response Last 203 232B msn 1")
		}},
		{"9.7.5.1", "answers leave in the order of their requests", nil, func(s *script) {
			s.read(200, keyAll, 0, 300)
			s.request(infiniband.RCWriteOnly, 202, 5, 5)
			s.fetchAdd(203, 8, 1)
			s.request(infiniband.RCWriteOnly, 205, 5, 5)
			s.expect("RDMA READ Response First 200 256B msn 1", "RDMA READ Response Last 201 44B msn 1", "ACK 202 msn 2",
				"Atomic ACK 203 msn 3", "ACK 204 msn 3, NAK, PSN sequence error")
		}},
		{"9.7.5.1.5", "an atomic that comes again is answered from memory, not executed", nil, func(s *script) {
			clear(s.memory[keyAll].Bytes)
			s.fetchAdd(200, 8, 5)
			s.fetchAdd(201, 8, 5)
			s.sent()
			s.verdict(s.fetchAdd(200, 8, 5), roce.VerdictDuplicate)
			d, _ := s.e.Poll(s.now, nil)
			var p dissector.Packet
			if err := dissector.Decode(d.Frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
				s.t.Fatal(err)
			}
			if p.BTH.PSN != 200 || p.AtomicAckETH.OriginalData != 0 {
				s.t.Errorf("answer is PSN %d with %d", p.BTH.PSN, p.AtomicAckETH.OriginalData)
			}
			if bytes.Count(s.memory[keyAll].Bytes, []byte{10}) != 1 {
				s.t.Error("the counter is not 10")
			}
		}},
		{"9.4.5", "compare and swap swaps only what is equal", nil, func(s *script) {
			clear(s.memory[keyAll].Bytes)
			for i, compare := range []uint64{1, 0} {
				f := frame(infiniband.RCCompareSwap, 200+uint32(i), 0)
				f.AtomicETH = infiniband.AtomicETH{VirtualAddress: 8, RemoteKey: keyAll, SwapOrAdd: 0x0101010101010101, Compare: compare}
				s.handle(f)
				if got := bytes.Count(s.memory[keyAll].Bytes, []byte{1}); got != 8*i {
					s.t.Errorf("step %d: %d bytes swapped", i, got)
				}
			}
		}},
		{"9.7.5.2.8", "a SEND without a receive buffer is answered by an RNR NAK, and what follows by nothing", func(_ *roce.Config, q *roce.QPConfig) {
			q.MinRNRTimer = 14
		}, func(s *script) {
			s.verdict(s.request(infiniband.RCSendOnly, 200, 5, 0), roce.VerdictRefused)
			s.verdict(s.request(infiniband.RCWriteOnly, 201, 5, 5), roce.VerdictOutOfOrder)
			s.expect("ACK 200 msn 0, RNR NAK, timer 1.28 ms")
			s.receive(5)
			s.request(infiniband.RCSendOnly, 200, 5, 0)
			s.expect("ACK 200 msn 1")
		}},
		{"9.7.5.2.8", "a WRITE with immediate needs a buffer at its end, a WRITE none", nil, func(s *script) {
			s.request(infiniband.RCWriteFirst, 200, 256, 300)
			s.expect()
			s.verdict(s.request(infiniband.RCWriteLastImmediate, 201, 44, 0), roce.VerdictRefused)
			s.expect("ACK 201 msn 0, RNR NAK, timer 0.64 ms")
			s.receive(0)
			s.request(infiniband.RCWriteLastImmediate, 201, 44, 0)
			s.expect("ACK 201 msn 1")
			s.expectDone("received RDMA WRITE with immediate 1 of 300 bytes")
		}},
		{"9.7.7.2", "ACKs carry the code for the receive buffers, rounded down, and new ones are announced", func(_ *roce.Config, q *roce.QPConfig) {
			q.Credits = true
		}, func(s *script) {
			s.receive(1, 1, 1, 1, 1, 1)
			s.request(infiniband.RCSendOnly, 200, 1, 0)
			s.expect("ACK 200 msn 1, ACK, credit count 4 (4 credits)")
			for i := range uint32(5) {
				s.request(infiniband.RCSendOnly, 201+i, 1, 0)
			}
			s.expect("ACK 205 msn 6, ACK, credit count 0 (0 credits)")
			s.receive(1)
			s.expect("ACK 205 msn 6, ACK, credit count 1 (1 credits)")
		}},
		{"9.7.4.1", "a MIDDLE without a FIRST is invalid", nil, refuses(only(infiniband.RCSendMiddle, 256, 0), invalid)},
		{"9.7.4.1", "a FIRST within a message is invalid", nil, func(s *script) {
			s.receive(1000)
			s.request(infiniband.RCSendFirst, 200, 256, 0)
			s.verdict(s.request(infiniband.RCSendOnly, 201, 1, 0), roce.VerdictRefused)
			s.expect("ACK 201 msn 0, NAK, invalid request")
			s.expectDone("received SEND 1 of 0 bytes: work request flushed")
		}},
		{"9.7.4.1", "the LAST of another operation is invalid", nil, func(s *script) {
			s.receive(1000)
			s.request(infiniband.RCSendFirst, 200, 256, 0)
			s.verdict(s.request(infiniband.RCWriteLast, 201, 1, 0), roce.VerdictRefused)
			s.expect("ACK 201 msn 0, NAK, invalid request")
		}},
		{"9.7.4.1", "a FIRST shorter than the path MTU is invalid", nil, refuses(only(infiniband.RCSendFirst, 252, 0), invalid)},
		{"9.7.4.1", "an ONLY longer than the path MTU is invalid", nil, refuses(only(infiniband.RCWriteOnly, 260, 260), invalid)},
		{"9.7.4.1", "a WRITE longer than its RETH says is invalid", nil, refuses(only(infiniband.RCWriteOnly, 8, 4), invalid)},
		{"9.7.4.1", "a WRITE shorter than its RETH says is invalid", nil, refuses(only(infiniband.RCWriteOnly, 4, 8), invalid)},
		{"9.7.4.1", "a LAST without bytes is invalid", nil, func(s *script) {
			s.receive(1000)
			s.request(infiniband.RCSendFirst, 200, 256, 0)
			s.verdict(s.request(infiniband.RCSendLast, 201, 0, 0), roce.VerdictRefused)
		}},
		{"9.7.4.1", "a SEND longer than the buffer is invalid", nil, func(s *script) {
			s.receive(4)
			s.verdict(s.request(infiniband.RCSendOnly, 200, 5, 0), roce.VerdictRefused)
			s.expect(invalid)
		}},
		{"9.4.3", "a WRITE of more than 2^31 bytes is invalid", nil, refuses(only(infiniband.RCWriteFirst, 256, 1<<31+1), invalid)},
		{"9.7.4.1.5", "a WRITE beyond memory is refused", nil, refuses(only(infiniband.RCWriteFirst, 256, 4097), access)},
		{"9.7.4.1.5", "a key that does not grant the access is refused", nil, refuses(func(s *script) roce.Verdict {
			f := frame(infiniband.RCWriteOnly, 200, 4)
			f.RETH = infiniband.RETH{RemoteKey: keyReadOnly, DMALength: 4}
			return s.handle(f)
		}, access)},
		{"9.7.4.1.5", "a READ with an unknown key is refused", nil, refuses(func(s *script) roce.Verdict { return s.read(200, 99, 0, 4) }, access)},
		{"9.7.5.2", "memory that fails is an operational error", nil, refuses(func(s *script) roce.Verdict { return s.read(200, keyBroken, 0, 4) },
			"ACK 200 msn 0, NAK, remote operational error")},
		{"9.4.5", "an atomic at an address that is no multiple of 8 is invalid", nil, refuses(func(s *script) roce.Verdict { return s.fetchAdd(200, 12, 1) }, invalid)},
		{"9.7.4.1", "FLUSH, which is not offered, is invalid", nil, refuses(func(s *script) roce.Verdict {
			return s.handle(frame(infiniband.RCFlush, 200, 0))
		}, invalid)},
		{"9.4.4", "more READs at a time than there are resources are invalid", func(_ *roce.Config, q *roce.QPConfig) { q.MaxDestReadAtomic = 1 }, func(s *script) {
			s.read(200, keyAll, 0, 1000)
			s.verdict(s.read(204, keyAll, 0, 1), roce.VerdictRefused)
			s.expect("RDMA READ Response First 200 256B msn 1", "RDMA READ Response Middle 201 256B", "RDMA READ Response Middle 202 256B",
				"RDMA READ Response Last 203 232B msn 1", "ACK 204 msn 1, NAK, invalid request")
		}},
	})
}

// What never reaches a queue pair.
func TestPacketsThatAreDropped(t *testing.T) {
	good := frame(infiniband.RCWriteOnly, 200, 0)
	for _, c := range []struct {
		name string
		edit func(*build.Frame)
		want roce.Verdict
	}{
		{"as it should be", func(*build.Frame) {}, roce.VerdictAccepted},
		{"a wrong ICRC", func(f *build.Frame) { f.ICRCFlip = 1 }, roce.VerdictICRC},
		{"another QP", func(f *build.Frame) { f.BTH.DestinationQP++ }, roce.VerdictUnknown},
		{"another peer", func(f *build.Frame) { f.Source = f.Source.Next() }, roce.VerdictUnknown},
		{"another host", func(f *build.Frame) { f.Destination = f.Source.Next() }, roce.VerdictUnknown},
		{"another partition", func(f *build.Frame) { f.BTH.PartitionKey = 0x8001 }, roce.VerdictPartition},
		{"limited members meet", func(f *build.Frame) { f.BTH.PartitionKey = 0x7fff }, roce.VerdictAccepted},
		{"another transport version", func(f *build.Frame) { f.BTH.TransportVersion = 1 }, roce.VerdictMalformed},
		{"an opcode that is reserved", func(f *build.Frame) { f.BTH.Opcode = 0x18 }, roce.VerdictMalformed},
		{"another service", func(f *build.Frame) { f.BTH.Opcode = infiniband.UCWriteOnly }, roce.VerdictMalformed},
		{"RoCEv1", func(f *build.Frame) { f.RoCEv1 = true }, roce.VerdictNotRoCE},
		{"another port", func(f *build.Frame) { f.DestinationPort = 53 }, roce.VerdictNotRoCE},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, nil)
			f := good
			c.edit(&f)
			s.verdict(s.handle(f), c.want)
			if s.e.Count(c.want) != 1 {
				t.Error("not counted")
			}
		})
	}
}
