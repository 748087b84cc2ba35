package metaroce_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

func (s *script) receiveBuffers(sizes ...int) [][]byte {
	s.t.Helper()
	stream, err := s.c.Stream(1)
	if err != nil {
		s.t.Fatal(err)
	}
	var buffers [][]byte
	for i, n := range sizes {
		buffers = append(buffers, make([]byte, n))
		if err := stream.PostReceive(uint64(100+i), buffers[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	return buffers
}

// send is a one-packet SEND of the peer.
func (s *script) send(psn int, msn, index uint32, text string, how ...as) metaroce.Verdict {
	s.t.Helper()
	p := s.data(mr0.TypeSend, psn, msn, 0, uint32(len(text)), len(text))
	p.SETH.ReceiveIndex = index
	return s.feed(p, []byte(text), how...)
}

// A SEND says which posted buffer it matches: the receive_index of a stream counts its SENDs.
func TestSENDsCountReceiveIndexes(t *testing.T) {
	s := newScript(t, nil)
	s.post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: make([]byte, 300)})
	s.work(1)
	s.post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: []byte("x"), HasImmediate: true, Immediate: 8, Solicited: true})
	out := s.poll()
	var got [][2]uint32
	for _, x := range out {
		if x.CH.Type == mr0.TypeSend {
			got = append(got, [2]uint32{x.DH.MSN, x.SETH.ReceiveIndex})
		}
	}
	if diff := cmp.Diff([][2]uint32{{0, 0}, {0, 0}, {2, 1}}, got); diff != "" {
		t.Error(diff)
	}
	last := out[len(out)-1]
	if last.CH.Flags&(mr0.FlagIMM|mr0.FlagSE|mr0.FlagLast) != mr0.FlagIMM|mr0.FlagSE|mr0.FlagLast || last.IMMH.Immediate != 8 {
		t.Errorf("%s %+v", last.CH.Flags, last.IMMH)
	}
}

func TestSENDGoesToItsBufferOnce(t *testing.T) {
	s := newScript(t, nil)
	buffers := s.receiveBuffers(10, 10)
	s.send(1, 1, 1, "second")
	s.send(0, 0, 0, "first")
	s.send(0, 0, 0, "FIRST")                                    // the psn again
	s.send(0, 0, 0, "FIRST", onPath(1), withFlags(mr0.FlagRTX)) // the bytes again, by another path
	if !bytes.HasPrefix(buffers[0], []byte("first\x00")) || !bytes.HasPrefix(buffers[1], []byte("second\x00")) {
		t.Errorf("%q %q", buffers[0], buffers[1])
	}
	done := s.completions()
	if len(done) != 2 || done[0].ID != 100 || done[1].ID != 101 || done[0].Length != 5 {
		t.Errorf("%+v", done)
	}
}

// A SEND without a buffer is refused; the same packet is taken when there is one.
func TestReceiverNotReadyNAK(t *testing.T) {
	s := newScript(t, nil)
	if got := s.send(0, 0, 0, "early"); got != metaroce.VerdictRefused {
		t.Errorf("%s", got)
	}
	nak := s.one(mr0.TypeNAK)
	want := mr0.NAKH{Reason: mr0.NAKReasonReceiverNotReady, StreamID: 1, MSN: 0, RefusedPSN: 5000, RetryAfter: uint32(100 * us)}
	if nak.NAKH != want || nak.CH.DestConnID != 0xb {
		t.Errorf("%+v", nak.NAKH)
	}
	buffers := s.receiveBuffers(5)
	if got := s.send(0, 0, 0, "early", withFlags(mr0.FlagRTX)); got != metaroce.VerdictAccepted || string(buffers[0]) != "early" {
		t.Errorf("%s, %q", got, buffers[0])
	}
}

