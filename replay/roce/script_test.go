package roce_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/roce"
)

// script is an endpoint with one QP whose peer is the test. The QP's requests begin at PSN 100, the peer's at 200.
type script struct {
	t      *testing.T
	e      *roce.Endpoint
	q      *roce.QP
	now    time.Duration
	memory roce.Regions
}

var ownAddress, peerAddress = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

const ownQPN, peerQPN, mtu = 0x11, 0x22, 256

// Keys of the script's memory, 4 KiB each from address 0 on, bytes 0, 1, 2 ...
const keyAll, keyReadOnly, keyBroken = 1, 2, 3

// brokenMemory fails for one key otherwise than by denying access.
type brokenMemory struct{ roce.Regions }

func (m brokenMemory) Slice(rkey uint32, address uint64, length int, access roce.Access) ([]byte, error) {
	if rkey == keyBroken {
		return nil, errors.New("parity error")
	}
	return m.Regions.Slice(rkey, address, length, access)
}

func newScript(t *testing.T, edit func(*roce.Config, *roce.QPConfig)) *script {
	t.Helper()
	s := &script{t: t, now: time.Millisecond, memory: roce.Regions{}}
	s.memory[keyAll] = roce.Region{Bytes: counting(4096), Access: roce.AccessRead | roce.AccessWrite | roce.AccessAtomic}
	s.memory[keyReadOnly] = roce.Region{Bytes: counting(4096), Access: roce.AccessRead}
	c, qc := roce.DefaultConfig(), roce.DefaultQPConfig()
	c.Address, c.Memory = ownAddress, brokenMemory{s.memory}
	qc.QPN, qc.RemoteQPN, qc.Remote, qc.SendPSN, qc.ReceivePSN, qc.MTU = ownQPN, peerQPN, peerAddress, 100, 200, mtu
	if edit != nil {
		edit(&c, &qc)
	}
	var err error
	if s.e, err = roce.New(c); err != nil {
		t.Fatal(err)
	}
	if s.q, err = s.e.Open(qc); err != nil {
		t.Fatal(err)
	}
	return s
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// frame is a packet of the peer, to be changed by the test.
func frame(opcode infiniband.Opcode, psn uint32, payload int) build.Frame {
	return build.Frame{
		Source: peerAddress, Destination: ownAddress, SourcePort: 50000, Payload: counting(payload), ECN: dissector.ECNECT0,
		BTH: infiniband.BTH{Opcode: opcode, PSN: psn, DestinationQP: ownQPN, PartitionKey: infiniband.DefaultPartitionKey},
	}
}

// handle gives a packet of the peer to the endpoint.
func (s *script) handle(f build.Frame) roce.Verdict {
	s.t.Helper()
	b, err := f.AppendTo(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.e.Handle(s.now, &roce.Datagram{Frame: b})
}

// request is a SEND or WRITE packet that asks for an ACK; a WRITE goes to the start of memory.
func (s *script) request(opcode infiniband.Opcode, psn uint32, payload, total int) roce.Verdict {
	s.t.Helper()
	f := frame(opcode, psn, payload)
	f.RETH = infiniband.RETH{RemoteKey: keyAll, DMALength: uint32(total)}
	f.BTH.AckRequest = opcode.EndsMessage()
	return s.handle(f)
}

func (s *script) read(psn uint32, key uint32, address uint64, length uint32) roce.Verdict {
	s.t.Helper()
	f := frame(infiniband.RCReadRequest, psn, 0)
	f.RETH = infiniband.RETH{VirtualAddress: address, RemoteKey: key, DMALength: length}
	return s.handle(f)
}

func (s *script) fetchAdd(psn uint32, address, add uint64) roce.Verdict {
	s.t.Helper()
	f := frame(infiniband.RCFetchAdd, psn, 0)
	f.AtomicETH = infiniband.AtomicETH{VirtualAddress: address, RemoteKey: keyAll, SwapOrAdd: add}
	return s.handle(f)
}

// answer is an ACK or NAK of the peer.
func (s *script) answer(psn uint32, syndrome infiniband.Syndrome, msn uint32) roce.Verdict {
	s.t.Helper()
	f := frame(infiniband.RCAcknowledge, psn, 0)
	f.AETH = infiniband.AETH{Syndrome: syndrome, MSN: msn}
	return s.handle(f)
}

// Syndromes.
const (
	unlimited = infiniband.Syndrome(31)
	nakBase   = infiniband.Syndrome(uint8(infiniband.SyndromeNAK) << 5)
	rnrBase   = infiniband.Syndrome(uint8(infiniband.SyndromeRNR) << 5)
	long      = 10 * time.Second
)

func (s *script) readResponse(opcode infiniband.Opcode, psn uint32, payload int) roce.Verdict {
	s.t.Helper()
	f := frame(opcode, psn, payload)
	f.AETH = infiniband.AETH{Syndrome: unlimited}
	return s.handle(f)
}

func (s *script) post(w ...roce.WorkRequest) {
	s.t.Helper()
	for _, w := range w {
		if err := s.q.Post(w); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *script) receive(buffers ...int) {
	s.t.Helper()
	for i, n := range buffers {
		if err := s.q.PostReceive(uint64(i+1), make([]byte, n)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func write(length int) roce.WorkRequest {
	return roce.WorkRequest{Operation: roce.OperationWrite, Data: make([]byte, length), RKey: 7, RemoteAddress: 4096}
}

func send(length int) roce.WorkRequest {
	return roce.WorkRequest{Operation: roce.OperationSend, Data: make([]byte, length)}
}

func read(length int) roce.WorkRequest {
	return roce.WorkRequest{Operation: roce.OperationRead, Data: make([]byte, length), RKey: 7, RemoteAddress: 4096}
}

// sent is everything that the endpoint sends now, one line a packet, as [describe] puts it.
func (s *script) sent() []string {
	s.t.Helper()
	var lines []string
	for range 10000 {
		d, ok := s.e.Poll(s.now, nil)
		if !ok {
			return lines
		}
		var p dissector.Packet
		if err := dissector.Decode(d.Frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
			s.t.Fatalf("%v: %x", err, d.Frame)
		}
		if state := dissector.VerifyICRC(&p); state != dissector.ICRCGood {
			s.t.Fatalf("ICRC is %v: %x", state, d.Frame)
		}
		lines = append(lines, describe(&p))
	}
	s.t.Fatal("Poll comes to no end")
	return nil
}

// describe is opcode, PSN, payload length, and what matters of the headers.
func describe(p *dissector.Packet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", strings.TrimPrefix(p.BTH.Opcode.String(), "RC "), p.BTH.PSN)
	if p.BTH.Opcode.CarriesPayload() {
		fmt.Fprintf(&b, " %dB", p.PayloadLength)
	}
	if p.Has&infiniband.HasRETH != 0 {
		fmt.Fprintf(&b, " at %d+%d", p.RETH.VirtualAddress, p.RETH.DMALength)
	}
	if p.Has&infiniband.HasAETH != 0 {
		fmt.Fprintf(&b, " msn %d", p.AETH.MSN)
		if a := p.AETH.Syndrome; a != unlimited {
			fmt.Fprintf(&b, ", %v", a)
		}
	}
	if p.BTH.AckRequest {
		b.WriteString(" ack?")
	}
	return b.String()
}

// expect compares what is sent now.
func (s *script) expect(lines ...string) {
	s.t.Helper()
	if got := s.sent(); !slices.Equal(got, lines) {
		s.t.Fatalf("sent\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

// wait lets time pass, up to the next deadline and no further than the limit, and says how much did.
func (s *script) wait(limit time.Duration) time.Duration {
	at := min(s.e.NextTimeout(), s.now+limit)
	passed := at - s.now
	s.now = at
	return passed
}

// done is the outcome of the work requests and receive buffers that are complete: ids, in order, with their errors.
func (s *script) done() []string {
	var lines []string
	var c roce.Completion
	for s.e.NextCompletion(&c) {
		line := fmt.Sprintf("%v %d", c.Operation, c.ID)
		if c.Receive {
			line = fmt.Sprintf("received %v %d of %d bytes", c.Operation, c.ID, c.Length)
		}
		if c.Err != nil {
			line += ": " + c.Err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *script) expectDone(lines ...string) {
	s.t.Helper()
	if got := s.done(); !slices.Equal(got, lines) {
		s.t.Fatalf("completed\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

func (s *script) verdict(got, want roce.Verdict) {
	s.t.Helper()
	if got != want {
		s.t.Fatalf("verdict is %v, want %v", got, want)
	}
}

// rule is one rule of the transport, with the clause that has it.
type rule struct {
	clause, name string
	configure    func(*roce.Config, *roce.QPConfig)
	test         func(*script)
}

func proveRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.clause+" "+r.name, func(t *testing.T) { r.test(newScript(t, r.configure)) })
	}
}
