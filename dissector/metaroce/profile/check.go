package profile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// faults gathers what is wrong with a description, so that one reading shows all of it.
type faults []error

func (f *faults) add(place, format string, args ...any) {
	*f = append(*f, fmt.Errorf(place+": "+format, args...))
}

var (
	lowerName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	upperName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
)

const (
	maxWord    = 64 // bits of the widest number
	maxHeaders = 32 // the generated set of headers is a word of 32 bits
	maxFields  = 255
	maxFlags   = 32
	maxType    = 8 // bits of the type
)

// check looks for everything that the generator takes for granted.
func (p *Profile) check() error {
	var f faults
	if !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(p.Name) {
		f.add("profile", "%q is no name of a Go package", p.Name)
	}
	if p.Title == "" {
		f.add("title", "missing")
	}
	if p.About == "" {
		f.add("about", "missing")
	}
	if !lowerName.MatchString(p.Filter) {
		f.add("filter", "%q is no name in lower case", p.Filter)
	}
	if p.UDPPort < 1 || p.UDPPort > math.MaxUint16 {
		f.add("udp_port", "%d is no port", p.UDPPort)
	}
	if p.ICRC != icrcUDPPseudo {
		f.add("icrc", "%q is no rule that is known (%s is)", p.ICRC, icrcUDPPseudo)
	}
	if len(p.Headers) == 0 || len(p.Types) == 0 {
		f.add("headers, types", "at least one of each is needed")
		return errors.Join(f...)
	}
	p.checkHeaders(&f)
	p.checkCommon(&f)
	p.checkTypes(&f)
	p.checkFlags(&f)
	p.checkEnums(&f)
	p.checkDefaults(&f)
	return errors.Join(f...)
}

func (p *Profile) checkHeaders(f *faults) {
	if len(p.Headers) > maxHeaders {
		f.add("headers", "%d, at most %d are possible", len(p.Headers), maxHeaders)
	}
	seen := map[string]bool{}
	total := 0
	for i := range p.Headers {
		h := &p.Headers[i]
		place := "headers." + h.Name
		if !upperName.MatchString(h.Name) || h.Title == "" {
			f.add(place, "a name in upper case and a title are needed")
		}
		if seen[h.Name] {
			f.add(place, "named twice")
		}
		seen[h.Name] = true
		total += len(h.Fields)
		p.checkFields(f, h, place)
	}
	if total > maxFields {
		f.add("headers", "%d fields, at most %d are possible", total, maxFields)
	}
}

// checkFields looks for fields that overlap, leave a gap or do not fill the header.
func (p *Profile) checkFields(f *faults, h *Header, place string) {
	seen := map[string]bool{}
	next := 0
	before := "the start"
	for i := range h.Fields {
		field := &h.Fields[i]
		at := place + "." + field.Name
		switch start := field.start(); {
		case start < next:
			f.add(at, "begins at byte %d bit %d, inside %s", field.At, field.Bit, before)
		case start > next:
			f.add(at, "begins at byte %d bit %d: gap of %d bits after %s", field.At, field.Bit, start-next, before)
		}
		if base := field.CountsFrom; base != "" && (field.Bits <= maxWord || h.field(base) == nil || h.field(base).Bits > 32) {
			f.add(at, "counts_from is for vectors, and names a number of the same header of at most 32 bits")
		}
		next = field.start() + field.Bits
		before = field.Name
		if seen[field.Name] {
			f.add(at, "named twice")
		}
		seen[field.Name] = true
		p.checkField(f, field, at)
	}
	if next != 8*h.Length {
		f.add(place, "length is %d bytes, its fields fill %d bits, which are %g", h.Length, next, float64(next)/8)
	}
}