// The sender waits retry_after and sends that packet again; neither a gap nor the timer does it earlier, and the path
// is not blamed.
func TestRefusedPacketIsSentAgainAfterRetryAfter(t *testing.T) {
	s := newScript(t, onePath(8))
	s.post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: []byte("early")})
	s.work(1)
	out := s.poll()
	sent := s.now
	s.now += 100 * us
	s.nak(out[0], mr0.NAKReasonReceiverNotReady, 40*time.Millisecond)
	s.ack(0, 1, 0, sent, []int{1})
	begin := s.now
	again := s.advance(40*time.Millisecond + 500*us)
	if len(again) == 0 || again[0].CH.PSN != 1000 || again[0].CH.Flags&mr0.FlagRTX == 0 || again[0].SETH != out[0].SETH {
		t.Fatalf("sent %s", names(again))
	}
	if got := times(again[:1], begin)[0]; got != 40*time.Millisecond {
		t.Errorf("sent again after %v", got)
	}
	if got := s.c.Path(0); got.Window != 8 || got.Failed {
		t.Errorf("the path was blamed: %+v", got)
	}
}

// A NAK has come by the path, so it is well: timeouts before it count no more.
func TestRefusalSavesThePath(t *testing.T) {
	s := newScript(t, onePath(8))
	s.post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: []byte("early")})
	out := s.poll()
	s.advance(30 * ms) // two timeouts
	if got := s.c.Path(0); got.Timeouts != 2 || got.RTO != 40*ms {
		t.Fatalf("%+v", got)
	}
	s.nak(out[0], mr0.NAKReasonReceiverNotReady, ms)
	if got := s.c.Path(0); got.Timeouts != 0 || got.RTO != 10*ms {
		t.Errorf("after the NAK: %+v", got)
	}
}

func TestREADIsAnsweredOnOwnPaths(t *testing.T) {
	s := newScript(t, nil)
	data := bytes.Repeat([]byte("abcdefgh"), 75)
	s.memory[keyRead] = metaroce.Region{Address: base, Bytes: data, Access: metaroce.AccessRead}
	p := s.data(mr0.TypeReadReq, 0, 0, 0, 600, 0)
	p.RRETH = mr0.RRETH{VirtualAddress: base, RKey: keyRead, ReadID: 77}
	s.feed(p, nil)
	var got []byte
	next := map[uint8]uint32{0: 1000, 1: 1000 + mr0.PathPSNStride}
	for _, x := range s.poll() {
		if x.CH.Type != mr0.TypeReadResp {
			continue
		}
		if x.RSETH.ReadID != 77 || x.DH.StreamID != 1 || x.DH.MSN != 0 || x.DH.MessageLength != 600 || int(x.DH.MessageOffset) != len(got) ||
			x.CH.PSN != next[x.CH.PathID] {
			t.Errorf("%+v %+v %+v", x.CH, x.DH, x.RSETH)
		}
		next[x.CH.PathID]++
		got = append(got, x.payload...)
	}
	if !bytes.Equal(got, data) {
		t.Errorf("%d bytes were read", len(got))
	}
}

// READs of the peer are answered once, whatever comes again.
func TestREADIsExecutedOnce(t *testing.T) {
	s := newScript(t, nil)
	s.memory[keyRead] = metaroce.Region{Address: base, Bytes: make([]byte, 8), Access: metaroce.AccessRead}
	p := s.data(mr0.TypeReadReq, 0, 0, 0, 8, 0)
	p.RRETH = mr0.RRETH{VirtualAddress: base, RKey: keyRead, ReadID: 77}
	s.feed(p, nil)
	s.feed(p, nil)
	s.feed(p, nil, onPath(1), withFlags(mr0.FlagRTX))
	answers := 0
	for _, x := range s.poll() {
		if x.CH.Type == mr0.TypeReadResp {
			answers++
		}
	}
	if answers != 1 {
		t.Errorf("%d answers", answers)
	}
}

