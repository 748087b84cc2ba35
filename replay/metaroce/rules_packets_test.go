package metaroce_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// The whole way over IPv6, and with another port.
func TestIPv6AndAnotherPort(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	s := &script{t: t, memory: metaroce.Regions{}}
	config := s.config()
	config.Planes, config.Port = []netip.Addr{a}, 4000
	s.start(config)
	c, err := s.e.Resume(mr0.CONN{SourceConnID: 1, PathCount: 1, PlaneCount: 1, MTU: 256, MaxWindow: 8},
		mr0.CONN{SourceConnID: 2, PathCount: 1, PlaneCount: 1, MTU: 256, MaxWindow: 8, StreamCount: 2}, b)
	if err != nil {
		t.Fatal(err)
	}
	s.c = c
	s.post(metaroce.WorkRequest{Data: []byte("over IPv6"), RKey: 1})
	got := s.one(mr0.TypeWrite)
	if got.Source.Addr() != a || got.Destination != netip.AddrPortFrom(b, 4000) {
		t.Errorf("from %v to %v", got.Source, got.Destination)
	}
}

func TestDestinationPortIsTheProfiles(t *testing.T) {
	s := newScript(t, nil)
	s.post(metaroce.WorkRequest{Data: []byte("x"), RKey: 1})
	if got := s.one(mr0.TypeWrite); got.Destination.Port() != 51791 {
		t.Errorf("destination port is %d", got.Destination.Port())
	}
}

