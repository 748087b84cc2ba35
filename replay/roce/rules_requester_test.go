package roce_test

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/roce"
)

// What a requester sends, and what it makes of answers.
func TestRequesterRules(t *testing.T) {
	proveRules(t, []rule{
		{"9.7.3", "messages are cut at the path MTU, the last packet asks for an ACK", nil, func(s *script) {
			s.post(send(600), write(256), write(0), send(512))
			s.expect("SEND First 100 256B", "SEND Middle 101 256B", "SEND Last 102 88B ack?",
				"RDMA WRITE Only 103 256B at 4096+256 ack?", "RDMA WRITE Only 104 0B at 4096+0 ack?",
				"SEND First 105 256B", "SEND Last 106 256B ack?")
		}},
		{"9.4", "immediate data and keys stand in the last packet", nil, func(s *script) {
			s.post(
				roce.WorkRequest{Operation: roce.OperationSendImmediate, Data: make([]byte, 300)},
				roce.WorkRequest{Operation: roce.OperationSendInvalidate, Data: make([]byte, 300)},
				roce.WorkRequest{Operation: roce.OperationWriteImmediate, Data: make([]byte, 3)})
			s.expect("SEND First 100 256B", "SEND Last with Immediate 101 44B ack?",
				"SEND First 102 256B", "SEND Last with Invalidate 103 44B ack?",
				"RDMA WRITE Only with Immediate 104 3B at 0+3 ack?")
		}},
		{"9.7.3.1", "a READ takes one PSN for each packet of its answer", nil, func(s *script) {
			s.post(read(600), read(0), write(1))
			s.expect("RDMA READ Request 100 at 4096+600 ack?", "RDMA READ Request 103 at 4096+0 ack?",
				"RDMA WRITE Only 104 1B at 4096+1 ack?")
		}},
		{"9.7.2", "PSNs wrap at 24 bits", func(_ *roce.Config, q *roce.QPConfig) { q.SendPSN = 1<<24 - 1 }, func(s *script) {
			s.post(send(600))
			s.expect("SEND First 16777215 256B", "SEND Middle 0 256B", "SEND Last 1 88B ack?")
			s.verdict(s.answer(1, unlimited, 1), roce.VerdictAccepted)
			s.expectDone("SEND 0")
		}},
		{"9.7.5.1.1", "an ACK covers all before it", nil, func(s *script) {
			s.post(write(1), send(1), write(300))
			s.sent()
			s.answer(102, unlimited, 2)
			s.expectDone("RDMA WRITE 0", "SEND 0")
			s.answer(103, unlimited, 3)
			s.expectDone("RDMA WRITE 0")
			s.expect()
		}},
		{"9.7.5.1.1", "an ACK for what was never sent is ignored", nil, func(s *script) {
			s.post(write(1))
			s.sent()
			s.verdict(s.answer(101, unlimited, 2), roce.VerdictInvalid)
			s.expectDone()
		}},
		{"9.7.5.1.1", "an ACK that comes late changes nothing", nil, func(s *script) {
			s.post(write(1), write(1), write(1))
			s.sent()
			s.answer(101, unlimited, 2)
			s.done()
			s.verdict(s.answer(100, unlimited, 1), roce.VerdictStale)
			s.expectDone()
		}},
		{"9.7.6.1.2", "a NAK for a gap acknowledges what is before it, and the rest is sent again", nil, func(s *script) {
			s.post(write(1), write(1), send(1), write(1))
			s.sent()
			s.answer(102, nakBase, 2)
			s.expectDone("RDMA WRITE 0", "RDMA WRITE 0")
			s.expect("SEND Only 102 1B ack?", "RDMA WRITE Only 103 1B at 4096+1 ack?")
		}},
		{"9.7.6.1.2", "going back into a message begins with the packet that is missing", nil, func(s *script) {
			s.post(write(1000))
			s.sent()
			s.answer(102, nakBase, 0)
			s.expect("RDMA WRITE Middle 102 256B", "RDMA WRITE Last 103 232B ack?")
		}},
		{"9.7.6.1.2", "a NAK that comes late changes nothing", nil, func(s *script) {
			s.post(write(1), write(1))
			s.sent()
			s.answer(101, unlimited, 2)
			s.verdict(s.answer(100, nakBase, 0), roce.VerdictStale)
			s.expect()
		}},
		{"9.7.6.1.3", "without an answer all is sent again after the timeout, and the connection ends when retries do", func(_ *roce.Config, q *roce.QPConfig) {
			q.Timeout, q.RetryCount = 10, 2
		}, func(s *script) {
			s.post(write(1), write(2))
			s.sent()
			for range 2 {
				if d := s.wait(long); d != 4096*1024*time.Nanosecond {
					s.t.Fatalf("waited %v", d)
				}
				s.expect("RDMA WRITE Only 100 1B at 4096+1 ack?", "RDMA WRITE Only 101 2B at 4096+2 ack?")
			}
			s.wait(long)
			s.expect()
			s.expectDone("RDMA WRITE 0: transport retry counter exceeded", "RDMA WRITE 0: work request flushed")
			if err := s.q.Post(write(1)); err == nil {
				s.t.Error("a QP in error takes work")
			}
		}},
		{"9.7.6.1.3", "progress gives all retries back", func(_ *roce.Config, q *roce.QPConfig) { q.RetryCount = 1 }, func(s *script) {
			s.post(write(1), write(2))
			s.sent()
			s.wait(long)
			s.sent()
			s.answer(100, unlimited, 1)
			s.expect()
			s.wait(long)
			s.expect("RDMA WRITE Only 101 2B at 4096+2 ack?")
		}},
		{"9.7.6.1.3", "a timeout code of 0 waits for ever", func(_ *roce.Config, q *roce.QPConfig) { q.Timeout = 0 }, func(s *script) {
			s.post(write(1))
			s.sent()
			if at := s.e.NextTimeout(); at != roce.Never {
				s.t.Errorf("deadline is %v", at)
			}
		}},
		{"9.7.5.2.8", "after an RNR NAK nothing is sent before its timer ends", func(_ *roce.Config, q *roce.QPConfig) { q.RNRRetry = 1 }, func(s *script) {
			s.post(write(1), send(1), write(1))
			s.sent()
			s.answer(101, rnrBase|14, 1)
			s.expectDone("RDMA WRITE 0")
			s.expect()
			if d := s.wait(long); d != 1280*time.Microsecond {
				s.t.Fatalf("waited %v", d)
			}
			s.expect("SEND Only 101 1B ack?", "RDMA WRITE Only 102 1B at 4096+1 ack?")
			s.answer(101, rnrBase|14, 1)
			s.expectDone("SEND 0: RNR retry counter exceeded", "RDMA WRITE 0: work request flushed")
		}},
		{"9.7.5.2", "an ACK that goes past a READ means that its answer is lost", nil, func(s *script) {
			s.post(read(600), write(1))
			s.sent()
			s.verdict(s.answer(103, unlimited, 2), roce.VerdictGap)
			s.expect("RDMA READ Request 100 at 4096+600 ack?", "RDMA WRITE Only 103 1B at 4096+1 ack?")
			s.verdict(s.answer(103, unlimited, 2), roce.VerdictGap)
			s.expect() // once
			s.expectDone()
		}},
		{"9.7.6.1", "of a READ whose answer has a gap only the rest is asked for, once", nil, func(s *script) {
			s.post(read(1000))
			s.sent()
			s.verdict(s.readResponse(infiniband.RCReadResponseFirst, 100, 256), roce.VerdictAccepted)
			s.verdict(s.readResponse(infiniband.RCReadResponseMiddle, 102, 256), roce.VerdictGap)
			s.verdict(s.readResponse(infiniband.RCReadResponseLast, 103, 232), roce.VerdictGap)
			s.expect("RDMA READ Request 101 at 4352+744 ack?")
			s.readResponse(infiniband.RCReadResponseFirst, 101, 256)
			s.readResponse(infiniband.RCReadResponseMiddle, 102, 256)
			s.readResponse(infiniband.RCReadResponseLast, 103, 232)
			s.expectDone("RDMA READ 0")
		}},
		{"9.7.5.1.4", "the answer to a READ acknowledges what is before it", nil, func(s *script) {
			s.post(write(1), read(1))
			s.sent()
			s.readResponse(infiniband.RCReadResponseOnly, 101, 1)
			s.expectDone("RDMA WRITE 0", "RDMA READ 0")
		}},
		{"9.9.2", "an answer to a READ of the wrong length ends the connection", nil, func(s *script) {
			s.post(read(300))
			s.sent()
			s.verdict(s.readResponse(infiniband.RCReadResponseFirst, 100, 252), roce.VerdictInvalid)
			s.expectDone("RDMA READ 0: bad response")
		}},
		{"9.9.2", "an atomic ACK for a READ ends the connection", nil, func(s *script) {
			s.post(read(300))
			s.sent()
			s.verdict(s.handle(frame(infiniband.RCAtomicAcknowledge, 100, 0)), roce.VerdictInvalid)
			s.expectDone("RDMA READ 0: bad response")
		}},
		{"9.4.5", "an atomic is answered by what it found", nil, func(s *script) {
			s.post(roce.WorkRequest{Operation: roce.OperationFetchAdd, RemoteAddress: 8, SwapOrAdd: 1})
			s.expect("FETCH ADD 100 ack?")
			f := frame(infiniband.RCAtomicAcknowledge, 100, 0)
			f.AETH.Syndrome, f.AtomicAckETH.OriginalData = unlimited, 42
			s.handle(f)
			var c roce.Completion
			if !s.e.NextCompletion(&c) || c.Original != 42 || c.Err != nil {
				s.t.Errorf("%+v", c)
			}
		}},
		{"9.9.2", "NAKs that end the connection name the request that failed", nil, func(s *script) {
			s.post(write(1), write(1), write(1))
			s.sent()
			s.answer(101, nakBase|infiniband.Syndrome(infiniband.NAKRemoteAccessError), 1)
			s.expectDone("RDMA WRITE 0", "RDMA WRITE 0: remote access error", "RDMA WRITE 0: work request flushed")
			var ev roce.Event
			if !s.e.NextEvent(&ev) || ev.Kind != roce.EventFailed {
				s.t.Errorf("%+v", ev)
			}
		}},
		{"9.4.4", "no more READs and atomics are under way than the initiator depth", func(_ *roce.Config, q *roce.QPConfig) { q.MaxReadAtomic = 2 }, func(s *script) {
			s.post(read(1), read(1), read(1), write(1))
			s.expect("RDMA READ Request 100 at 4096+1 ack?", "RDMA READ Request 101 at 4096+1 ack?")
			s.readResponse(infiniband.RCReadResponseOnly, 100, 1)
			s.expect("RDMA READ Request 102 at 4096+1 ack?", "RDMA WRITE Only 103 1B at 4096+1 ack?")
		}},
		{"9.7.7.2", "beyond its credits a requester sends one packet, and waits", func(_ *roce.Config, q *roce.QPConfig) { q.Credits = true }, func(s *script) {
			s.post(send(300), send(1), write(1))
			s.expect("SEND First 100 256B ack?")
			s.answer(100, 1, 0) // one credit, that of this message
			s.expect("SEND Last 101 44B ack?", "SEND Only 102 1B ack?", "RDMA WRITE Only 103 1B at 4096+1 ack?")
		}},
		{"9.7.7.2", "credits let a requester go on", func(_ *roce.Config, q *roce.QPConfig) { q.Credits = true }, func(s *script) {
			s.post(send(1), send(1), send(1), send(300))
			s.expect("SEND Only 100 1B ack?")
			s.answer(100, 2, 1)
			s.expect("SEND Only 101 1B ack?", "SEND Only 102 1B ack?", "SEND First 103 256B ack?")
			s.answer(102, 3, 3)
			s.expect("SEND Last 104 44B ack?")
		}},
		{"9.7.7.2", "code 31 is no limit", func(_ *roce.Config, q *roce.QPConfig) { q.Credits = true }, func(s *script) {
			s.post(send(1), send(1), send(1))
			s.expect("SEND Only 100 1B ack?")
			s.answer(100, unlimited, 1)
			s.expect("SEND Only 101 1B ack?", "SEND Only 102 1B ack?")
		}},
		{"9.7.6", "no more than the window is under way, and its last packet asks for an ACK", func(_ *roce.Config, q *roce.QPConfig) { q.Window = 2 }, func(s *script) {
			s.post(write(1000))
			s.expect("RDMA WRITE First 100 256B at 4096+1000", "RDMA WRITE Middle 101 256B ack?")
			s.answer(101, unlimited, 0)
			s.expect("RDMA WRITE Middle 102 256B", "RDMA WRITE Last 103 232B ack?")
		}},
		{"9.2.2", "the last packet of a SEND solicits an event when asked to", nil, func(s *script) {
			s.post(roce.WorkRequest{Data: make([]byte, 300), Solicited: true}, roce.WorkRequest{Operation: roce.OperationWrite, Solicited: true})
			for _, want := range []bool{false, true, false} {
				d, _ := s.e.Poll(s.now, nil)
				if got := d.Frame[14+20+8+1]&0x80 != 0; got != want {
					s.t.Errorf("solicited event is %v, want %v", got, want)
				}
			}
		}},
	})
}