func TestREADCompletesWhenItsAnswerHasLanded(t *testing.T) {
	s := newScript(t, nil)
	buffer := make([]byte, 300)
	s.post(metaroce.WorkRequest{ID: 4, Operation: metaroce.OperationRead, Data: buffer, RemoteAddress: 4096, RKey: 3})
	req := s.one(mr0.TypeReadReq)
	if req.DH.MessageLength != 300 || req.RRETH.VirtualAddress != 4096 || req.RRETH.RKey != 3 || req.CH.Flags&mr0.FlagFirst == 0 {
		t.Errorf("%+v %+v", req.DH, req.RRETH)
	}
	s.ack(req.CH.PathID, 1, 1, s.now, nil)
	for i, offset := range []uint32{256, 0} {
		if done := s.completions(); len(done) != 0 {
			t.Errorf("complete after %d packets", i)
		}
		carried := min(256, 300-int(offset))
		p := s.data(mr0.TypeReadResp, i, req.DH.MSN, offset, 300, carried)
		p.RSETH.ReadID = req.RRETH.ReadID
		s.feed(p, bytes.Repeat([]byte{byte(i + 1)}, carried))
	}
	if done := s.completions(); len(done) != 1 || done[0].ID != 4 || done[0].Err != nil || done[0].Length != 300 {
		t.Errorf("%+v", done)
	}
	if buffer[0] != 2 || buffer[255] != 2 || buffer[256] != 1 || buffer[299] != 1 {
		t.Error("bytes are not in their places")
	}
}

func (s *script) atomic(psn int, msn uint32, op mr0.AtomicOperation, value, compare uint64, how ...as) metaroce.Verdict {
	p := s.data(mr0.TypeAtomicReq, psn, msn, 0, 0, 0)
	p.AETH = mr0.AETH{VirtualAddress: base, RKey: keyAtomic, Operation: op, SwapOrAdd: value, Compare: compare}
	return s.feed(p, nil, how...)
}

// An atomic takes effect once and in the order of its stream.
func TestAtomicsTakeEffectOnceInOrder(t *testing.T) {
	s := newScript(t, nil)
	cell := make([]byte, 8)
	binary.NativeEndian.PutUint64(cell, 10)
	s.memory[keyAtomic] = metaroce.Region{Address: base, Bytes: cell, Access: metaroce.AccessAtomic}
	s.atomic(1, 1, mr0.AtomicOperationCompareAndSwap, 99, 15)
	s.atomic(0, 0, mr0.AtomicOperationFetchAndAdd, 5, 0)
	s.atomic(0, 0, mr0.AtomicOperationFetchAndAdd, 5, 0)                                    // the psn again
	s.atomic(0, 0, mr0.AtomicOperationFetchAndAdd, 5, 0, onPath(1), withFlags(mr0.FlagRTX)) // by another path
	s.atomic(2, 2, mr0.AtomicOperationCompareAndSwap, 7, 15)                                // finds 99
	if got := binary.NativeEndian.Uint64(cell); got != 99 {
		t.Errorf("the cell is %d, want 99", got)
	}
	found := map[uint32]uint64{}
	for _, x := range s.poll() {
		if x.CH.Type == mr0.TypeAtomicResp {
			found[x.DH.MSN] = x.ARETH.OriginalValue
		}
	}
	if diff := cmp.Diff(map[uint32]uint64{0: 10, 1: 15, 2: 99}, found); diff != "" {
		t.Error(diff)
	}
}

func TestAtomicCompletesWithTheOriginalValue(t *testing.T) {
	s := newScript(t, nil)
	s.post(metaroce.WorkRequest{
		ID: 6, Operation: metaroce.OperationCompareAndSwap, RemoteAddress: base, RKey: 3, SwapOrAdd: 1, Compare: 2,
	})
	req := s.one(mr0.TypeAtomicReq)
	want := mr0.AETH{VirtualAddress: base, RKey: 3, Operation: mr0.AtomicOperationCompareAndSwap, SwapOrAdd: 1, Compare: 2}
	if req.AETH != want {
		t.Errorf("%+v", req.AETH)
	}
	p := s.data(mr0.TypeAtomicResp, 0, req.DH.MSN, 0, 0, 0)
	p.ARETH.OriginalValue = 1234
	s.feed(p, nil)
	if done := s.completions(); len(done) != 1 || done[0].ID != 6 || done[0].Original != 1234 || done[0].Err != nil {
		t.Errorf("%+v", done)
	}
}

