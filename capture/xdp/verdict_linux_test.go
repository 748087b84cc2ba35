package xdp

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// needBPF skips where programs cannot be loaded.
func needBPF(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("programs in the kernel need root")
	}
}

// loaded are the programs, attached to nothing.
func loaded(tb testing.TB) *ebpf.Collection {
	tb.Helper()
	needBPF(tb)
	objects, err := load(Options{Connections: 1 << 14, Ring: 1 << 16})
	require.NoError(tb, err)
	tb.Cleanup(objects.Close)
	return objects
}

// framesOf are the frames of Ethernet of captures in testdata.
func framesOf(tb testing.TB, names ...string) (frames [][]byte) {
	tb.Helper()
	for _, name := range names {
		source, err := pcapfile.Open(filepath.Join("..", "..", "testdata", name), pcapfile.Options{})
		require.NoError(tb, err)
		var batch capture.Batch
		for source.Next(&batch) == nil {
			for _, f := range batch.Frames {
				if f.LinkType == uint16(dissector.LinkTypeEthernet) && len(f.Data) >= 14 {
					frames = append(frames, append([]byte(nil), f.Data...))
				}
			}
		}
		require.NoError(tb, source.Close())
	}
	return frames
}

// judge runs a program on a frame, and tells what it counted: a reason, or -1 for RDMA.
func judge(tb testing.TB, objects *ebpf.Collection, program string, frame []byte, before *programLedger) int {
	tb.Helper()
	got, _, err := objects.Programs[program].Test(frame)
	require.NoError(tb, err)
	if program == programProgOnTc {
		require.Equal(tb, ^uint32(0), got, "the program lets every frame go on")
	} else {
		require.EqualValues(tb, 2, got, "the program lets every frame go on")
	}
	s := Source{totals: objects.Maps[programMapTotals]}
	after, err := s.sum(1)
	require.NoError(tb, err)
	verdict, seen := 0, uint64(0)
	for i, n := range after.Other {
		if d := n - before.Other[i]; d > 0 {
			verdict = i
			seen += d
		}
	}
	if d := after.Rdma - before.Rdma; d > 0 {
		verdict = -1
		seen += d
	}
	require.EqualValues(tb, 1, seen, "each frame is counted once")
	*before = after
	return verdict
}

// agrees tells whether the kernel's verdict is package dissector's, as far as the program goes.
func agrees(frame []byte, verdict int) bool {
	var p dissector.Packet
	err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(frame))}, &p)
	tracked := flow.Tracks(&p)
	switch verdict {
	case -1:
		return err == nil && tracked
	case NotRDMA:
		return errors.Is(err, dissector.ErrNotRDMA) || !tracked && err != nil
	case Unsupported: // tunnels that only the dissector follows, and what it does not support either
		return true
	case Fragment:
		return p.Network.Fragment || p.Tunnel.Outer.Fragment
	case Truncated:
		return errors.Is(err, dissector.ErrTruncated)
	case Malformed:
		return errors.Is(err, dissector.ErrMalformed) || errors.Is(err, dissector.ErrNotRDMA)
	case Doubtful: // its ICRC tells, which the program does not compute
		return errors.Is(err, dissector.ErrNotRDMA) || errors.Is(err, dissector.ErrMalformed) || errors.Is(err, dissector.ErrUnsupported) ||
			dissector.VerifyICRC(&p) == dissector.ICRCGood
	case Pause:
		return p.Protocol == dissector.ProtocolPause || errors.Is(err, dissector.ErrTruncated) || errors.Is(err, dissector.ErrMalformed)
	}
	return false
}

// Whatever the bytes, the programs let the frame go on, count it once, and judge it as the dissector does.
func TestVerdictsAreTheDissectors(t *testing.T) {
	objects := loaded(t)
	var frames [][]byte
	for _, f := range framesOf(t, "metaroce-spray.pcap", "derived/enc-vlan-pcp3.pcap", "derived/enc-qinq.pcap", "derived/enc-erspan2.pcap",
		"derived/rocev2-ipv6.pcap", "derived/scapy-roce-vectors.pcap", "derived/pfc.pcap", "derived/neg-dns-sport4791.pcap",
		"derived/base-cm-send-write-read.pcap", "derived/sit-nak-all.pcap", "read-write-mix.pcap") {
		if len(frames) < 400 || len(f) > 14 && f[12] != 8 {
			frames = append(frames, f)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, program := range []string{programProgOnXdp, programProgOnTc} {
		var before programLedger
		s := Source{totals: objects.Maps[programMapTotals]}
		before, err := s.sum(1)
		require.NoError(t, err)
		check := func(frame []byte) {
			if program == programProgOnTc && len(frame) < 14+40 { // the kernel runs it on no IP packet that is cut within its header
				return
			}
			verdict := judge(t, objects, program, frame, &before)
			if !agrees(frame, verdict) {
				var p dissector.Packet
				err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(frame))}, &p)
				t.Fatalf("%s: verdict %d, the dissector says %v (%+v): % x", program, verdict, err, p.Fault, frame)
			}
		}
		seen := 0
		for i, f := range frames {
			check(f)
			if verdict := func() bool {
				var p dissector.Packet
				return dissector.Decode(f, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(f))}, &p) == nil
			}(); verdict {
				seen++
			}
			if i%16 == 0 {
				for n := 14; n < min(len(f), 220); n++ {
					check(f[:n])
				}
			}
			for range 8 { // a byte of the headers is another one
				g := append([]byte(nil), f[:min(len(f), 400)]...)
				g[12+random.IntN(min(len(g), 120)-12)] = byte(random.Uint32())
				check(g)
			}
		}
		require.Greater(t, seen, 100)
		for range 2000 {
			g := make([]byte, 14+random.IntN(200))
			for i := range g {
				g[i] = byte(random.Uint32())
			}
			check(g)
		}
	}
}