// Some NICs repeat only what a NAK names.
func TestSelectiveRepeat(t *testing.T) {
	selective := func(_ *roce.Config, q *roce.QPConfig) { q.SelectiveRepeat = true }
	proveRules(t, []rule{
		{"requester", "only the missing packet is sent again", selective, func(s *script) {
			s.post(write(1000), write(1))
			s.sent()
			s.answer(101, nakBase, 0)
			s.expect("RDMA WRITE Middle 101 256B ack?")
			s.answer(104, unlimited, 2)
			s.expectDone("RDMA WRITE 0", "RDMA WRITE 0")
		}},
		{"requester", "the timeout goes back to the oldest", selective, func(s *script) {
			s.post(write(300))
			s.sent()
			s.wait(long)
			s.expect("RDMA WRITE First 100 256B at 4096+300", "RDMA WRITE Last 101 44B ack?")
		}},
		{"responder", "packets behind a gap are kept, and each gap has its NAK", selective, func(s *script) {
			s.request(infiniband.RCWriteFirst, 200, 256, 1300)
			s.verdict(s.request(infiniband.RCWriteMiddle, 202, 256, 0), roce.VerdictOutOfOrder)
			s.expect("ACK 201 msn 0, NAK, PSN sequence error")
			s.request(infiniband.RCWriteMiddle, 204, 256, 0)
			s.request(infiniband.RCWriteLast, 205, 20, 0)
			s.expect()
			s.request(infiniband.RCWriteMiddle, 201, 256, 0)
			s.expect("ACK 203 msn 0, NAK, PSN sequence error")
			s.request(infiniband.RCWriteMiddle, 203, 256, 0)
			s.expect("ACK 205 msn 1")
		}},
	})
}
