package xdp

import (
	"encoding/binary"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture/xdp/attach"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// opened counts at one end of a cable.
func opened(t *testing.T, at vethtest.End, o Options) *Source {
	t.Helper()
	needBPF(t)
	o.Interface = at.Interface
	var s *Source
	var err error
	<-at.Go(t, func() { s, err = Open(o) })
	require.NoError(t, err)
	t.Cleanup(func() { <-at.Go(t, func() { assert.NoError(t, s.Close()) }) })
	return s
}

// way is what a record is compared by.
type way struct {
	source, destination dissector.Address
	qp                  uint32
	protocol            uint8
}

type sums struct{ packets, bytes, marked uint64 }

// swept is what records say, by way.
func swept(t *testing.T, s *Source) (map[way]sums, Ledger) {
	t.Helper()
	got := map[way]sums{}
	l, err := s.Sweep(func(r *Record) {
		w := way{r.Source, r.Destination, r.QP, r.Protocol}
		n := got[w]
		got[w] = sums{n.packets + r.Packets, n.bytes + r.Bytes, n.marked + r.Marked}
	})
	require.NoError(t, err)
	require.Equal(t, l.RDMA, l.Counted, "each packet of RDMA is in one record")
	return got, l
}

// sent is what the dissector finds in frames.
func sent(frames [][]byte) (all map[way]sums, rdma uint64) {
	all = map[way]sums{}
	for _, f := range frames {
		var p dissector.Packet
		if dissector.Decode(f, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(f))}, &p) != nil || !flow.Tracks(&p) {
			continue
		}
		w := way{p.Network.Source, p.Network.Destination, p.BTH.DestinationQP, uint8(p.Protocol)}
		if p.Protocol == dissector.ProtocolMetaRoCE {
			w.qp = p.MetaRoCE.MR0.CH.DestConnID
		}
		n := all[w]
		n.packets++
		n.bytes += uint64(len(f))
		if p.Network.ECN == dissector.ECNCE && p.Protocol != dissector.ProtocolRoCEv1 {
			n.marked++
		}
		all[w] = n
		rdma++
	}
	return all, rdma
}

// wrapped puts frames into VXLAN and GRE, as a virtual network does.
func wrapped(frames [][]byte) (out [][]byte) {
	for i, f := range frames {
		if i%2 == 0 {
			vxlan := append([]byte{8, 0, 0, 0, 0, 0, 42, 0}, f...)
			udp := binary.BigEndian.AppendUint16(nil, 50000)
			udp = binary.BigEndian.AppendUint16(udp, 4789)
			udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(vxlan)))
			out = append(out, inIPv4(17, append(append(udp, 0, 0), vxlan...)))
		} else {
			out = append(out, inIPv4(47, append([]byte{0x20, 0, 0x65, 0x58, 0, 0, 0, 7}, f...)))
		}
	}
	return out
}

func inIPv4(protocol byte, payload []byte) []byte {
	b := []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(20+len(payload)))
	return append(append(b, 0, 0, 0x40, 0, 64, protocol, 0, 0, 172, 16, 0, 1, 172, 16, 0, 2), payload...)
}

// What comes in and what goes out is counted to the packet, whatever way the programs are attached.
func TestRecordsCountWhatWasSent(t *testing.T) {
	frames := framesOf(t, "allreduce-loss.pcapng", "metaroce-spray.pcap", "read-write-mix.pcap", "derived/enc-vlan-pcp3.pcap", "derived/enc-qinq.pcap",
		"derived/enc-erspan2.pcap", "derived/rocev2-ipv6.pcap", "derived/scapy-roce-vectors.pcap", "derived/sit-ecn-cnp.pcap")
	frames = append(frames, wrapped(framesOf(t, "allreduce-loss.pcapng")[:500])...)
	want, rdma := sent(frames)
	require.Greater(t, rdma, uint64(1500))
	for _, test := range []struct {
		ingress attach.Way
		egress  attach.Way
		skip    []attach.Way
	}{
		{attach.NativeFrags, attach.TCX, nil},
		{attach.GenericFrags, attach.TCX, []attach.Way{attach.NativeFrags, attach.Native}},
		{attach.Generic, attach.TCX, []attach.Way{attach.NativeFrags, attach.Native, attach.GenericFrags}},
		{attach.TCX, attach.CLSACT, []attach.Way{attach.NativeFrags, attach.Native, attach.GenericFrags, attach.Generic}},
		{attach.CLSACT, attach.CLSACT, []attach.Way{attach.NativeFrags, attach.Native, attach.GenericFrags, attach.Generic, attach.TCX}},
	} {
		t.Run(string(test.ingress), func(t *testing.T) {
			left, right := vethtest.Pair(t)
			in := opened(t, right, Options{Skip: test.skip})
			skip := test.skip
			if test.egress == attach.CLSACT {
				skip = append(slices.Clip(skip), attach.TCX)
			}
			out := opened(t, left, Options{Skip: skip})
			assert.Equal(t, test.ingress, in.Attached().Ingress, "%v", in.Attached().FellBack)
			assert.Equal(t, test.egress, out.Attached().Egress, "%v", out.Attached().FellBack)
			for _, s := range []*Source{in, out} {
				_, err := s.Sweep(func(*Record) {}) // what the kernel itself sends
				require.NoError(t, err)
			}
			left.Send(t, frames)
			for name, s := range map[string]*Source{"in": in, "out": out} {
				got, l := swept(t, s)
				assert.Equal(t, want, got, name)
				assert.Equal(t, rdma, l.RDMA, name)
				assert.Equal(t, l.RDMA, l.Counted, name)
				assert.Zero(t, l.Others[Overflow], name)
				assert.GreaterOrEqual(t, l.Packets(), uint64(len(frames)), name)
			}
		})
	}
}

