package dissector_test

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// ownFrames are all frames of testdata and one for each shape and opcode.
func ownFrames(tb testing.TB) []frame {
	tb.Helper()
	var frames []frame
	for _, file := range filesWith(tb, "testdata", ".pcap") {
		frames = append(frames, readCapture(tb, file)...)
	}
	for _, s := range shapes(tb) {
		frames = append(frames, frame{s.data, metaOf(s.data)})
	}
	for code := range 256 {
		f := dataFrame(infiniband.Opcode(code), 6)
		data := mustBuild(tb, f)
		f.RoCEv1 = true
		one := mustBuild(tb, f)
		frames = append(frames, frame{data, metaOf(data)}, frame{one, metaOf(one)})
	}
	outer := build.IP{Source: ipA, Destination: ipB}
	inner := mustBuild(tb, six(dataFrame(infiniband.RCWriteOnly, 9)))
	for _, data := range [][]byte{
		build.Pause(nil, macA, 9),
		build.PFC(nil, macA, 8, [8]uint16{3: 9}),
		overEthernet(0x0800, build.GENEVE(nil, outer, 9, 1, []byte{1, 2, 3, 4}, inner)),
		overEthernet(0x0800, build.GRE(nil, outer, 9, inner)),
		overEthernet(0x0800, outer.AppendIP(nil, 41, inner[14:])),
		overEthernet(0x8847, build.MPLS(nil, []uint32{16, 17}, inner[14:])),
		overEthernet(0x0800, outer.AppendIP(nil, 6, make([]byte, 40))),
	} {
		frames = append(frames, frame{data, metaOf(data)})
	}
	for _, data := range metaFrames(tb) {
		frames = append(frames, frame{data, metaOf(data)})
	}
	return frames
}

// isHeader tells whether a layer is a header, which is in Layers only as a whole.
func isHeader(t dissector.LayerType) bool {
	switch t {
	case dissector.LayerPayload, dissector.LayerMAD, dissector.LayerPad, dissector.LayerICRC, dissector.LayerTrailer, dissector.LayerFCS, dissector.LayerFragment:
		return false
	default:
		return true
	}
}

// checkInvariants holds for every packet that Decode leaves, whatever the input.
func checkInvariants(tb testing.TB, p *dissector.Packet, err error) {
	tb.Helper()
	if err != nil && p.Fault.Reason == dissector.ReasonNone {
		tb.Errorf("%v without a reason", err)
	}
	if err == nil && p.Fault != (dissector.Fault{}) {
		tb.Errorf("fault %+v without an error", p.Fault)
	}
	switch {
	case err == nil:
	case errors.Is(err, dissector.ErrTruncated), errors.Is(err, dissector.ErrMalformed), errors.Is(err, dissector.ErrUnsupported), errors.Is(err, dissector.ErrNotRDMA):
	default:
		tb.Errorf("error %v is none of the four", err)
	}
	if int(p.LayerCount) > dissector.MaxLayers {
		tb.Fatalf("%d layers", p.LayerCount)
	}
	end := 0
	for i, l := range p.Layers {
		if i >= int(p.LayerCount) {
			if l != (dissector.Layer{}) {
				tb.Errorf("layer %d behind the last: %+v", i, l)
			}
			continue
		}
		if l.Type == dissector.LayerNone || int(l.Offset) < end || l.End() > len(p.Data) {
			tb.Errorf("layer %d: %+v after %d in %d bytes", i, l, end, len(p.Data))
		}
		end = l.End()
	}
	if int(p.Fault.Offset) > len(p.Data) {
		tb.Errorf("fault %+v in %d bytes", p.Fault, len(p.Data))
	}
	if int(p.CapturedEnd) > len(p.Data) {
		tb.Errorf("end %d of %d bytes", p.CapturedEnd, len(p.Data))
	}
	if len(p.Payload()) > int(p.PayloadLength) {
		tb.Errorf("payload %d of %d bytes", len(p.Payload()), p.PayloadLength)
	}
	if p.ICRCOffset != 0 && err == nil && int(p.PayloadOffset)+int(p.PayloadLength)+int(p.BTH.PadCount) != int(p.ICRCOffset) {
		tb.Errorf("payload %d+%d, pad %d, ICRC at %d", p.PayloadOffset, p.PayloadLength, p.BTH.PadCount, p.ICRCOffset)
	}
	if p.IsRDMA() && errors.Is(err, dissector.ErrNotRDMA) {
		tb.Error("RDMA and not RDMA")
	}
	if p.Tunnel.Depth > dissector.MaxDepth {
		tb.Errorf("%d tunnels", p.Tunnel.Depth)
	}
	// These must take whatever Decode leaves.
	dissector.VerifyICRC(p)
	dissector.UDPChecksum(p)
	dissector.FindRewrittenPort(p)
}

