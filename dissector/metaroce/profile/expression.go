package profile

import (
	"fmt"
	"strings"
)

// goType is the Go type of a field.
func (p *Profile) goType(h *Header, f *Field) string {
	switch {
	case h == p.common() && f.Name == "type":
		return "Type"
	case h == p.common() && f.Name == "flags":
		return "Flags"
	case f.Enum != "":
		return enumType(f.Enum)
	case f.Bits > maxWord:
		return goName(f.Name)
	}
	return uintType(f.Bits)
}

// uintType is the narrowest unsigned type that holds bits.
func uintType(bits int) string {
	for _, size := range []int{8, 16, 32} {
		if bits <= size {
			return fmt.Sprintf("uint%d", size)
		}
	}
	return "uint64"
}

// load is the expression that reads a field from the header's bytes, b, a pointer to an array.
func (p *Profile) load(h *Header, f *Field) string {
	goType := p.goType(h, f)
	if f.Bits > maxWord {
		return fmt.Sprintf("%s(b[%d:%d])", goType, f.At, f.At+f.Bits/8)
	}
	size := 1
	for 8*size < f.Bit+f.Bits {
		size *= 2
	}
	at := min(f.At, h.Length-size)
	wordType := uintType(8 * size)
	var word string
	switch {
	case size == 1:
		word = fmt.Sprintf("b[%d]", at)
	case at >= 0:
		word = fmt.Sprintf("binary.BigEndian.Uint%d(b[%d:%d])", 8*size, at, at+size)
	default: // the header is shorter than the word
		at, size = 0, h.Length
		var parts []string
		for i := range h.Length {
			parts = append(parts, fmt.Sprintf("%s(b[%d])<<%d", wordType, i, 8*(h.Length-1-i)))
		}
		word = "(" + strings.Join(parts, "|") + ")"
	}
	if shift := 8*(at+size) - f.start() - f.Bits; shift != 0 {
		word += fmt.Sprintf(">>%d", shift)
	}
	if f.start() != 8*at {
		word += fmt.Sprintf("&%#x", uint64(1)<<f.Bits-1)
	}
	if goType == wordType {
		return word
	}
	return goType + "(" + word + ")"
}

// stores are the statements that write the header h to its bytes, b, a pointer to an array. Fields that share
// bytes are written together.
func (p *Profile) stores(h *Header) []string {
	var out []string
	for i := 0; i < len(h.Fields); {
		f := &h.Fields[i]
		if f.Bits > maxWord {
			out = append(out, fmt.Sprintf("copy(b[%d:%d], h.%s[:])", f.At, f.At+f.Bits/8, goName(f.Name)))
			i++
			continue
		}
		end := i + 1
		for h.Fields[end-1].start()+h.Fields[end-1].Bits-8*f.At > 0 && (h.Fields[end-1].start()+h.Fields[end-1].Bits)%8 != 0 {
			end++
		}
		out = append(out, storeGroup(h.Fields[i:end])...)
		i = end
	}
	return out
}

// storeGroup writes fields that together fill whole bytes.
func storeGroup(fields []Field) []string {
	at := fields[0].At
	last := fields[len(fields)-1]
	bits := last.start() + last.Bits - 8*at
	wordType := uintType(bits)
	var parts []string
	for i := range fields {
		f := &fields[i]
		part := fmt.Sprintf("%s(h.%s)", wordType, goName(f.Name))
		if len(fields) > 1 || f.Bits != 8 && f.Bits != 16 && f.Bits != 32 && f.Bits != 64 {
			part += fmt.Sprintf("&%#x", uint64(1)<<f.Bits-1)
		}
		if shift := 8*at + bits - f.start() - f.Bits; shift != 0 {
			part = fmt.Sprintf("%s<<%d", part, shift)
		}
		parts = append(parts, part)
	}
	word := strings.Join(parts, "|")
	switch bits {
	case 8:
		return []string{fmt.Sprintf("b[%d] = %s", at, word)}
	case 16, 32, 64:
		return []string{fmt.Sprintf("binary.BigEndian.PutUint%d(b[%d:%d], %s)", bits, at, at+bits/8, word)}
	}
	var out []string
	for i := range bits / 8 {
		out = append(out, fmt.Sprintf("b[%d] = byte((%s)>>%d)", at+i, word, bits-8-8*i))
	}
	return out
}

// kind is the metaroce.Kind of a field.
func (p *Profile) kind(h *Header, f *Field) string {
	switch {
	case f.Name == reservedName:
		return "KindReserved"
	case h == p.common() && f.Name == "flags":
		return "KindFlags"
	case h == p.common() && f.Name == "type", f.Enum != "":
		return "KindCode"
	case f.Bits > maxWord:
		return "KindVector"
	case f.Hex:
		return "KindHex"
	}
	return "KindUint"
}

// filterName is the name of a field in filters. Fields that several headers have in the same form share one, so
// that metaroce.stream_id finds a stream in all of them; others have their header in it.
func (p *Profile) filterName(h *Header, f *Field) string {
	shared := f.Name != reservedName
	for i := range p.Headers {
		if other := p.Headers[i].field(f.Name); other != nil && (other.Bits != f.Bits || other.Enum != f.Enum || other.Hex != f.Hex || other.Unit != f.Unit) {
			shared = false
		}
	}
	if shared {
		return p.Filter + "." + f.Name
	}
	return p.Filter + "." + strings.ToLower(h.Name) + "." + f.Name
}

// codes are the names of a field's values, by value.
func (p *Profile) codes(h *Header, f *Field) []code {
	var out []code
	if h == p.common() && f.Name == "type" {
		for _, t := range p.Types {
			out = append(out, code{uint64(t.Code), t.Name})
		}
		return out
	}
	names := f.Special
	if f.Enum != "" {
		names = p.Enums[f.Enum]
	}
	for _, v := range keys(names) {
		out = append(out, code{v, names[v]})
	}
	return out
}

type code struct {
	Value uint64
	Name  string
}