// What is not of the profile, corrupted, malformed, of another partition or of no connection changes nothing.
func TestWhatIsWrongIsDropped(t *testing.T) {
	s := newScript(t, nil)
	target := s.writable(256)
	good := s.data(mr0.TypeWrite, 0, 0, 0, 4, 4)
	good.WETH = mr0.WETH{VirtualAddress: base, RKey: keyWrite}
	from, to := netip.AddrPortFrom(addressB, 50000), netip.AddrPortFrom(addressA, mr0.Port)
	build := func(change func(p *mr0.Packet)) []byte {
		p := good
		p.CH.DestConnID, p.CH.PartitionKey = s.local.SourceConnID, 0xffff
		change(&p)
		b, err := p.AppendDatagram(nil, []byte("data"), from, to)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	corrupt := build(func(*mr0.Packet) {})
	corrupt[50] ^= 1
	for _, x := range []struct {
		name    string
		payload []byte
		want    metaroce.Verdict
	}{
		{"another program's", []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), metaroce.VerdictNotMetaRoCE},
		{"empty", nil, metaroce.VerdictNotMetaRoCE},
		{"corrupted payload", corrupt, metaroce.VerdictICRC},
		{"FIRST missing", build(func(p *mr0.Packet) { p.CH.Flags &^= mr0.FlagFirst }), metaroce.VerdictMalformed},
		{"other partition", build(func(p *mr0.Packet) { p.CH.PartitionKey = 0x8001 }), metaroce.VerdictPartition},
		{"no such connection", build(func(p *mr0.Packet) { p.CH.DestConnID = 99 }), metaroce.VerdictUnknown},
		{"no such path", build(func(p *mr0.Packet) { p.CH.PathID = 2 }), metaroce.VerdictInvalid},
	} {
		if got := s.e.Handle(s.now, &metaroce.Datagram{Source: from, Destination: to, Payload: x.payload}); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
	s.none()
	if !bytes.Equal(target, make([]byte, 256)) || s.c.Statistics().Received != 0 {
		t.Error("something was taken")
	}
}

// A limited member of the partition speaks with a full one.
// The 15 bits of both must be equal, and one of both a full member: two limited ones have nothing to say to each other.
func TestPartitionKeyIsComparedAsInfiniBandDoes(t *testing.T) {
	for _, x := range []struct {
		own, other uint16
		want       metaroce.Verdict
	}{
		{0xffff, 0x7fff, metaroce.VerdictAccepted},
		{0x7fff, 0xffff, metaroce.VerdictAccepted},
		{0x7fff, 0x7fff, metaroce.VerdictPartition},
		{0x8001, 0x8002, metaroce.VerdictPartition},
	} {
		s := newScript(t, func(c *metaroce.Config, _, _ *mr0.CONN) { c.PartitionKey = x.own })
		s.writable(256)
		if got := s.write(0, 0, 0, 4, 4, func(p *mr0.Packet, _ *metaroce.Datagram) { p.CH.PartitionKey = x.other }); got != x.want {
			t.Errorf("%04x and %04x: %s, want %s", x.own, x.other, got, x.want)
		}
	}
}

func TestSequencedPacketsAreECNCapableAndOthersAreNot(t *testing.T) {
	s := newScript(t, nil)
	s.writable(256)
	s.post(metaroce.WorkRequest{Data: []byte("x"), RKey: 1})
	if got := s.one(mr0.TypeWrite); got.ECN != dissector.ECNECT0 {
		t.Errorf("WRITE: %d", got.ECN)
	}
	s.write(0, 0, 0, 4, 4)
	if got := s.one(mr0.TypeACK); got.ECN != dissector.ECNNotECT {
		t.Errorf("ACK: %d", got.ECN)
	}
}

// ACK and NAK leave from the source port of the own path path_id mod path_count.
func TestACKAndNAKLeaveFromTheirOwnPathsPort(t *testing.T) {
	s := newScript(t, func(_ *metaroce.Config, _, peer *mr0.CONN) { peer.PathCount = 5 })
	s.writable(256)
	for path := range uint8(5) {
		s.write(0, uint32(path), 0, 4, 4, onPath(path))
		got := s.one(mr0.TypeACK)
		if want := s.c.Path(int(path) % 2).SourcePort; got.Source.Port() != want || got.CH.PathID != path {
			t.Errorf("ACK of path %d left from %d, want %d", path, got.Source.Port(), want)
		}
		s.write(1, 9, 0, 4, 4, onPath(path), onStream(77))
		if got := s.one(mr0.TypeNAK); got.Source.Port() != s.c.Path(int(path)%2).SourcePort || got.CH.PathID != path {
			t.Errorf("NAK of path %d left from %d", path, got.Source.Port())
		}
	}
}

func TestEachPathHasItsOwnSourcePortAndSequence(t *testing.T) {
	s := newScript(t, func(_ *metaroce.Config, local, _ *mr0.CONN) {
		local.PathCount, local.InitialPSN = 4, 0xffffffff-mr0.PathPSNStride // path 1 wraps behind its first packet
	})
	s.post(metaroce.WorkRequest{Data: make([]byte, 16*256), RKey: 1})
	next := map[uint8]uint32{}
	ports := map[uint8]uint16{}
	for _, x := range s.poll() {
		path := x.CH.PathID
		want, ok := next[path]
		if !ok {
			want = 0xffffffff - mr0.PathPSNStride + uint32(path)<<20
		}
		if x.CH.PSN != want {
			t.Errorf("path %d: psn %d, want %d", path, x.CH.PSN, want)
		}
		next[path] = want + 1
		if p, ok := ports[path]; ok && p != x.Source.Port() {
			t.Errorf("path %d changed its port", path)
		}
		ports[path] = x.Source.Port()
	}
	if len(next) != 4 || next[1] != 3 {
		t.Errorf("next psns are %v", next)
	}
	s.ack(1, 1, 4, s.now, nil)
	if got := s.c.Path(1); got.Unacked != 3 || got.InFlight != 0 {
		t.Errorf("path 1 after an ACK across the wrap: %+v", got)
	}
}

// Each packet says where its payload goes, whatever came before it.
func TestMessageIsCutIntoFullPackets(t *testing.T) {
	s := newScript(t, nil)
	s.post(metaroce.WorkRequest{Data: make([]byte, 600), RemoteAddress: 4096, RKey: 7, HasImmediate: true, Immediate: 5})
	s.post(metaroce.WorkRequest{RemoteAddress: 8192, RKey: 7})
	out := s.poll()
	if len(out) != 4 {
		t.Fatalf("sent %s", names(out))
	}
	for i, want := range []struct {
		offset, length uint32
		carried        int
		address        uint64
		flags          mr0.Flags
	}{
		{0, 600, 256, 4096, mr0.FlagFirst},
		{256, 600, 256, 4352, 0},
		{512, 600, 88, 4608, mr0.FlagLast | mr0.FlagIMM},
		{0, 0, 0, 8192, mr0.FlagFirst | mr0.FlagLast},
	} {
		x := out[i]
		if x.DH.MessageOffset != want.offset || x.DH.MessageLength != want.length || len(x.payload) != want.carried ||
			x.WETH.VirtualAddress != want.address || x.WETH.RKey != 7 || x.CH.Flags&^mr0.FlagAR != want.flags {
			t.Errorf("packet %d: %+v %+v %s, %d bytes", i, x.DH, x.WETH, x.CH.Flags, len(x.payload))
		}
	}
	if out[0].DH.MSN != 0 || out[3].DH.MSN != 1 || out[2].IMMH.Immediate != 5 {
		t.Error("msn or immediate wrong")
	}
}

// Timestamps are the sender's clock modulo 2^32 ns.
func TestTimestampIsTheClock(t *testing.T) {
	s := newScript(t, nil)
	s.now = 1<<32 + 12345
	s.post(metaroce.WorkRequest{Data: []byte("x"), RKey: 1})
	if got := s.one(mr0.TypeWrite); got.DH.Timestamp != 12345 {
		t.Errorf("timestamp is %d", got.DH.Timestamp)
	}
}

// Planes: paths take turns, and a packet says which it was sent on.
func TestPathsSpreadOverPlanes(t *testing.T) {
	p := newPair(t, 1, 3, 2, simulation.Link{Delay: time.Microsecond}, func(_ int, c *metaroce.Config) { c.Paths = 6 })
	p.memory[1].Regions[keyWrite] = metaroce.Region{Address: base, Bytes: make([]byte, 1e6), Access: metaroce.AccessWrite}
	p.mustConnect()
	wrong, seen := 0, map[uint8]int{}
	p.watch.sent = func(_ int, in *mr0.Packet, f *simulation.Frame) {
		if in.CH.Type == mr0.TypeWrite {
			seen[in.CH.PlaneID]++
			if in.CH.PlaneID != f.Plane || in.CH.PlaneID != in.CH.PathID%3 {
				wrong++
			}
		}
	}
	p.post(0, 0, metaroce.WorkRequest{Data: make([]byte, 1e6), RemoteAddress: base, RKey: keyWrite})
	p.run(time.Second, func() bool { return len(p.completions[0]) > 0 })
	if wrong > 0 || len(seen) != 3 {
		t.Errorf("%d packets on the wrong plane, by plane %v", wrong, seen)
	}
}