func TestInvariantsOfOwnFrames(t *testing.T) {
	for _, f := range ownFrames(t) {
		var p dissector.Packet
		err := dissector.Decode(f.data, f.meta, &p)
		checkInvariants(t, &p, err)
	}
}

func TestInvariantsOfPublicCaptures(t *testing.T) {
	dir := sharedCaptures(t)
	count := 0
	for _, file := range filesWith(t, dir, "") {
		if ext := filepath.Ext(file); ext == ".tsv" || ext == ".md" {
			continue
		}
		var p, q dissector.Packet
		for _, f := range readCapture(t, file) {
			err := dissector.Decode(f.data, f.meta, &p)
			checkInvariants(t, &p, err)
			slow := dissector.DecodeWithoutShortcut(f.data, f.meta, &q)
			if p := &p; !errors.Is(err, slow) || !samePacket(p, &q) {
				t.Errorf("%s frame %d: the two paths differ: %v, %v", file, f.meta.Number, err, slow)
			}
			count++
		}
	}
	t.Logf("%d frames", count)
}

// samePacket compares without reflection, which is what makes comparing thousands bearable.
func samePacket(a, b *dissector.Packet) bool {
	type flat = struct {
		meta     dissector.Meta
		protocol dissector.Protocol
		fault    dissector.Fault
		count    uint8
		layers   [dissector.MaxLayers]dissector.Layer
		ethernet dissector.Ethernet
		network  dissector.IP
		udp      dissector.UDP
		tunnel   dissector.Tunnel
		pause    dissector.Pause
		lrh      dissector.LRH
		has      infiniband.HeaderSet
		bth      infiniband.BTH
		rdeth    infiniband.RDETH
		deth     infiniband.DETH
		xrceth   infiniband.XRCETH
		reth     infiniband.RETH
		atomic   infiniband.AtomicETH
		aeth     infiniband.AETH
		ack      infiniband.AtomicAckETH
		imm      infiniband.ImmDt
		ieth     infiniband.IETH
		feth     infiniband.FETH
		tail     [4]uint16
		metaroce dissector.MetaRoCE
	}
	of := func(p *dissector.Packet) flat {
		return flat{
			p.Meta, p.Protocol, p.Fault, p.LayerCount, p.Layers, p.Ethernet, p.Network, p.UDP, p.Tunnel, p.Pause, p.LRH,
			p.Has, p.BTH, p.RDETH, p.DETH, p.XRCETH, p.RETH, p.AtomicETH, p.AETH, p.AtomicAckETH, p.ImmDt, p.IETH, p.FETH,
			[4]uint16{p.PayloadOffset, p.PayloadLength, p.ICRCOffset, p.CapturedEnd},
			p.MetaRoCE,
		}
	}
	return of(a) == of(b)
}

// TestDecodeLeavesNothingBehind decodes frames after others into one Packet: the result must be that of
// decoding them alone. One frame of each kind of result, whole and cut, comes after each other, and every frame
// after the one before it.
func TestDecodeLeavesNothingBehind(t *testing.T) {
	frames := ownFrames(t)
	var reused dissector.Packet
	after := func(b, f *frame, want error, alone *dissector.Packet) {
		if got := dissector.Decode(f.data, f.meta, &reused); !errors.Is(got, want) || !samePacket(alone, &reused) {
			t.Fatalf("after %x: %v, want %v: %s", b.data, got, want, cmp.Diff(*alone, reused))
		}
	}
	var kinds []frame
	seen := map[[4]int]bool{}
	before := &frames[0]
	for i := range frames {
		f := &frames[i]
		var p dissector.Packet
		err := dissector.Decode(f.data, f.meta, &p)
		after(before, f, err, &p)
		before = f
		kind := [4]int{int(p.Has) | int(p.MetaRoCE.MR0.Has)<<32, int(p.LayerCount), int(p.Tunnel.Type)<<8 | int(p.Protocol), int(p.Fault.Reason)}
		if err == nil {
			kind[3] = -1
		}
		if !seen[kind] {
			seen[kind] = true
			cut := frame{f.data[:min(len(f.data), 60)], f.meta}
			kinds = append(kinds, *f, cut)
		}
	}
	for i := range kinds {
		f := &kinds[i]
		var alone dissector.Packet
		want := dissector.Decode(f.data, f.meta, &alone)
		for j := range kinds {
			_ = dissector.Decode(kinds[j].data, kinds[j].meta, &reused)
			after(&kinds[j], f, want, &alone)
		}
	}
	t.Logf("%d frames; %d after each other", len(frames), len(kinds))
}

