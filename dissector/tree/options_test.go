package tree_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/tree"
)

// Options of IPv4 and IPv6 are shown one by one; what is no whole option stays a gap.
func TestOptionsAreShownOneByOne(t *testing.T) {
	mac := [6]byte{2, 0, 0, 0, 0, 2}
	four := func(options ...byte) []byte {
		packet := labelFrame(t, func(f *build.Frame) { f.NoEthernet = true })
		packet = append(append(append([]byte(nil), packet[:20]...), options...), packet[20:]...)
		packet[0] += byte(len(options) / 4)
		binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
		return build.Ethernet(nil, mac, mac, 0x0800, packet)
	}
	six := func(protocol byte, options ...byte) []byte {
		h := build.IP{Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2")}
		header := append([]byte{59, byte((len(options)+2)/8 - 1)}, options...)
		return build.Ethernet(nil, mac, mac, 0x86dd, h.AppendIP(nil, protocol, header))
	}
	for name, c := range map[string]struct {
		data  []byte
		field string
		want  []any
	}{
		"types":               {four(1, 0x94, 4, 0, 0, 1, 1, 0), "ip.opt.type", []any{uint64(1), uint64(0x94), uint64(1), uint64(1), uint64(0)}},
		"router alert":        {four(0x94, 4, 0, 7), "ip.opt.ra", []any{uint64(7)}},
		"recorded route":      {four(7, 11, 8, 10, 0, 0, 9, 0, 0, 0, 0, 0), "ip.rec_rt", []any{"10.0.0.9"}},
		"empty route":         {four(7, 11, 8, 10, 0, 0, 9, 0, 0, 0, 0, 0), "ip.empty_rt", []any{"0.0.0.0"}},
		"pointer":             {four(0x83, 7, 4, 10, 0, 0, 9, 0), "ip.opt.ptr", []any{uint64(4)}},
		"stream":              {four(0x88, 4, 1, 2), "ip.opt.sid", []any{uint64(0x102)}},
		"timestamp":           {four(0x44, 8, 5, 0x31, 0, 0, 0, 1), "ip.opt.overflow", []any{uint64(3)}},
		"behind the end":      {four(0, 0x94, 4, 0), "ip.opt.type", []any{uint64(0)}},
		"too long":            {four(7, 40, 4, 0), "ip.opt.len", nil},
		"too short":           {four(0x9e, 1, 0, 0), "ip.opt.len", nil},
		"hop-by-hop":          {six(0, 5, 2, 0, 3, 1, 0), "ipv6.opt.router_alert", []any{uint64(3)}},
		"padding":             {six(0, 0, 0, 1, 2, 0, 0), "ipv6.opt.type", []any{uint64(0), uint64(0), uint64(1)}},
		"jumbo":               {six(0, 0xc2, 4, 0, 1, 0, 0), "ipv6.opt.jumbo", []any{uint64(0x10000)}},
		"tunnel limit":        {six(60, 4, 1, 4, 1, 1, 0), "ipv6.opt.tel", []any{uint64(4)}},
		"of another length":   {six(0, 5, 3, 0, 0, 0, 0), "ipv6.opt.unknown", []any{[]byte{0, 0, 0}}},
		"longer than header":  {six(0, 5, 30, 0, 0, 0, 0), "ipv6.opt.length", nil},
		"destination options": {six(60, 1, 4, 0, 0, 0, 0), "ipv6.dstopts.nxt", []any{uint64(59)}},
	} {
		root, _ := treeOf(c.data, dissector.Meta{LinkType: dissector.LinkTypeEthernet})
		checkTree(t, c.data, root)
		var got []any
		root.Walk(func(n *tree.Node) bool {
			if n.Field == c.field {
				got = append(got, n.Value)
			}
			return true
		})
		require.Equal(t, c.want, got, name)
	}
}
