package tree

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
)

// group adds the fields of one header to its node. Fields that reach past the captured bytes are left out,
// so that a header cut by the capture shows what there is of it.
type group struct {
	node *Node
	data []byte // the header's bytes
	base int    // offset of data in the frame
}

// newGroup starts the node of a header of n bytes at offset; fewer where the frame ends earlier.
func newGroup(name, field string, frame []byte, offset, n int) *group {
	offset = min(max(offset, 0), len(frame))
	data := frame[offset:min(offset+max(n, 0), len(frame))]
	return &group{
		node: &Node{Name: name, Field: field, Offset: offset, Length: len(data)},
		data: data,
		base: offset,
	}
}

// has tells whether n bytes at offset were captured.
func (g *group) has(offset, n int) bool { return offset >= 0 && n >= 0 && offset+n <= len(g.data) }

// value is the big-endian integer of n bytes, at most 8, at offset, and 0 where they are not there.
func (g *group) value(offset, n int) uint64 {
	if !g.has(offset, n) {
		return 0
	}
	var v uint64
	for _, b := range g.data[offset : offset+n] {
		v = v<<8 | uint64(b)
	}
	return v
}

// add attaches a field of n bytes at offset. What does not fit is returned, too, but attached nowhere.
func (g *group) add(name, field string, offset, n int, value any) *Node {
	c := &Node{Name: name, Field: field, Value: value, Offset: g.base + offset, Length: n}
	if g.has(offset, n) {
		g.node.Children = append(g.node.Children, c)
	}
	return c
}

// uint adds an integer of n bytes.
func (g *group) uint(name, field string, offset, n int) *Node {
	c := g.add(name, field, offset, n, g.value(offset, n))
	c.wideNumber = n > 4
	return c
}

// hex adds an integer whose meaning is its hexadecimal form with all digits.
func (g *group) hex(name, field string, offset, n int) *Node {
	c := g.uint(name, field, offset, n)
	c.Meaning = fmt.Sprintf("0x%0*x", 2*n, c.Value)
	return c
}

// bytes adds opaque bytes; none are no field.
func (g *group) bytes(name, field string, offset, n int) {
	if n > 0 && g.has(offset, n) {
		g.add(name, field, offset, n, g.data[offset:offset+n])
	}
}

// rest adds the bytes from offset to the end of the header.
func (g *group) rest(name, field string, offset int) {
	g.bytes(name, field, offset, len(g.data)-offset)
}

// mac adds an Ethernet address.
func (g *group) mac(name, field string, offset int) {
	g.add(name, field, offset, 6, g.macText(offset))
}

func (g *group) macText(offset int) string {
	if !g.has(offset, 6) {
		return ""
	}
	return macText(g.data[offset : offset+6])
}

func macText(b []byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
}

// address adds an IPv4 or IPv6 address of n bytes. An IPv4 address mapped into IPv6, as RoCEv1 has in its
// GIDs, is written out like that, with the IPv4 address as its meaning.
func (g *group) address(name, field string, offset, n int) *Node {
	text, meaning := "", ""
	if g.has(offset, n) {
		if a, ok := netip.AddrFromSlice(g.data[offset : offset+n]); ok {
			text = a.String()
			if a.Is4In6() {
				meaning = a.Unmap().String()
			}
		}
	}
	c := g.add(name, field, offset, n, text)
	c.Meaning = meaning
	return c
}

// bits adds an integer of n bits, at most 32; offset counts bits from the start of the header.
func (g *group) bits(name, field string, offset, n int) *Node {
	first, last := offset/8, (offset+n+7)/8
	v := g.value(first, last-first) >> (last*8 - offset - n) & (1<<n - 1)
	c := g.add(name, field, first, last-first, v)
	if offset%8 != 0 || n%8 != 0 {
		c.BitOffset, c.BitLength = offset%8, n
	}
	return c
}

// flag adds a single bit.
func (g *group) flag(name, field string, offset int) *Node {
	c := g.bits(name, field, offset, 1)
	c.Value = c.Value == uint64(1)
	return c
}

// sub adds a group of n bytes within the header, whose fields are added to the result.
func (g *group) sub(name, field string, offset, n int) *group {
	if !g.has(offset, n) {
		return &group{node: &Node{}}
	}
	c := g.add(name, field, offset, n, nil)
	return &group{node: c, data: g.data[offset : offset+n], base: g.base + offset}
}

// computed adds a field without bytes of its own.
func (g *group) computed(name, field string, value any, meaning string) *Node {
	c := &Node{Name: name, Field: field, Value: value, Meaning: meaning, Offset: g.base + len(g.data)}
	g.node.Children = append(g.node.Children, c)
	return c
}

// fill gives every bit of the node that none of its children covers a child of its own, all the way down.
func fill(n *Node, frame []byte) {
	covered := slices.ContainsFunc(n.Children, func(c *Node) bool { return c.Length > 0 })
	if !covered {
		return
	}
	at, end := n.bits()
	filled := make([]*Node, 0, len(n.Children))
	gap := func(to int) {
		if to > at {
			c := covering(at, to)
			c.Name, c.Value = "Not decoded", unclaimed(frame, at, to)
			filled = append(filled, c)
		}
	}
	for _, c := range n.Children {
		fill(c, frame)
		if c.Length > 0 {
			from, to := c.bits()
			gap(min(from, end))
			at = max(at, to)
		}
		filled = append(filled, c)
	}
	gap(end)
	n.Children = filled
}

// unclaimed is the value of a run of bits: bytes when it is one of bytes, otherwise an integer, if short
// enough.
func unclaimed(frame []byte, from, to int) any {
	if from%8 == 0 && to%8 == 0 {
		return frame[from/8 : to/8]
	}
	if to-from > 32 {
		return nil
	}
	var v uint64
	for bit := from; bit < to; bit++ {
		v = v<<1 | uint64(frame[bit/8]>>(7-bit%8)&1)
	}
	return v
}

// hexText is bytes as text, shortened to what fits a line.
func hexText(b []byte) string {
	const most = 32
	if len(b) <= most {
		return hex.EncodeToString(b)
	}
	return hex.EncodeToString(b[:most]) + "…"
}
