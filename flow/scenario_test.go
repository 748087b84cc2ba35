package flow_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
)

// script writes the frames of a test. Each step may change what the next packet is; time goes on by 1 µs a
// packet and IP IDs count up unless a step says otherwise.
type script struct {
	tb     testing.TB
	frames []frame
	now    int64
	ids    [2]uint16
	noID   bool
	noTime bool
}

type option func(*build.Frame)

func newScript(tb testing.TB) *script {
	tb.Helper()
	return &script{tb: tb, now: 1_700_000_000_000_000_000}
}

// wait lets time pass, in µs.
func (s *script) wait(us int64) { s.now += us * 1000 }

// add sends a packet from A (back false) or from B.
func (s *script) add(back bool, opcode infiniband.Opcode, psn uint32, options ...option) {
	s.tb.Helper()
	s.now += 1000
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50001,
		BTH: infiniband.BTH{
			Opcode: opcode, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: simQPB, PSN: psn & 0xffffff,
		},
	}
	side := 0
	if back {
		side = 1
		f.Source, f.Destination = f.Destination, f.Source
		f.BTH.DestinationQP, f.SourcePort = simQPA, 50002
	}
	if opcode.CarriesPayload() {
		f.Payload = make([]byte, simMTU)
	}
	if !s.noID {
		s.ids[side]++
		f.ID = s.ids[side]
	}
	for _, o := range options {
		o(&f)
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.raw(data)
}

func (s *script) raw(data []byte) {
	s.frames = append(s.frames, frame{data, dissector.Meta{
		Time: s.now, Number: uint64(len(s.frames) + 1), OriginalLength: uint32(len(data)),
		LinkType: dissector.LinkTypeEthernet, HasTime: !s.noTime,
	}})
}

// writes sends WRITE MIDDLE packets of the PSNs.
func (s *script) writes(psns ...uint32) {
	s.tb.Helper()
	for _, psn := range psns {
		s.add(false, infiniband.RCWriteMiddle, psn)
	}
}

func (s *script) ack(psn uint32, options ...option) {
	s.tb.Helper()
	s.add(true, infiniband.RCAcknowledge, psn, append([]option{syndrome(0x1f)}, options...)...)
}

func (s *script) nak(psn uint32) {
	s.tb.Helper()
	s.add(true, infiniband.RCAcknowledge, psn, syndrome(0x60))
}

func (s *script) track() result { s.tb.Helper(); return track(s.tb, flow.DefaultConfig(), s.frames) }

func syndrome(v infiniband.Syndrome) option { return func(f *build.Frame) { f.AETH.Syndrome = v } }
func ttl(v uint8) option                    { return func(f *build.Frame) { f.TTL = v } }
func id(v uint16) option                    { return func(f *build.Frame) { f.ID = v } }
func qp(v uint32) option                    { return func(f *build.Frame) { f.BTH.DestinationQP = v } }

func dma(address uint64, n uint32) option {
	return func(f *build.Frame) { f.RETH = infiniband.RETH{VirtualAddress: address, RemoteKey: 1, DMALength: n} }
}

const (
	resent     = flow.FlagRetransmitted
	afterNAK   = flow.FlagRetransmitted | flow.FlagAfterNAK
	afterTime  = flow.FlagRetransmitted | flow.FlagAfterTimeout
	duplicate  = flow.FlagDuplicate
	gap        = flow.FlagGapBefore
	late       = flow.FlagOutOfOrder
	mirrorCopy = flow.FlagMirrorCopy
	ackUnseen  = flow.FlagAckUnseen
)

