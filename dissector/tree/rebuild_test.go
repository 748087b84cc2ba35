package tree_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// rebuild makes a frame of nothing but the values of a tree's leaves and where they stand.
func rebuild(tb testing.TB, root *tree.Node) []byte {
	tb.Helper()
	frame := make([]byte, root.Length)
	root.Walk(func(n *tree.Node) bool {
		leaf := n.Length > 0 && !slices.ContainsFunc(n.Children, func(c *tree.Node) bool { return c.Length > 0 })
		if !leaf {
			return true
		}
		value := encoded(tb, n)
		if n.BitLength == 0 {
			require.Len(tb, value, n.Length, "%s (%s)", n.Name, n.Field)
			copy(frame[n.Offset:], value)
			return true
		}
		bits := uint64(0)
		for _, b := range value {
			bits = bits<<8 | uint64(b)
		}
		bits /= scaled(n.Field)
		from, to := bitRange(n)
		for at := to - 1; at >= from; at-- {
			frame[at/8] |= byte(bits&1) << (7 - at%8)
			bits >>= 1
		}
		require.Zero(tb, bits, "%s (%s) has more bits than it stands on", n.Name, n.Field)
		return true
	})
	return frame
}

// scaled is the unit of fields whose value is in bytes, like tshark's, and stands on the wire in words of four.
func scaled(field string) uint64 {
	if field == "ip.hdr_len" || field == "tcp.hdr_len" {
		return 4
	}
	return 1
}

// encoded is the value of a leaf as it goes over the wire, numbers of bit fields as eight bytes.
func encoded(tb testing.TB, n *tree.Node) []byte {
	tb.Helper()
	switch v := n.Value.(type) {
	case []byte:
		return v
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case uint64:
		big := binary.BigEndian.AppendUint64(nil, v)
		if n.BitLength != 0 {
			return big
		}
		big = big[8-n.Length:]
		if n.Field == "erf.ts" || strings.HasPrefix(n.Field, "smb_direct.") || strings.HasPrefix(n.Field, "nvme.") {
			slices.Reverse(big)
		}
		return big
	case string:
		if mac, err := net.ParseMAC(v); err == nil && n.Length == len(mac) {
			return mac
		}
		a, err := netip.ParseAddr(v)
		require.NoError(tb, err, "%s (%s)", n.Name, n.Field)
		if n.Length == 4 {
			return a.Unmap().AsSlice()
		}
		whole := a.As16()
		return whole[:]
	}
	require.Fail(tb, "no value", "%s (%s): %v", n.Name, n.Field, n.Value)
	return nil
}

// Every header is decoded and encoded again, link layers, tunnels and management datagrams included: the values of the
// leaves, put back where they stand, are the frame. No bit of a field is lost or taken for another's.
func TestLeavesMakeTheFrame(t *testing.T) {
	g := &generator{t, rand.New(rand.NewPCG(6, 6))}
	frames := asFrames(g.frames(256 * int(networks) * int(wrappings)))
	frames = append(frames, g.linkFrames(256*int(links))...)
	frames = append(frames, asFrames(append(g.metaFrames(2000), g.brokenFrames(2000)...))...)
	frames = append(frames, collect(t, captures(t)...)...)
	check(t, frames)
}

func TestLeavesMakeTheFrameInPublicCaptures(t *testing.T) {
	for _, file := range publicCaptures(t) {
		frames := framefile.Read(t, file)
		check(t, frames[:min(len(frames), 1000)])
	}
}

func check(t *testing.T, frames []framefile.Frame) {
	t.Helper()
	var p dissector.Packet
	for _, f := range frames {
		err := dissector.Decode(f.Data, f.Meta, &p)
		got := rebuild(t, tree.Build(&p, err))
		if f.Meta.LinkType == dissector.LinkTypeNull && len(got) >= 4 && got[0] != f.Data[0] { // in the byte order of the capturing host
			slices.Reverse(got[:4])
		}
		if !bytes.Equal(got, f.Data) {
			require.Failf(t, "differs", "%v, frame %d\n%x\n%x", p.Protocol, f.Meta.Number, f.Data, got)
		}
	}
}