// What is refused, and why.
func TestNAKReasons(t *testing.T) {
	longWrite := func(p *mr0.Packet, _ *metaroce.Datagram) { p.WETH.VirtualAddress = base + 1000 }
	for _, x := range []struct {
		name string
		feed func(s *script) metaroce.Verdict
		want mr0.NAKReason
	}{
		{"WRITE outside of the memory", func(s *script) metaroce.Verdict { return s.write(0, 0, 0, 256, 256, longWrite) }, mr0.NAKReasonRemoteAccessError},
		{"READ without the key", func(s *script) metaroce.Verdict {
			return s.feed(s.data(mr0.TypeReadReq, 0, 0, 0, 8, 0), nil)
		}, mr0.NAKReasonRemoteAccessError},
		{"atomic on memory to be written only", func(s *script) metaroce.Verdict {
			p := s.data(mr0.TypeAtomicReq, 0, 0, 0, 0, 0)
			p.AETH = mr0.AETH{VirtualAddress: base, RKey: keyWrite}
			return s.feed(p, nil)
		}, mr0.NAKReasonRemoteAccessError},
		{"atomic that is not aligned", func(s *script) metaroce.Verdict {
			p := s.data(mr0.TypeAtomicReq, 0, 0, 0, 0, 0)
			p.AETH = mr0.AETH{VirtualAddress: base + 4, RKey: keyWrite}
			return s.feed(p, nil)
		}, mr0.NAKReasonInvalidRequest},
		{"unknown atomic", func(s *script) metaroce.Verdict {
			p := s.data(mr0.TypeAtomicReq, 0, 0, 0, 0, 0)
			p.AETH = mr0.AETH{VirtualAddress: base, RKey: keyWrite, Operation: 9}
			return s.feed(p, nil)
		}, mr0.NAKReasonInvalidRequest},
		{"SEND longer than its buffer", func(s *script) metaroce.Verdict {
			s.receiveBuffers(3)
			return s.send(0, 0, 0, "long")
		}, mr0.NAKReasonInvalidRequest},
		{"packet in the middle that is not full", func(s *script) metaroce.Verdict { return s.write(0, 0, 0, 512, 200) }, mr0.NAKReasonInvalidRequest},
		{"packets of a message that disagree", func(s *script) metaroce.Verdict {
			s.write(0, 0, 0, 512, 256)
			return s.write(1, 0, 256, 768, 256)
		}, mr0.NAKReasonInvalidRequest},
		{"stream beyond stream_count", func(s *script) metaroce.Verdict { return s.write(0, 0, 0, 4, 4, onStream(8)) }, mr0.NAKReasonStreamUnknown},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScript(t, nil)
			s.writable(1024)
			if got := x.feed(s); got != metaroce.VerdictRefused {
				t.Fatalf("%s", got)
			}
			if got := s.one(mr0.TypeNAK); got.NAKH.Reason != x.want || got.NAKH.RetryAfter != 0 {
				t.Errorf("%+v", got.NAKH)
			}
		})
	}
}

// remote_operation_error is for an atomic whose memory is gone when its turn comes.
func TestRemoteOperationErrorNAK(t *testing.T) {
	s := newScript(t, nil)
	s.memory[keyAtomic] = metaroce.Region{Address: base, Bytes: make([]byte, 8), Access: metaroce.AccessAtomic}
	s.writable(8)
	s.atomic(1, 1, mr0.AtomicOperationFetchAndAdd, 5, 0)
	delete(s.memory, keyAtomic)
	s.poll()
	s.write(0, 0, 0, 4, 4)
	want := mr0.NAKH{Reason: mr0.NAKReasonRemoteOperationError, StreamID: 1, MSN: 1, RefusedPSN: 5001}
	if out := s.poll(); len(out) != 2 || out[0].CH.Type != mr0.TypeNAK || out[0].NAKH != want {
		t.Errorf("sent %s %+v", names(out), out[0].NAKH)
	}
}