// TestVerdicts is one short exchange each, with the flags that every packet must have in the end.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	type flags = map[uint64]flow.Flags
	for _, c := range []struct {
		name    string
		write   func(s *script)
		want    flags
		resent  uint64
		late    uint64
		missing uint64
	}{
		{"late packet of which nothing says that it was resent", func(s *script) {
			s.noID = true
			s.writes(100, 101, 103, 102, 104)
		}, flags{3: gap, 4: late}, 0, 1, 0},
		{"the same with IP IDs that prove it was sent first", func(s *script) {
			s.writes(100, 101, 102)
			s.add(false, infiniband.RCWriteMiddle, 104, id(5))
			s.add(false, infiniband.RCWriteMiddle, 103, id(4))
			s.add(false, infiniband.RCWriteMiddle, 105, id(6))
		}, flags{4: gap, 5: late}, 0, 1, 0},
		{"the same with IP IDs that prove it was sent again", func(s *script) {
			s.writes(100, 101, 102)
			s.add(false, infiniband.RCWriteMiddle, 104, id(5))
			s.add(false, infiniband.RCWriteMiddle, 103, id(6))
			s.add(false, infiniband.RCWriteMiddle, 105, id(7))
		}, flags{4: gap, 5: resent}, 1, 0, 0},
		{"selective repeat after a NAK", func(s *script) {
			s.noID = true
			s.writes(100, 101, 103, 104)
			s.nak(102)
			s.writes(105, 102, 106)
		}, flags{3: gap, 7: afterNAK}, 1, 0, 0},
		{"go-back-N after a NAK", func(s *script) {
			s.noID = true
			s.writes(100, 101, 103, 104)
			s.nak(102)
			s.writes(105, 102, 103, 104, 105, 106)
		}, flags{3: gap, 7: afterNAK, 8: afterNAK | duplicate, 9: afterNAK | duplicate, 10: afterNAK | duplicate}, 4, 0, 0},
		{"an original that comes after the NAK that it provoked", func(s *script) {
			s.noID = true
			s.writes(100, 101, 103)
			s.nak(102)
			s.writes(102)
			s.wait(20)
			s.writes(102, 103, 104)
		}, flags{3: gap, 5: late, 6: afterNAK | duplicate, 7: afterNAK | duplicate}, 2, 1, 0},
		{"the same with IP IDs", func(s *script) {
			s.writes(100, 101)
			s.add(false, infiniband.RCWriteMiddle, 103, id(4))
			s.nak(102)
			s.add(false, infiniband.RCWriteMiddle, 102, id(3))
			s.ids[0] = 4
			s.writes(102, 103, 104)
		}, flags{3: gap, 5: late, 6: afterNAK | duplicate, 7: afterNAK | duplicate}, 2, 1, 0},
		{"go-back-N where the answers are not captured and IDs are constant", func(s *script) {
			s.noID = true
			s.writes(100, 101, 105)
			s.wait(30)
			s.writes(102, 103, 104, 105, 106)
		}, flags{3: gap, 4: resent, 5: resent, 6: resent, 7: resent | duplicate}, 4, 0, 0},
		{"repeated after a silence", func(s *script) {
			s.noID = true
			s.writes(100, 101, 102)
			s.wait(67_000)
			s.writes(101, 102, 103)
		}, flags{4: afterTime | duplicate, 5: afterTime | duplicate}, 2, 0, 0},
		{"a gap filled after a silence", func(s *script) {
			s.noID = true
			s.writes(100, 101, 103)
			s.wait(67_000)
			s.writes(102, 104)
		}, flags{3: gap, 4: afterTime}, 1, 0, 0},
		{"across the end of the PSN space", func(s *script) {
			s.noID = true
			s.writes(0xfffffd, 0xfffffe, 0, 1)
			s.nak(0xffffff)
			s.writes(0xffffff, 0, 1, 2)
		}, flags{3: gap, 6: afterNAK, 7: afterNAK | duplicate, 8: afterNAK | duplicate}, 3, 0, 0},
		{"lost for good", func(s *script) {
			s.writes(100, 101, 105, 106)
		}, flags{3: gap}, 0, 0, 3},
		{"the capture missed what was acknowledged", func(s *script) {
			s.writes(100, 101, 103, 104)
			s.ack(101)
			s.ack(102)
			s.ack(104)
		}, flags{3: gap, 6: ackUnseen}, 0, 0, 1},
		{"both directions captured in the wrong order", func(s *script) {
			s.writes(100)
			s.ack(100)
			s.ack(101)
			s.writes(101, 102)
		}, nil, 0, 0, 0},
		{"mirrored before and behind a router", func(s *script) {
			s.noID = true
			for psn := uint32(100); psn < 104; psn++ {
				s.add(false, infiniband.RCWriteMiddle, psn, ttl(64))
				s.add(false, infiniband.RCWriteMiddle, psn, ttl(63))
			}
		}, flags{2: mirrorCopy, 4: mirrorCopy, 6: mirrorCopy, 8: mirrorCopy}, 0, 0, 0},
		{"mirrored at both ports of a switch, IDs counting", func(s *script) {
			for psn := uint32(100); psn < 105; psn++ {
				s.add(false, infiniband.RCWriteMiddle, psn, id(uint16(psn)))
				s.wait(30)
				s.add(false, infiniband.RCWriteMiddle, psn, id(uint16(psn)))
			}
		}, flags{2: mirrorCopy, 4: mirrorCopy, 6: mirrorCopy, 8: mirrorCopy, 10: mirrorCopy}, 0, 0, 0},
		{"mirrored at both ports of a switch, IDs constant", func(s *script) {
			s.noID = true
			for psn := uint32(100); psn < 103; psn++ {
				s.add(false, infiniband.RCWriteMiddle, psn)
				s.add(false, infiniband.RCWriteMiddle, psn)
			}
		}, flags{2: mirrorCopy, 4: mirrorCopy, 6: mirrorCopy}, 0, 0, 0},
		{"the copies of a whole burst behind it", func(s *script) {
			for psn := uint32(100); psn < 160; psn++ {
				s.add(false, infiniband.RCWriteMiddle, psn, id(uint16(psn)))
			}
			for psn := uint32(100); psn < 102; psn++ {
				s.add(false, infiniband.RCWriteMiddle, psn, id(uint16(psn)))
			}
		}, flags{61: mirrorCopy, 62: mirrorCopy}, 0, 0, 0},
		{"captured from the middle of a repetition on", func(s *script) {
			s.noID = true
			s.writes(103, 104)
			s.wait(10)
			s.writes(101, 102, 103, 104, 105)
		}, flags{3: resent, 4: resent, 5: resent | duplicate, 6: resent | duplicate}, 4, 0, 0},
		{"time stamps that go backwards", func(s *script) {
			s.noID = true
			s.writes(100, 101)
			s.wait(-500_000)
			s.writes(102, 104, 103, 105)
		}, flags{4: gap, 5: late}, 0, 1, 0},
		{"READ spans, with answers", func(s *script) {
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 4*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 301)
			s.add(true, infiniband.RCReadResponseMiddle, 302)
			s.add(true, infiniband.RCReadResponseLast, 303, syndrome(0x1f))
			s.writes(304)
		}, nil, 0, 0, 0},
		{"READ spans, one direction only", func(s *script) {
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 4*simMTU))
			s.add(false, infiniband.RCReadRequest, 304, dma(0x1000, 8*simMTU))
			s.writes(312, 314)
		}, flags{4: gap}, 0, 0, 1},
		{"the rest of a READ asked for again", func(s *script) {
			s.noID = true
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 4*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 302)
			s.wait(10)
			s.add(false, infiniband.RCReadRequest, 301, dma(simMTU, 3*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 301, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 302)
			s.add(true, infiniband.RCReadResponseLast, 303, syndrome(0x1f))
			s.writes(304)
		}, flags{3: gap, 4: resent | duplicate, 5: resent, 6: resent | duplicate}, 3, 0, 0},
		{"a QP that begins a new life", func(s *script) {
			s.writes(100, 101, 0x800000, 0x800001)
		}, nil, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			c.write(s)
			want := c.want
			r := s.track()
			for n := range uint64(len(s.frames)) {
				if got := r.flags[n+1]; got != want[n+1] {
					t.Errorf("packet %d:%s, want%s", n+1, flagNames(got), flagNames(want[n+1]))
				}
			}
			if r.totals.Retransmitted != c.resent || r.totals.OutOfOrder != c.late || r.totals.MissingPSNs != c.missing {
				t.Errorf("resent %d late %d missing %d, want %d %d %d", r.totals.Retransmitted, r.totals.OutOfOrder,
					r.totals.MissingPSNs, c.resent, c.late, c.missing)
			}
			if t.Failed() {
				t.Log(describe(t, s.frames, r))
			}
		})
	}
}