// A gap is found across sweeps, and what fills it later; what is sent twice is a duplicate.
func TestGapsAcrossSweeps(t *testing.T) {
	left, right := vethtest.Pair(t)
	s := opened(t, right, Options{})
	packet := func(psn uint32) []byte {
		b := binary.BigEndian.AppendUint32([]byte{0x07, 0, 0xff, 0xff, 0, 0, 0, 9}, psn)
		return inIPv4(17, append([]byte{0xc0, 0, 0x12, 0xb7, 0, 8 + 12 + 8 + 4, 0, 0}, append(b, make([]byte, 12)...)...))
	}
	sweep := func() (r Record) {
		_, err := s.Sweep(func(each *Record) { r = *each })
		require.NoError(t, err)
		return r
	}
	left.Send(t, [][]byte{packet(0xfffffe), packet(0xffffff), packet(0), packet(4)})
	first := sweep()
	assert.Equal(t, Sequence{Known: true, DuplicatesKnown: true, Gaps: 1, Missing: 3}, first.Sequence, "1, 2 and 3")
	left.Send(t, [][]byte{packet(2), packet(5), packet(8), packet(6), packet(6)})
	second := sweep()
	assert.Equal(t, Sequence{Known: true, DuplicatesKnown: true, Gaps: 1, Missing: 1, Late: 2, Duplicates: 1, DuplicatePayload: 8}, second.Sequence, "7 is missing; 2 and 6 came late")
	assert.EqualValues(t, 9, second.NextPSN)
	left.Send(t, [][]byte{packet(9), packet(0xfffffe)})
	third := sweep()
	assert.Equal(t, Sequence{Known: true, DuplicatesKnown: true, Duplicates: 1, DuplicatePayload: 8}, third.Sequence)
}

// Where the map is full, packets come by the ring, or are counted as without room: none is lost unseen.
func TestFullMapLosesNothingUnseen(t *testing.T) {
	left, right := vethtest.Pair(t)
	s := opened(t, right, Options{Connections: 512, Ring: 1 << 16})
	const connections = 30_000
	frames := make([][]byte, connections)
	for i := range frames {
		b := append([]byte{0x04, 0, 0xff, 0xff, 0}, byte(i>>16), byte(i>>8), byte(i), 0, 0, 0, 1)
		frames[i] = inIPv4(17, append([]byte{0xc0, 0, 0x12, 0xb7, 0, 8 + 12 + 8 + 4, 0, 0}, append(b, make([]byte, 12)...)...))
	}
	var counted, overflow, spilled, rows uint64
	done := left.Go(t, func() { left.Send(t, frames); left.Send(t, frames) })
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		l, err := s.Sweep(func(r *Record) {
			rows++
			assert.LessOrEqual(t, r.Packets, uint64(2))
		})
		require.NoError(t, err)
		assert.Equal(t, l.RDMA, l.Counted)
		counted += l.Counted
		overflow += l.Others[Overflow]
		spilled += l.Spilled
	}
	assert.EqualValues(t, 2*connections, counted+overflow)
	assert.Positive(t, spilled)
	assert.Greater(t, counted, uint64(1000))
	t.Logf("%d in records, %d of them by the ring, %d without room", counted, spilled, overflow)
}

// Two agents on one interface both count all.
func TestTwoSourcesOnOneInterface(t *testing.T) {
	left, right := vethtest.Pair(t)
	first, second := opened(t, right, Options{}), opened(t, right, Options{})
	assert.Equal(t, attach.TCX, second.Attached().Ingress)
	assert.NotEmpty(t, second.Attached().FellBack)
	frames := framesOf(t, "metaroce-spray.pcap")
	left.Send(t, frames)
	want, _ := sent(frames)
	for _, s := range []*Source{first, second} {
		got, _ := swept(t, s)
		assert.Equal(t, want, got)
	}
}

// Close leaves nothing behind.
func TestCloseDetaches(t *testing.T) {
	_, right := vethtest.Pair(t)
	for _, skip := range [][]attach.Way{nil, {attach.NativeFrags, attach.Native, attach.GenericFrags, attach.Generic, attach.TCX}} {
		s := opened(t, right, Options{Skip: skip})
		<-right.Go(t, func() { assert.NoError(t, s.Close()) })
	}
	out, err := exec.CommandContext(t.Context(), "ip", "-n", right.Namespace, "-d", "link", "show", right.Interface).CombinedOutput()
	require.NoError(t, err)
	assert.NotContains(t, string(out), "prog/xdp")
	for _, where := range []string{"ingress", "egress"} {
		out, err = exec.CommandContext(t.Context(), "tc", "-n", right.Namespace, "filter", "show", "dev", right.Interface, where).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Empty(t, strings.TrimSpace(string(out)))
	}
}
