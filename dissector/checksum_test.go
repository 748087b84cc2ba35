package dissector_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
)

// onesSum is the ones' complement sum of 16-bit words.
func onesSum(parts ...[]byte) uint16 {
	var sum uint32
	for _, b := range parts {
		for i := 0; i < len(b); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[i:]))
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// behind puts a UDP datagram without payload, whose checksum is over a destination, behind an IP header's options.
func behind(t *testing.T, protocol uint8, source, header, over netip.Addr, options []byte) ([]byte, dissector.LinkType) {
	t.Helper()
	udp := []byte{0xc0, 1, 0x30, 0x39, 0, 8, 0, 0}
	sum := ^onesSum(source.AsSlice(), over.AsSlice(), []byte{0, 17, 0, 8}, udp)
	binary.BigEndian.PutUint16(udp[6:], sum)
	ip, link := []byte{0x40 | uint8(5+len(options)/4), 0, 0, uint8(28 + len(options)), 0, 0, 0, 0, 64, protocol, 0, 0}, dissector.LinkTypeIPv4
	if source.Is6() {
		ip, link = []byte{0x60, 0, 0, 0, 0, uint8(8 + len(options)), protocol, 64}, dissector.LinkTypeIPv6
	}
	ip = append(append(ip, source.AsSlice()...), header.AsSlice()...)
	return append(append(ip, options...), udp...), link
}

// The checksum is over the destination that the datagram has when it arrives, which a source route may hold.
func TestUDPChecksumBehindOptions(t *testing.T) {
	const udp, hopByHop, routing, destination, right, wrong, unknown = 17, 0, 43, 60,
		dissector.ChecksumRight, dissector.ChecksumWrong, dissector.ChecksumNotCheckable
	a4, b4, c4 := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.9.9.9")
	a6, b6, c6 := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::99")
	route4 := func(kind, pointer uint8) []byte { return append(append([]byte{kind, 7, pointer}, c4.AsSlice()...), 0) }
	route6 := func(kind, left uint8) []byte {
		h := append([]byte{udp, 4, kind, left, 1, 0, 0, 0}, c6.AsSlice()...)
		if kind == 4 {
			return append(h, b6.AsSlice()...)
		}
		return append(append(h[:8:8], b6.AsSlice()...), c6.AsSlice()...)
	}
	for name, c := range map[string]struct {
		protocol             uint8
		source, header, over netip.Addr
		options              []byte
		want                 dissector.ChecksumState
	}{
		"padding":                           {udp, a4, b4, b4, []byte{1, 1, 1, 0}, right},
		"loose route":                       {udp, a4, b4, c4, route4(131, 4), right},
		"loose route, header's":             {udp, a4, b4, b4, route4(131, 4), wrong},
		"strict route":                      {udp, a4, b4, c4, route4(137, 4), right},
		"route at its end":                  {udp, a4, b4, b4, route4(131, 8), right},
		"record route":                      {udp, a4, b4, b4, route4(7, 4), right},
		"damaged options":                   {udp, a4, b4, b4, []byte{7, 200, 4, 0}, unknown},
		"route without address":             {udp, a4, b4, b4, []byte{131, 3, 4, 0}, unknown},
		"hop-by-hop options":                {hopByHop, a6, b6, b6, []byte{udp, 0, 5, 2, 0, 0, 1, 0}, right},
		"hop-by-hop options, other":         {hopByHop, a6, b6, c6, []byte{udp, 0, 5, 2, 0, 0, 1, 0}, wrong},
		"destination options":               {destination, a6, b6, b6, []byte{udp, 0, 1, 4, 0, 0, 0, 0}, right},
		"home address":                      {destination, a6, b6, b6, append([]byte{udp, 2, 201, 16, 1, 0}, make([]byte, 18)...), unknown},
		"damaged destination options":       {destination, a6, b6, b6, []byte{udp, 0, 1, 40, 0, 0, 0, 0}, unknown},
		"old route":                         {routing, a6, b6, c6, route6(0, 1), right},
		"old route at its end":              {routing, a6, b6, b6, route6(0, 0), right},
		"segment route":                     {routing, a6, b6, c6, route6(4, 1), right},
		"segment route, header's":           {routing, a6, b6, b6, route6(4, 1), wrong},
		"route of an unknown type":          {routing, a6, b6, c6, route6(3, 1), unknown},
		"route of an unknown type, arrived": {routing, a6, b6, b6, route6(3, 0), right},
		"route without room":                {routing, a6, b6, b6, []byte{udp, 0, 0, 1, 0, 0, 0, 0}, unknown},
	} {
		data, link := behind(t, c.protocol, c.source, c.header, c.over, c.options)
		var p dissector.Packet
		_ = dissector.Decode(data, dissector.Meta{LinkType: link, OriginalLength: uint32(len(data))}, &p)
		if got := dissector.UDPChecksum(&p); got != c.want {
			t.Errorf("%s: %d, want %d (%v)", name, got, c.want, p.Fault)
		}
	}
}