// TestMirroredTunnel captures a connection twice: on a port, and in an ERSPAN session from another switch.
func TestMirroredTunnel(t *testing.T) {
	t.Parallel()
	plain, tunnel := readPcap(t, "testdata/base-cm-send-write-read.pcap"), readPcap(t, "testdata/enc-erspan2.pcap")
	var frames []frame
	for i := range plain {
		copied := tunnel[i]
		copied.meta.Time = plain[i].meta.Time + 40_000
		frames = append(frames, plain[i], copied)
	}
	for i := range frames {
		frames[i].meta.Number = uint64(i + 1)
	}
	once, twice := track(t, flow.DefaultConfig(), plain), track(t, flow.DefaultConfig(), frames)
	if twice.totals.MirrorCopies != 17 || twice.totals.Retransmitted != 0 || twice.totals.Messages != once.totals.Messages {
		t.Errorf("%+v", twice.totals)
	}
	for i := range once.records {
		if once.records[i].Operations != twice.records[i].Operations || once.records[i].GoodputBytes != twice.records[i].GoodputBytes {
			t.Errorf("flow %d: %+v, want %+v", i, twice.records[i], once.records[i])
		}
	}
}

// TestMirroredInAndOut captures a connection whose IP IDs tell nothing on its way into a switch and out of it: only what the
// mirror says of a copy tells it from what is sent again.
func TestMirroredInAndOut(t *testing.T) {
	t.Parallel()
	outer := build.IP{Source: netip.MustParseAddr("10.9.9.9"), Destination: netip.MustParseAddr("10.8.8.8")}
	for _, c := range []struct {
		name    string
		in, out build.ERSPAN3
	}{
		{"by direction", build.ERSPAN3{Session: 7}, build.ERSPAN3{Session: 7, Egress: true}},
		{"by session", build.ERSPAN3{Session: 7}, build.ERSPAN3{Session: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain := newScript(t)
			plain.noID = true
			plain.writes(100, 101, 102, 103)
			plain.ack(103)
			s := newScript(t)
			for _, f := range plain.frames {
				for _, h := range []build.ERSPAN3{c.in, c.out} {
					h.Ethernet = true
					s.wait(40)
					s.raw(build.Ethernet(nil, [6]byte{2}, [6]byte{4}, 0x0800, h.Wrap(nil, outer, 0, f.data)))
				}
			}
			r := s.track()
			assert.EqualValues(t, 5, r.totals.MirrorCopies)
			assert.Zero(t, r.totals.Retransmitted+r.totals.OutOfOrder+r.totals.MissingPSNs)
		})
	}
}

