package metaroce

import (
	"fmt"
	"strconv"
	"strings"
)

// Read is the value of the field in the bytes of its header, and false when they do not hold it whole or it is a
// vector.
func (f *Field) Read(header []byte) (uint64, bool) {
	first, end := int(f.Offset), int(f.Offset)+(int(f.Bit)+int(f.Bits)+7)/8
	if f.Kind == KindVector || end > len(header) {
		return 0, false
	}
	var v uint64
	for i, b := range header[first:end] {
		if i == 0 {
			b &= 0xff >> f.Bit
		}
		if i == end-first-1 {
			unused := 8*(end-first) - int(f.Bit) - int(f.Bits)
			return v<<(8-unused) | uint64(b>>unused), true
		}
		v = v<<8 | uint64(b)
	}
	return v, true
}

// Meaning puts a value into words: the name of a code, the unit, the hexadecimal form. It may be "".
func (f *Field) Meaning(v uint64) string {
	if name := f.CodeName(v); name != "" && name == strings.ToUpper(name) {
		return name // of a type: CONN_REQ
	} else if name != "" {
		return strings.ReplaceAll(name, "_", " ")
	}
	switch f.Kind {
	case KindCode:
		return "unknown"
	case KindHex, KindReserved:
		return fmt.Sprintf("0x%0*x", (int(f.Bits)+3)/4, v)
	case KindUint, KindFlags, KindVector:
	}
	if f.Unit != "" {
		return strconv.FormatUint(v, 10) + " " + f.Unit
	}
	return ""
}

// Ranges lists what a vector has, given the value of the field that it counts from: "71-72, 77". Numbers are as
// wide as that field.
func (p *Profile) Ranges(f *Field, vector []byte, base uint64) string {
	mask := uint64(1)<<p.Fields[f.Base].Bits - 1
	var out strings.Builder
	for first, last := range VectorRanges(vector) {
		if out.Len() > 0 {
			out.WriteString(", ")
		}
		out.WriteString(strconv.FormatUint((base+uint64(f.First)+uint64(first))&mask, 10))
		if last > first {
			out.WriteString("-" + strconv.FormatUint((base+uint64(f.First)+uint64(last))&mask, 10))
		}
	}
	return out.String()
}

// HasFlag tells whether the flag is set.
func (f *Flag) HasFlag(flags uint64) bool { return flags&uint64(f.Mask) != 0 }

// DisplayName is what people call the profile: "MetaRoCE, profile mr0".
func (p *Profile) DisplayName() string { return "MetaRoCE, profile " + p.Name }
