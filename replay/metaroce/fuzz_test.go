package metaroce

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// fuzzed is an endpoint with an open connection that has work under way in all states, and memory to be reached.
func fuzzed(t *testing.T) (*Endpoint, *Connection) {
	t.Helper()
	config := DefaultConfig()
	config.Planes = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	config.Random = rand.NewPCG(1, 1)
	config.LinkRate = 1000
	config.StreamCount, config.MaxConnections, config.MaxInboundMessages = 4, 8, 16
	config.Memory = Regions{1: {Address: 4096, Bytes: make([]byte, 4096), Access: AccessRead | AccessWrite | AccessAtomic}}
	e, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	local := mr0.CONN{SourceConnID: 1, PathCount: 2, PlaneCount: 1, MTU: 256, InitialPSN: 0, StreamCount: 4, MaxWindow: 32}
	peer := local
	peer.SourceConnID = 2
	c, err := e.Resume(local, peer, netip.MustParseAddr("10.0.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint16(2) {
		s, err := c.Stream(i)
		if err != nil {
			t.Fatal(err)
		}
		for op := OperationWrite; op <= OperationCompareAndSwap; op++ {
			if err := s.Post(WorkRequest{Operation: op, Data: make([]byte, 600)}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if err := s.PostReceive(1, make([]byte, 700)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return e, c
}

// repair makes a packet of bytes that reaches the connection: version, id, partition and ICRC are right, and the
// length fits when the mode asks for it.
func repair(b []byte, mode byte, from, to netip.AddrPort) []byte {
	b = append([]byte(nil), b...)
	for len(b) < mr0.CHLength {
		b = append(b, 0)
	}
	b[0] &= 0xf
	if mr0.Type(b[0]) != mr0.TypeConnReq {
		binary.BigEndian.PutUint32(b[4:], 1)
	}
	binary.BigEndian.PutUint16(b[10:], 0xffff)
	if mode&2 != 0 {
		b[8] &= 1   // a path that is there
		b[12] &= 0  // psns that are near
		b[13] &= 16 // those of path 1 begin at 2^20
		b[14] = 0
	}
	if mode&4 != 0 {
		p := mr0.Packet{CH: mr0.CH{Type: mr0.Type(b[0]), Flags: mr0.Flags(b[1])}}
		binary.BigEndian.PutUint16(b[2:], uint16(max(0, len(b)-len(p.AppendHeaders(nil)))))
	}
	return metaroce.AppendUDPPseudoICRC(b, 0, from, to)
}

// Whatever arrives: no panic, what is kept stays within its limits, and Poll comes to an end.
func FuzzHandle(f *testing.F) {
	for kind := range mr0.Type(16) {
		p := mr0.Packet{CH: mr0.CH{Type: kind, Flags: mr0.FlagFirst | mr0.FlagLast}}
		p.CONN = mr0.CONN{SourceConnID: 9, PathCount: 3, PlaneCount: 1, MTU: 256, MaxWindow: 3}
		p.DH = mr0.DH{MessageLength: 0}
		p.WETH = mr0.WETH{VirtualAddress: 4096, RKey: 1}
		p.DISC.SourceConnID = 2
		b := p.AppendHeaders(nil)
		f.Add(append([]byte{7, byte(len(b))}, b...))
		f.Add(append(append([]byte{7, byte(len(b))}, b...), append([]byte{7, byte(len(b))}, b...)...))
		f.Add(append([]byte{0, byte(len(b))}, b...))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		e, c := fuzzed(t)
		from, to := netip.MustParseAddrPort("10.0.0.2:50000"), netip.MustParseAddrPort("10.0.0.1:51791")
		now := time.Millisecond
		var done Completion
		var ev Event
		for step := 0; len(script) > 2 && step < 200; step++ {
			mode, n := script[0], min(int(script[1]), len(script)-2)
			b := script[2 : 2+n]
			script = script[2+n:]
			if mode&1 != 0 {
				b = repair(b, mode, from, to)
			}
			ecn := dissector.ECNECT0
			if mode&8 != 0 {
				ecn = dissector.ECNCE
			}
			now += time.Duration(mode>>4) * 700 * time.Microsecond
			e.Handle(now, &Datagram{Source: from, Destination: to, ECN: ecn, Payload: b})
			for sent := 0; ; sent++ {
				d, ok := e.Poll(now, nil)
				if !ok {
					break
				}
				var p mr0.Packet
				if err := mr0.Decode(d.Payload, &p); err != nil {
					t.Fatalf("sent a malformed packet: %s", mr0.Profile.Explain(p.Fault))
				}
				if sent > 10_000 {
					t.Fatal("Poll does not end")
				}
			}
			if at := e.NextTimeout(); at <= now {
				t.Fatalf("next timeout is %v, now is %v", at, now)
			}
			for e.NextCompletion(&done) {
			}
			for e.NextEvent(&ev) {
			}
			bounded(t, e, c)
		}
	})
}

// bounded checks what a peer could make grow.
func bounded(t *testing.T, e *Endpoint, c *Connection) {
	t.Helper()
	if n := len(e.connections); n > e.config.MaxConnections {
		t.Fatalf("%d connections", n)
	}
	for _, c := range e.connections {
		if n := len(c.partial); n > e.config.MaxInboundMessages+int(e.config.StreamCount) {
			t.Fatalf("%d messages under way", n)
		}
		if len(c.streams) > int(e.config.StreamCount) || c.naks.len() > maxNAKs || c.answering > maxResponses {
			t.Fatalf("%d streams, %d NAKs, %d answers", len(c.streams), c.naks.len(), c.answering)
		}
	}
	inflight := 0
	for i := range c.paths {
		p := &c.paths[i]
		states := [4]int{}
		for psn := p.una; psn != p.next; psn++ {
			s := p.slot(psn)
			states[s.state]++
			if s.state == slotSent {
				inflight += int(s.bytes)
			}
		}
		if states[slotSent] != p.inflight || states[slotLost] != p.lost || states[slotRefused] != p.refused || p.span() > c.maxSpan {
			t.Fatalf("path %d counts %d, %d, %d of %v", i, p.inflight, p.lost, p.refused, states)
		}
	}
	if c.state == StateOpen && inflight != c.inflightBytes {
		t.Fatalf("%d bytes in flight, counted %d", inflight, c.inflightBytes)
	}
}