// TestUnreliableServices: what a service never does is not counted as if it could.
func TestUnreliableServices(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	for _, psn := range []uint32{10, 11, 14, 13} {
		s.add(false, infiniband.UCWriteMiddle, psn)
	}
	s.wait(100)
	s.add(false, infiniband.UCWriteMiddle, 14)
	s.add(false, infiniband.UDSendOnly, 7, qp(9))
	s.add(false, infiniband.UDSendOnly, 9, qp(9))
	r := s.track()
	uc, ud := r.records[0], r.records[1]
	known := func(n uint64) flow.Count { return flow.Count{N: n, Known: true} }
	if uc.Retransmitted != known(0) || uc.MissingPSNs != known(1) || uc.PSNGaps != known(1) || uc.OutOfOrder != known(1) ||
		uc.Duplicates != known(1) || uc.Messages != known(1) {
		t.Errorf("UC: %+v", uc)
	}
	if ud.Retransmitted.Known || ud.MissingPSNs.Known || ud.GoodputBytes.Known || ud.Messages != known(2) ||
		ud.Pairing != flow.PairingDatagram || ud.SourceQP != known(0) || ud.FirstPSN != known(7) || ud.LastPSN != known(9) {
		t.Errorf("UD: %+v", ud)
	}
}

// TestUnknownReasons: without the other direction nobody can say why something was resent.
func TestUnknownReasons(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.writes(100, 101)
	s.wait(67_000)
	s.writes(101)
	x := s.track().records[0]
	if !x.Retransmitted.Known || x.RetransmittedNAK.Known || x.RetransmittedRNR.Known || x.RetransmittedTimeout.Known {
		t.Errorf("%+v", x)
	}

	s = newScript(t)
	s.noTime = true
	s.writes(100, 101, 103, 102, 101)
	s.ack(103)
	x = s.track().records[0]
	if x.HasTime || x.RetransmittedTimeout.Known || !x.RetransmittedNAK.Known || x.Retransmitted.N != 2 {
		t.Errorf("without time: %+v", x)
	}
}

