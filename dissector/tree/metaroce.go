package tree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce"
)

// metaRoCE makes the node of the headers of a MetaRoCE packet, or of the one that the capture cut.
func (b *builder) metaRoCE(l dissector.Layer) *Node {
	packet := b.p.MetaRoCE.Decoded()
	if packet == nil {
		return b.bytes(l.Type.String(), "data", l)
	}
	profile := packet.Profile()
	if fault := b.p.MetaRoCE.Fault(); errors.Is(b.err, dissector.ErrTruncated) && l.Offset == b.p.Fault.Offset {
		g := b.group(profile.DisplayName(), profile.Filter, l)
		b.metaRoCEHeader(g, profile, fault.Header, 0, len(g.data))
		return g.node
	}
	g := b.group(profile.DisplayName(), profile.Filter, l)
	g.node.Meaning = metaRoCEType(packet)
	at := 0
	for _, h := range packet.HeaderIndexes(nil) {
		b.metaRoCEHeader(g, profile, h, at, profile.Headers[h].Length)
		at += profile.Headers[h].Length
	}
	return g.node
}

// metaRoCEName is what people call the protocol: "MetaRoCE, profile mr0".
func metaRoCEName(p *dissector.Packet) string {
	if packet := p.MetaRoCE.Decoded(); packet != nil {
		return packet.Profile().DisplayName()
	}
	return p.Protocol.String()
}

// metaRoCEFault words a fault with the place that the profile's decoder names.
func metaRoCEFault(p *dissector.Packet) string {
	fault := p.MetaRoCE.Fault()
	packet := p.MetaRoCE.Decoded()
	if packet == nil || fault.Reason == metaroce.ReasonNone || fault.Reason == metaroce.ReasonCut {
		return metaRoCEName(p) + ": " + p.Fault.Reason.String()
	}
	return packet.Profile().DisplayName() + ": " + packet.Profile().Explain(fault)
}

// metaRoCEHeader adds a header, of which n bytes at offset are there, and its fields.
func (b *builder) metaRoCEHeader(g *group, profile *metaroce.Profile, index uint8, offset, n int) {
	h := &profile.Headers[index]
	if !g.has(offset, n) || n == 0 {
		return
	}
	sub := g.sub(h.Title, profile.Filter+"."+strings.ToLower(h.Name), offset, n)
	sub.node.Meaning = h.Name
	for i := h.First; i < h.First+h.Count; i++ {
		f := &profile.Fields[i]
		if f.Kind == metaroce.KindVector {
			metaRoCEVector(sub, profile, f)
			continue
		}
		value, ok := f.Read(sub.data)
		if !ok {
			continue
		}
		node := metaRoCENumber(sub, f, value)
		switch f.Kind {
		case metaroce.KindFlags:
			metaRoCEFlags(sub, node, profile, f, value)
		case metaroce.KindReserved:
			if value != 0 {
				node.Meaning += ", reserved and not zero"
				node.Severity = SeverityNote
			}
		case metaroce.KindUint, metaroce.KindHex, metaroce.KindCode, metaroce.KindVector:
		}
	}
}

// metaRoCENumber adds a field of up to 64 bits.
func metaRoCENumber(g *group, f *metaroce.Field, value uint64) *Node {
	const wide = 32
	n := (int(f.Bit) + int(f.Bits) + 7) / 8
	node := g.add(f.Label, f.Filter, int(f.Offset), n, value)
	node.Meaning = f.Meaning(value)
	node.wideNumber = f.Bits > wide
	if f.Bit != 0 || f.Bits%8 != 0 {
		node.BitOffset, node.BitLength = int(f.Bit), int(f.Bits)
	}
	return node
}