func (p *Profile) checkField(f *faults, field *Field, at string) {
	if !lowerName.MatchString(field.Name) {
		f.add(at, "%q is no name in lower case", field.Name)
	}
	if field.Title == "" && field.Name != reservedName {
		f.add(at, "a title is needed")
	}
	if field.Bit < 0 || field.Bit > 7 || field.At < 0 {
		f.add(at, "byte %d bit %d is no place", field.At, field.Bit)
	}
	switch {
	case field.Bits < 1:
		f.add(at, "%d bits", field.Bits)
	case field.Bits > maxWord && (field.Bits%8 != 0 || field.Bit != 0):
		f.add(at, "%d bits: a vector is made of whole bytes", field.Bits)
	case field.Bits <= maxWord && field.Bit+field.Bits > maxWord:
		f.add(at, "%d bits from bit %d on: no word holds them", field.Bits, field.Bit)
	}
	if field.Enum != "" && p.Enums[field.Enum] == nil {
		f.add(at, "enums has no %s", field.Enum)
	}
	if field.Only != "" && field.Only != onlyUnsequenced {
		f.add(at, "only: %q is not known (%s is)", field.Only, onlyUnsequenced)
	}
	limit := uint64(math.MaxUint64)
	if field.Bits < maxWord {
		limit = 1<<max(field.Bits, 0) - 1
	}
	for _, v := range slices.Concat(pointers(field.Equals, field.Min, field.Max), field.OneOf, keys(field.Special), keys(p.Enums[field.Enum])) {
		if v > limit {
			f.add(at, "%d does not fit into %d bits", v, field.Bits)
		}
	}
	if field.Bits > maxWord && (field.Enum != "" || len(field.Special)+len(field.OneOf)+len(pointers(field.Equals, field.Min, field.Max)) != 0) {
		f.add(at, "a vector has no values to compare")
	}
}

// checkCommon holds the first header to the fields that every check begins with.
func (p *Profile) checkCommon(f *faults) {
	common := p.common()
	place := "headers." + common.Name
	if common.Name != commonName {
		f.add(place, "the first header is the common one, %s", commonName)
	}
	for _, name := range []string{"version", "type", "flags", "payload_length", "psn"} {
		if common.field(name) == nil {
			f.add(place, "the first header needs the field %s", name)
		}
	}
	if v := common.field("version"); v != nil && v.Equals == nil {
		f.add(place+".version", "equals is needed")
	}
	for i := range p.Headers {
		for _, field := range p.Headers[i].Fields {
			if field.Equals != nil && (i != 0 || field.Name != "version") {
				f.add("headers."+p.Headers[i].Name+"."+field.Name, "equals is for the version")
			}
		}
	}
	for name, most := range map[string]int{"type": maxType, "flags": maxFlags, "psn": 32, "payload_length": 16} {
		if field := common.field(name); field != nil && field.Bits > most {
			f.add(place+"."+name, "%d bits, at most %d are possible", field.Bits, most)
		}
	}
	if m := p.message(); m != nil {
		for _, name := range []string{"message_offset", "message_length"} {
			if field := m.field(name); field == nil || field.Bits > 32 {
				f.add("headers."+m.Name, "%s is needed, of at most 32 bits", name)
			}
		}
	}
}

func (p *Profile) checkTypes(f *faults) {
	names, codes := map[string]bool{}, map[int]bool{}
	for i := range p.Types {
		t := &p.Types[i]
		place := "types." + t.Name
		if !upperName.MatchString(t.Name) {
			f.add(place, "%q is no name in upper case", t.Name)
		}
		if names[t.Name] || codes[t.Code] {
			f.add(place, "name or code %d is there twice", t.Code)
		}
		names[t.Name], codes[t.Code] = true, true
		if field := p.common().field("type"); field != nil && (t.Code < 0 || t.Code >= 1<<field.Bits) {
			f.add(place, "code %d does not fit into %d bits", t.Code, field.Bits)
		}
		if len(t.Headers) == 0 || t.Headers[0] != p.common().Name {
			f.add(place, "the first header must be %s", p.common().Name)
		}
		for j, name := range t.Headers {
			if p.header(name) == nil {
				f.add(place, "headers has no %s", name)
			}
			if slices.Contains(t.Headers[:j], name) {
				f.add(place, "has %s twice", name)
			}
		}
		if m := p.message(); t.Payload && (m == nil || !slices.Contains(t.Headers, m.Name)) {
			f.add(place, "payload without a header that has its message_offset")
		}
	}
}