// TestPairing pairs only what nothing else fits.
func TestPairing(t *testing.T) {
	t.Parallel()
	t.Run("two connections at different PSNs", func(t *testing.T) {
		t.Parallel()
		s := newScript(t)
		for i := range uint32(4) {
			s.add(false, infiniband.RCWriteOnly, 100+i, qp(1))
			s.add(false, infiniband.RCWriteOnly, 5000+i, qp(2))
			s.ack(100+i, qp(11))
			s.ack(5000+i, qp(12))
		}
		for _, x := range s.track().records {
			want := map[uint32]uint64{1: 11, 2: 12, 11: 1, 12: 2}[x.Key.DestinationQP]
			if x.Pairing != flow.PairingInferred || x.SourceQP != (flow.Count{N: want, Known: true}) || x.ReverseID == 0 {
				t.Errorf("QP %d: %+v", x.Key.DestinationQP, x)
			}
		}
	})
	t.Run("two connections in step", func(t *testing.T) {
		t.Parallel()
		s := newScript(t)
		for i := range uint32(6) {
			s.add(false, infiniband.RCWriteOnly, 100+i, qp(1))
			s.add(false, infiniband.RCWriteOnly, 100+i, qp(2))
			s.ack(100+i, qp(11))
			s.ack(100+i, qp(12))
		}
		r := s.track()
		for _, x := range r.records {
			if x.Pairing != flow.PairingNone || x.SourceQP.Known || x.ReverseID != 0 || x.ConnectionID != x.ID {
				t.Errorf("QP %d: %+v", x.Key.DestinationQP, x)
			}
		}
		if r.totals.Connections != 4 {
			t.Errorf("%d connections, want 4", r.totals.Connections)
		}
	})
	t.Run("only at the end", func(t *testing.T) {
		t.Parallel()
		s := newScript(t)
		s.writes(100, 102) // the capture missed what is acknowledged
		s.ack(101)
		r := s.track()
		if r.records[0].Pairing != flow.PairingInferred || r.records[0].ConnectionID != r.records[1].ConnectionID {
			t.Errorf("%+v", r.records)
		}
	})
}

// TestCNPs: a CNP belongs to the flow of its addresses and QP; without one it has its own.
func TestCNPs(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.writes(100)
	s.ack(100)
	s.add(true, infiniband.CNP, 0, id(0))
	s.wait(50)
	s.add(true, infiniband.CNP, 0, id(0))
	s.add(true, infiniband.CNP, 0, qp(99))
	r := s.track()
	if len(r.records) != 3 || r.records[1].CNPs != 2 || r.records[2].CNPs != 1 || r.records[2].Key.Service != infiniband.ServiceCNP {
		t.Errorf("%+v", r.records)
	}
}

// TestCNPFirst: a CNP that comes before the packets of its connection is part of it all the same, under the ID
// that it had from the start.
func TestCNPFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ write, ack infiniband.Opcode }{
		"RC":  {infiniband.RCWriteOnly, infiniband.RCAcknowledge},
		"XRC": {infiniband.XRCWriteOnly, infiniband.XRCAcknowledge},
		"UC":  {infiniband.UCWriteOnly, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			cnp := func(back bool) {
				s.add(back, infiniband.CNP, 0, id(0), func(f *build.Frame) { f.SourcePort, f.DSCP = 7, 48 })
				s.wait(50)
			}
			cnp(true)
			cnp(false)
			for psn := range uint32(4) {
				s.add(false, c.write, 100+psn)
				if c.ack != 0 {
					s.add(true, c.ack, 100+psn, syndrome(0x1f))
				} else {
					s.add(true, c.write, 9000+psn)
				}
				cnp(true)
			}
			r := s.track()
			require.Len(t, r.records, 2)
			assert.EqualValues(t, 6, r.totals.CNPs)
			assert.EqualValues(t, 2, r.totals.Flows)
			back, forth := r.records[0], r.records[1]
			assert.EqualValues(t, 5, back.CNPs)
			assert.EqualValues(t, 1, forth.CNPs)
			assert.EqualValues(t, 1, back.FirstNumber)
			for i, f := range s.frames {
				x := back
				if decode(t, f).BTH.DestinationQP == simQPB {
					x = forth
				}
				assert.Equal(t, x.ID, r.flow[uint64(i+1)], "packet %d", i+1)
			}
			for _, x := range r.records {
				assert.Equal(t, name, x.Key.Service.String())
				assert.EqualValues(t, 2, x.SourcePorts.N)
				assert.NotEqualValues(t, 7, x.SourcePort.N)
				assert.Equal(t, flow.Count{Known: true}, x.DSCP)
			}
			if c.ack != 0 {
				assert.EqualValues(t, 1, r.totals.Connections)
				assert.Equal(t, flow.PairingInferred, back.Pairing)
			}
		})
	}
	t.Run("the connection manager names what CNPs alone belong to", func(t *testing.T) {
		t.Parallel()
		s := newScript(t)
		s.manage(false, mad.MessageREQ, mad.REQ{LocalID: 7, LocalQPN: simQPA, StartingPSN: 500, PathMTU: 3}.AppendTo(nil))
		s.manage(true, mad.MessageREP, mad.REP{LocalID: 8, RemoteID: 7, LocalQPN: simQPB, StartingPSN: 100}.AppendTo(nil))
		s.add(true, infiniband.CNP, 0)
		s.writes(100, 101)
		s.wait(67_000)
		s.writes(101)
		r := s.track()
		assert.EqualValues(t, 4, r.totals.Flows)
		assert.EqualValues(t, 2, r.totals.Connections)
		for _, x := range r.records[2:] {
			assert.Equal(t, flow.PairingCM, x.Pairing)
		}
		data := r.records[3]
		assert.EqualValues(t, 1, data.Retransmitted.N)
		assert.False(t, data.RetransmittedNAK.Known, "CNPs do not tell that there was no NAK")
	})
}