// TestNoPrefixThatCutsAHeaderIsWhole cuts every frame everywhere.
func TestNoPrefixThatCutsAHeaderIsWhole(t *testing.T) {
	var whole, p dissector.Packet
	for _, f := range ownFrames(t) {
		wholeErr := dissector.Decode(f.data, f.meta, &whole)
		headers := 0
		for _, l := range whole.Layers[:whole.LayerCount] {
			if isHeader(l.Type) {
				headers = l.End()
			}
		}
		for n := range f.data {
			err := dissector.Decode(f.data[:n], f.meta, &p)
			checkInvariants(t, &p, err)
			if wholeErr == nil && n < headers && !errors.Is(err, dissector.ErrTruncated) {
				t.Errorf("%x cut to %d of %d bytes of headers: %v %+v", f.data[:headers], n, headers, err, p.Fault)
			}
			if wholeErr == nil && n >= headers && (err != nil || p.Has != whole.Has || p.MetaRoCE != whole.MetaRoCE || p.PayloadLength != whole.PayloadLength) {
				t.Errorf("%x cut to %d behind %d bytes of headers: %v %+v", f.data[:headers], n, headers, err, p.Fault)
			}
			short := f.meta
			short.OriginalLength = uint32(n) // the wire had no more
			err = dissector.Decode(f.data[:n], short, &p)
			checkInvariants(t, &p, err)
			if n < headers && err == nil {
				t.Errorf("%x sent as %d of %d bytes of headers: no error", f.data[:headers], n, headers)
			}
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	frames := ownFrames(t)
	var p dissector.Packet
	states := 0
	allocations := testing.AllocsPerRun(5, func() {
		for _, f := range frames {
			if dissector.Decode(f.data, f.meta, &p) == nil {
				states++
			}
			states += int(dissector.VerifyICRC(&p)) + int(dissector.UDPChecksum(&p))
			if _, ok := dissector.FindRewrittenPort(&p); ok {
				states++
			}
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations for %d frames", allocations, len(frames))
	}
	if states == 0 {
		t.Error("nothing was decoded")
	}
}

func TestMetaAndDataAreKept(t *testing.T) {
	data := mustBuild(t, dataFrame(infiniband.RCSendOnly, 8))
	meta := dissector.Meta{Time: math.MaxInt64, Number: 7, OriginalLength: 9000, Interface: 3, LinkType: dissector.LinkTypeEthernet, HasTime: true}
	var p dissector.Packet
	if err := dissector.Decode(data, meta, &p); err != nil {
		t.Fatal(err)
	}
	if p.Meta != meta || &p.Data[0] != &data[0] {
		t.Errorf("meta %+v", p.Meta)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range ownFrames(f) {
		f.Add(seed.data, uint16(seed.meta.LinkType), seed.meta.OriginalLength, seed.meta.FCSLength)
	}
	f.Fuzz(func(t *testing.T, data []byte, link uint16, original uint32, fcs uint8) {
		meta := dissector.Meta{LinkType: dissector.LinkType(link), OriginalLength: original, FCSLength: fcs & 7}
		var quick, slow dissector.Packet
		err := dissector.Decode(data, meta, &quick)
		checkInvariants(t, &quick, err)
		slowErr := dissector.DecodeWithoutShortcut(data, meta, &slow)
		if !errors.Is(err, slowErr) || !samePacket(&quick, &slow) {
			t.Errorf("the two paths differ: %v, %v: %s", err, slowErr, cmp.Diff(slow, quick))
		}
		// A Packet full of something else must make no difference.
		if again := dissector.Decode(data, meta, &fuzzReused); !errors.Is(again, err) || !samePacket(&quick, &fuzzReused) {
			t.Errorf("a used packet differs: %v, %v: %s", err, again, cmp.Diff(quick, fuzzReused))
		}
	})
}

// fuzzReused is what FuzzDecode decodes all its inputs into.
var fuzzReused dissector.Packet