// remote_access_error, invalid_request and remote_operation_error end the connection in error.
func TestErrorNAKsEndTheConnection(t *testing.T) {
	for reason, want := range map[mr0.NAKReason]error{
		mr0.NAKReasonRemoteAccessError:    metaroce.ErrRemoteAccess,
		mr0.NAKReasonInvalidRequest:       metaroce.ErrInvalidRequest,
		mr0.NAKReasonRemoteOperationError: metaroce.ErrRemoteOperation,
	} {
		s := newScript(t, nil)
		s.work(1)
		s.post(metaroce.WorkRequest{ID: 2, Operation: metaroce.OperationFetchAndAdd})
		out := s.poll()
		if reason == mr0.NAKReasonRemoteOperationError { // comes after the ACK
			s.ack(out[1].CH.PathID, 1, 1, s.now, nil)
			s.nak(out[1], reason, 0)
		} else {
			s.nak(out[0], reason, 0)
		}
		if got := s.one(mr0.TypeDisconnect); got.DISC.Reason != mr0.DisconnectReasonError {
			t.Errorf("%s: %+v", reason, got.DISC)
		}
		done := s.completions()
		if len(done) != 2 || done[0].Err != want || done[1].Err != want { //nolint:errorlint // the very value
			t.Errorf("%s: %+v", reason, done)
		}
		events := s.events()
		if len(events) != 1 || events[0].Kind != metaroce.EventDisconnected || events[0].Err != want { //nolint:errorlint // the very value
			t.Errorf("%s: %+v", reason, events)
		}
	}
}

// stream_unknown ends the stream; the connection and its other streams go on.
func TestStreamUnknownEndsTheStream(t *testing.T) {
	s := newScript(t, onePath(8))
	s.work(2)
	other, err := s.c.Stream(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Post(metaroce.WorkRequest{ID: 50, Data: []byte("fine"), RKey: 1}); err != nil {
		t.Fatal(err)
	}
	out := s.poll()
	sent := s.now
	s.now += 100 * us
	refused := -1
	for i, x := range out {
		if x.DH.StreamID == 1 {
			refused = i
			s.nak(x, mr0.NAKReasonStreamUnknown, 0)
			break
		}
	}
	if done := s.completions(); len(done) != 1 || done[0].Err != metaroce.ErrStreamUnknown { //nolint:errorlint // the very value
		t.Errorf("%+v", done)
	}
	stream, err := s.c.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Post(metaroce.WorkRequest{}); err != metaroce.ErrStreamUnknown { //nolint:errorlint // the very value
		t.Errorf("posting to it: %v", err)
	}
	// Its psns are filled by PROBEs when they show as gaps, and the other stream's message completes.
	var rest []int
	for i := range out {
		if i != refused {
			rest = append(rest, i)
		}
	}
	s.ack(0, 1, 0, sent, rest)
	if refused != 0 {
		t.Fatalf("the first packet is of stream %d", out[0].DH.StreamID)
	}
	if got := s.one(mr0.TypeProbe); got.CH.PSN != out[0].CH.PSN || got.CH.Flags&mr0.FlagRTX == 0 {
		t.Errorf("%+v", got.CH)
	}
	if done := s.completions(); len(done) != 1 || done[0].ID != 50 || done[0].Err != nil {
		t.Errorf("%+v", done)
	}
}

// At most MaxReads requests are unanswered; the next goes out when one is.
func TestREADsWaitForTheirTurn(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, _, _ *mr0.CONN) { c.MaxReads = 1 })
	for range 2 {
		s.post(metaroce.WorkRequest{Operation: metaroce.OperationRead, Data: make([]byte, 8)})
	}
	req := s.one(mr0.TypeReadReq)
	p := s.data(mr0.TypeReadResp, 0, 0, 0, 8, 8)
	p.RSETH.ReadID = req.RRETH.ReadID
	s.feed(p, make([]byte, 8))
	sawNext := false
	for _, x := range s.poll() {
		sawNext = sawNext || x.CH.Type == mr0.TypeReadReq && x.DH.MSN == 1
	}
	if !sawNext {
		t.Error("the second READ did not follow")
	}
}

// A stream does not run further ahead of its oldest message than MessageWindow.
func TestStreamWaitsForItsOldestMessage(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, local, _ *mr0.CONN) { c.MessageWindow, local.PathCount = 2, 1 })
	for range 4 {
		s.work(1)
	}
	if out := s.poll(); len(out) != 2 {
		t.Fatalf("sent %s", names(out))
	}
	s.ack(0, 1, 0, s.now, []int{1}) // the second is there, the oldest is not
	for _, x := range s.poll() {
		if x.DH.MSN > 1 {
			t.Errorf("sent msn %d", x.DH.MSN)
		}
	}
	s.ack(0, 2, 2, s.now, nil)
	if out := s.poll(); len(out) != 2 || out[0].DH.MSN != 2 || out[1].DH.MSN != 3 {
		t.Errorf("sent %s", names(out))
	}
}