// TestCNPsAlone: CNPs whose direction shows nothing else belong to the connection whose marks they answer, unless
// there are several that they could answer.
func TestCNPsAlone(t *testing.T) {
	t.Parallel()
	marked := func(f *build.Frame) { f.ECN = dissector.ECNCE }
	for name, c := range map[string]struct {
		write       func(s *script)
		connections uint64
	}{
		"one marked connection": {func(s *script) {
			s.add(false, infiniband.RCWriteMiddle, 100, marked)
			s.add(true, infiniband.CNP, 0)
		}, 1},
		"nothing was marked": {func(s *script) {
			s.writes(100)
			s.add(true, infiniband.CNP, 0)
		}, 2},
		"two connections": {func(s *script) {
			s.add(false, infiniband.RCWriteMiddle, 100, marked)
			s.add(false, infiniband.RCWriteMiddle, 100, qp(9))
			s.add(true, infiniband.CNP, 0)
		}, 3},
		"two that notify": {func(s *script) {
			s.add(false, infiniband.RCWriteMiddle, 100, marked)
			s.add(true, infiniband.CNP, 0)
			s.add(true, infiniband.CNP, 0, qp(9))
		}, 3},
		"nothing but CNPs": {func(s *script) {
			s.add(true, infiniband.CNP, 0)
			s.wait(50)
			s.add(true, infiniband.CNP, 0)
			s.add(false, infiniband.CNP, 0)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			c.write(s)
			assert.Equal(t, c.connections, s.track().totals.Connections)
		})
	}
	t.Run("a QP number of two services", func(t *testing.T) {
		t.Parallel()
		s := newScript(t)
		s.writes(100)
		s.add(false, infiniband.UCWriteMiddle, 500)
		s.add(false, infiniband.CNP, 0)
		s.wait(50)
		s.add(false, infiniband.CNP, 0)
		s.writes(101)
		s.add(false, infiniband.UCWriteMiddle, 501)
		r := s.track()
		require.Len(t, r.records, 3)
		ids := map[flow.ID]bool{}
		for i, service := range []infiniband.Service{infiniband.ServiceRC, infiniband.ServiceUC, infiniband.ServiceCNP} {
			assert.Equal(t, service, r.records[i].Key.Service)
			assert.EqualValues(t, 2, r.records[i].Packets)
			ids[r.records[i].ID] = true
		}
		assert.Len(t, ids, 3)
	})
}

// TestDatagramsPair: the two directions between the same two QPs are one connection.
func TestDatagramsPair(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	datagram := func(back bool, to, from uint32) {
		s.add(back, infiniband.UDSendOnly, 1, qp(to), func(f *build.Frame) { f.DETH.SourceQP = from })
	}
	datagram(false, 1, 1)
	datagram(false, 8, 5)
	datagram(true, 1, 1)
	datagram(true, 5, 8)
	datagram(true, 5, 9)
	r := s.track()
	assert.EqualValues(t, 5, r.totals.Flows)
	assert.EqualValues(t, 3, r.totals.Connections)
	for i, partner := range []int{2, 3, 0, 1} {
		assert.Equal(t, r.records[partner].ID, r.records[i].ReverseID)
		assert.Equal(t, flow.PairingDatagram, r.records[i].Pairing)
	}
	assert.Zero(t, r.records[4].ReverseID)
	assert.EqualValues(t, 9, r.records[4].SourceQP.N)
}