// metaRoCEFlags adds the bits of the flags below their node.
func metaRoCEFlags(g *group, parent *Node, profile *metaroce.Profile, f *metaroce.Field, value uint64) {
	var names []string
	known := map[int]*metaroce.Flag{}
	for i := range profile.Flags {
		flag := &profile.Flags[i]
		for bit := range int(f.Bits) {
			if flag.HasFlag(1 << (int(f.Bits) - 1 - bit)) {
				known[bit] = flag
			}
		}
		if flag.HasFlag(value) {
			names = append(names, flag.Name)
		}
	}
	parent.Meaning = strings.Join(names, ", ")
	first := 8*int(f.Offset) + int(f.Bit)
	for bit := range int(f.Bits) {
		set := value>>(int(f.Bits)-1-bit)&1 != 0
		c := &Node{
			Name: "Reserved", Field: f.Filter + ".reserved", Value: set,
			Offset: g.base + (first+bit)/8, Length: 1, BitOffset: (first + bit) % 8, BitLength: 1,
		}
		if flag := known[bit]; flag != nil {
			c.Name, c.Field, c.Meaning = flag.Name, f.Filter+"."+strings.ToLower(flag.Name), flag.Title
		} else if set {
			c.Meaning, c.Severity = "reserved and not zero", SeverityNote
		}
		parent.Children = append(parent.Children, c)
	}
}

// metaRoCEVector adds a bit vector, with what it has as its meaning.
func metaRoCEVector(g *group, profile *metaroce.Profile, f *metaroce.Field) {
	n := int(f.Bits) / 8
	if !g.has(int(f.Offset), n) {
		return
	}
	vector := g.data[f.Offset : int(f.Offset)+n]
	node := g.add(f.Label, f.Filter, int(f.Offset), n, vector)
	node.Meaning = "none"
	if count := metaroce.VectorCount(vector); count > 0 {
		node.Meaning = fmt.Sprintf("%d of %d", count, f.Bits)
		if base, ok := profile.Fields[f.Base].Read(g.data); ok && f.Counts {
			node.Meaning += ": " + profile.Ranges(f, vector, base)
		}
	}
}

// metaRoCEType names the type of a packet.
func metaRoCEType(packet metaroce.Decoded) string {
	profile := packet.Profile()
	for i := range profile.Fields {
		if f := &profile.Fields[i]; f.Header == 0 && f.Name == "type" {
			code, ok := packet.Uint(i)
			if !ok {
				return ""
			}
			if name := f.CodeName(code); name != "" {
				return name
			}
			return fmt.Sprintf("reserved type %d", code)
		}
	}
	return ""
}

// metaRoCELine are the fields that stand in the line of a packet, with the words before them.
var metaRoCELine = []struct{ name, word string }{
	{"path_id", "path"},
	{"psn", "PSN"},
	{"dest_conn_id", "conn"},
	{"source_conn_id", "from"},
	{"stream_id", "stream"},
	{"msn", "msg"},
	{"message_offset", "offset"},
	{"message_length", "of"},
	{"payload_length", "len"},
	{"cumulative_psn", "next"},
	{"sack", "SACK"},
	{"refused_psn", "refused"},
	{"reason", "reason"},
	{"trigger", "trigger"},
}

// metaRoCESummary tells what a MetaRoCE packet does.
func metaRoCESummary(info *strings.Builder, packet metaroce.Decoded) {
	profile := packet.Profile()
	info.WriteString(metaRoCEType(packet))
	for _, part := range metaRoCELine {
		for i := range profile.Fields {
			f := &profile.Fields[i]
			if f.Name != part.name {
				continue
			}
			if text := metaRoCEText(packet, i); text != "" {
				fmt.Fprintf(info, " %s=%s", part.word, text)
			}
		}
	}
	for i := range profile.Fields {
		if flags, ok := packet.Uint(i); ok && profile.Fields[i].Kind == metaroce.KindFlags {
			for j := range profile.Flags {
				if profile.Flags[j].HasFlag(flags) {
					info.WriteString(" [" + profile.Flags[j].Name + "]")
				}
			}
		}
	}
}

// metaRoCEText is a field's value in the line of a packet, "" when there is none.
func metaRoCEText(packet metaroce.Decoded, field int) string {
	profile := packet.Profile()
	f := &profile.Fields[field]
	if f.Kind == metaroce.KindVector {
		base, ok := packet.Uint(f.Base)
		if v := packet.Vector(field); ok && f.Counts && metaroce.VectorCount(v) > 0 {
			return strings.ReplaceAll(profile.Ranges(f, v, base), ", ", ",")
		}
		return ""
	}
	v, ok := packet.Uint(field)
	switch {
	case !ok:
		return ""
	case f.Kind == metaroce.KindHex, f.Kind == metaroce.KindCode:
		return f.Meaning(v)
	}
	return strconv.FormatUint(v, 10)
}