func (p *Profile) checkFlags(f *faults) {
	field := p.common().field("flags")
	bits, names, announces := map[int]bool{}, map[string]bool{}, 0
	for i := range p.Flags {
		flag := &p.Flags[i]
		place := "flags." + flag.Name
		if !upperName.MatchString(flag.Name) || flag.Title == "" {
			f.add(place, "a name in upper case and a title are needed")
		}
		if bits[flag.Bit] || names[flag.Name] {
			f.add(place, "name or bit %d is there twice", flag.Bit)
		}
		bits[flag.Bit], names[flag.Name] = true, true
		if field != nil && (flag.Bit < 0 || flag.Bit >= field.Bits) {
			f.add(place, "bit %d is not among the %d bits of the flags", flag.Bit, field.Bits)
		}
		switch flag.Means {
		case "", meansBegins, meansEnds, meansSentAgain:
		default:
			f.add(place, "means: %q is not known (%s, %s, %s are)", flag.Means, meansBegins, meansEnds, meansSentAgain)
		}
		if (flag.Means == meansBegins || flag.Means == meansEnds) && p.message() == nil {
			f.add(place, "no header has a message_offset")
		}
		for _, name := range slices.Concat(flag.Except, flag.Types) {
			if p.typ(name) == nil {
				f.add(place, "types has no %s", name)
			}
		}
		if flag.Requires != "" && p.flag(flag.Requires) == nil {
			f.add(place, "flags has no %s", flag.Requires)
		}
		if flag.Header != "" {
			p.checkAnnounced(f, flag, place)
			announces++
		}
	}
	if announces > 1 {
		f.add("flags", "%d announce a header, one at most can", announces)
	}
}

// checkAnnounced looks at a flag that announces a header behind those of the type.
func (p *Profile) checkAnnounced(f *faults, flag *Flag, place string) {
	if p.header(flag.Header) == nil {
		f.add(place, "headers has no %s", flag.Header)
	}
	if len(flag.Types) == 0 {
		f.add(place, "types that may bear it are needed")
	}
	for i := range p.Types {
		if slices.Contains(p.Types[i].Headers, flag.Header) {
			f.add("types."+p.Types[i].Name, "has %s, which the flag %s announces", flag.Header, flag.Name)
		}
	}
}

func (p *Profile) checkEnums(f *faults) {
	used := map[string]bool{}
	for _, h := range p.Headers {
		for _, field := range h.Fields {
			used[field.Enum] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Enums)) {
		codes := p.Enums[name]
		place := "enums." + name
		if !lowerName.MatchString(name) || !used[name] {
			f.add(place, "no field has it")
		}
		texts := map[string]bool{}
		for _, code := range keys(codes) {
			text := codes[code]
			if !lowerName.MatchString(text) || texts[text] {
				f.add(place, "%d: %q is no name in lower case, or is there twice", code, text)
			}
			texts[text] = true
		}
	}
}

func (p *Profile) checkDefaults(f *faults) {
	seen := map[string]bool{}
	for _, d := range p.Defaults {
		place := "defaults." + d.Name
		if !lowerName.MatchString(d.Name) || d.Title == "" || seen[d.Name] {
			f.add(place, "a name in lower case that is not there twice, and a title, are needed")
		}
		seen[d.Name] = true
		if _, _, err := d.parse(); err != nil {
			f.add(place, "%q is no number and no duration", d.Value)
		}
	}
}

// parse gives the Go type and literal of the value: int, float64 or time.Duration.
func (d *Default) parse() (goType, literal string, err error) {
	if v, err := strconv.ParseInt(d.Value, 10, 64); err == nil {
		return "int", strconv.FormatInt(v, 10), nil
	}
	if v, err := strconv.ParseFloat(d.Value, 64); err == nil {
		return "float64", strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	v, err := time.ParseDuration(d.Value)
	if err != nil {
		return "", "", err
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "Second"}, {time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}, {1, "Nanosecond"}} {
		if v%unit.size == 0 {
			return "time.Duration", fmt.Sprintf("%d * time.%s", v/unit.size, unit.name), nil
		}
	}
	return "", "", errors.New("unreachable")
}

// pointers gives the values that are set.
func pointers(list ...*uint64) []uint64 {
	var out []uint64
	for _, v := range list {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// keys lists the codes of an enumeration in their order.
func keys(m map[uint64]string) []uint64 {
	out := make([]uint64, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