// TestEviction bounds the flows and loses nothing of the sums.
func TestEviction(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	for round := range uint32(4) {
		for i := range uint32(40) {
			s.add(false, infiniband.RCWriteMiddle, 100+round, qp(1000+i))
			if i%10 == 9 {
				s.add(false, infiniband.RCWriteMiddle, 100+round*4+i/10, qp(7)) // often seen: never evicted
			}
		}
	}
	config := flow.DefaultConfig()
	config.MaxFlows = 12
	r := track(t, config, s.frames)
	if r.totals.EvictedFlows != 160+1-12 || r.totals.Flows != 161 || r.totals.RDMAPackets != uint64(len(s.frames)) {
		t.Errorf("%+v", r.totals)
	}
	kept := 0
	for i, x := range r.records {
		if x.Key.DestinationQP == 7 {
			kept++
			if x.Packets != 16 {
				t.Errorf("the busy flow has %d packets", x.Packets)
			}
		} else if i < 149 && x.Key.DestinationQP != 1000+uint32(i%40) {
			t.Errorf("evicted as number %d: QP %d", i, x.Key.DestinationQP)
		}
	}
	if kept != 1 {
		t.Errorf("the busy flow has %d records", kept)
	}
	if !slices.IsSortedFunc(r.records[149:], func(a, b flow.Record) int { return int(a.FirstNumber) - int(b.FirstNumber) }) {
		t.Error("flushed records are not in the order of their first packets")
	}
}

// TestPartnerEvicted goes on when one direction of a pair was forgotten.
func TestPartnerEvicted(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	for i := range uint32(5) {
		s.writes(100 + i)
		s.ack(100 + i)
	}
	for i := range uint32(3) {
		s.ack(105+i, qp(500+i))
		s.ack(105 + i)
	}
	s.writes(106, 108)
	s.nak(107)
	config := flow.DefaultConfig()
	config.MaxFlows = 2
	r := track(t, config, s.frames)
	first := r.records[0]
	if first.Key.DestinationQP != simQPB || first.Pairing != flow.PairingInferred || first.SourceQP.N != simQPA {
		t.Errorf("%+v", first)
	}
}

// TestReusedQP: the connection manager opens a new connection on QPs that were used before.
func TestReusedQP(t *testing.T) {
	t.Parallel()
	base := readPcap(t, "testdata/base-cm-send-write-read.pcap")
	frames := make([]frame, 0, 2*len(base))
	for round := range 2 {
		for _, f := range base {
			f.meta.Number = uint64(len(frames) + 1)
			f.meta.Time += int64(round) * 1_000_000_000
			frames = append(frames, f)
		}
	}
	r := track(t, flow.DefaultConfig(), frames)
	if r.totals.Retransmitted != 0 || r.totals.OutOfOrder != 0 || r.totals.MissingPSNs != 0 {
		t.Errorf("%+v", r.totals)
	}
}

func TestCountJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal([]flow.Count{{}, {Known: true}, {N: 7, Known: true}})
	if err != nil || string(got) != "[null,0,7]" {
		t.Errorf("%s %v", got, err)
	}
}

func TestAffinity(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.writes(1)
	s.ack(1)
	s.add(true, infiniband.CNP, 0)
	s.add(false, infiniband.UDSendOnly, 0, qp(1))
	want := flow.Affinity(decode(t, s.frames[0]))
	for _, f := range s.frames {
		if got := flow.Affinity(decode(t, f)); got != want || got == 0 {
			t.Errorf("packet %d: %x, want %x", f.meta.Number, got, want)
		}
	}
}

func TestTotalsAdd(t *testing.T) {
	t.Parallel()
	frames, _ := simulate(t, simConfig{seed: 5, messages: 50, lossBefore: 0.05, firstPSN: 1})
	a, b := track(t, flow.DefaultConfig(), frames), track(t, flow.DefaultConfig(), readPcap(t, "testdata/sit-ecn-cnp.pcap"))
	sum := a.totals
	sum.Add(b.totals)
	if sum.Packets != a.totals.Packets+b.totals.Packets || sum.CEMarked != 4 || sum.CNPs != 3 || sum.Retransmitted != a.totals.Retransmitted ||
		sum.Flows != a.totals.Flows+b.totals.Flows {
		t.Errorf("%+v", sum)
	}
}
