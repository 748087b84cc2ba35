package profile

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// File is a generated file: its path below the folder that it is for, and what it holds.
type File struct {
	Path string
	Data []byte
}

// Go gives the Go package of a profile, to be put into a folder of the profile's name.
func (p *Profile) Go() ([]File, error) {
	var out []File
	for _, name := range []string{"codes", "headers", "packet", "check", "profile"} {
		text, err := render(name+".go.tmpl", p.view())
		if err != nil {
			return nil, err
		}
		source, err := format.Source(text)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %s: %w\n%s", p.Name, name, err, text)
		}
		out = append(out, File{name + "_gen.go", source})
	}
	return out, nil
}

// Set gives the file of package dissector that binds the profiles, each of which has a package of its own, to
// their ports.
func Set(profiles []*Profile) ([]byte, error) {
	text, err := render("set.go.tmpl", profiles)
	if err != nil {
		return nil, err
	}
	source, err := format.Source(text)
	if err != nil {
		return nil, fmt.Errorf("set of profiles: %w\n%s", err, text)
	}
	return source, nil
}

func render(name string, data any) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{
		"goName": goName, "flagName": flagName, "enumType": enumType, "sentence": sentence, "lower": strings.ToLower, "upper": strings.ToUpper,
		"add": func(a, b int) int { return a + b }, "hex": func(v uint64) string { return fmt.Sprintf("%#x", v) },
		"luaKind": luaKind, "luaSpan": luaSpan, "luaType": luaType, "luaMask": luaMask, "luaRange": luaRange, "luaReasons": luaReasons, "words": words,
		"lines": lines, "cell": cell, "quote": strconv.Quote, "pageReasons": pageReasons,
	}).ParseFS(templates, "templates/"+name, "templates/*.lua")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// view is what the templates see: the description with everything worked out that needs working out.
type view struct {
	*Profile
	Headers     []headerView
	Types       []typeView
	Fields      []fieldView // of all headers
	Vectors     []fieldView // one of each type
	EnumNames   []string
	FlagList    []flagView
	Version     uint64
	TypeBits    int
	TypeCount   int // codes that the type field has room for
	FlagsBits   int
	FlagsType   string
	KnownFlags  uint64
	PSNBits     int
	Message     *headerView
	Announced   *headerView // the header that a flag announces
	Announcing  *flagView
	Bearers     []string
	Ranges      []rangeView
	DefaultList []defaultView
	HasDuration bool
	Begins      *flagView
	Ends        *flagView
	Retransmits *flagView
}

type headerView struct {
	Header
	Index  int
	First  int // index of the first field
	Fields []fieldView
	Stores []string
}

type typeView struct {
	Type
	Length   int // of all headers
	Place    []placeView
	Sequence string
	Order    string // indexes of its headers
}

// placeView is a header behind the common one, at its place in packets of a type.
type placeView struct {
	Name       string
	Start, End int
}

type fieldView struct {
	Field
	Header     string
	HeaderNo   int
	Index      int
	GoType     string
	Load       string
	Kind       string
	Filter     string
	Codes      []code
	Vector     bool
	Bytes      int
	SpecialOne []code
	Label      string
	Base       int // index of the field that a vector counts from, -1
}

type flagView struct {
	Flag
	Mask uint64
}

type rangeView struct {
	fieldView
	Condition string // holds when the value is wrong
}

type defaultView struct {
	Default
	GoType, Literal string
}

func (p *Profile) view() *view {
	v := &view{Profile: p}
	vectors := map[string]bool{}
	for i := range p.Headers {
		h := &p.Headers[i]
		hv := headerView{Header: *h, Index: i, First: len(v.Fields), Stores: p.stores(h)}
		for j := range h.Fields {
			fv := p.fieldView(h, &h.Fields[j], i, len(v.Fields))
			if fv.Vector && !vectors[fv.GoType] {
				vectors[fv.GoType] = true
				v.Vectors = append(v.Vectors, fv)
			}
			if c := condition(&fv); c != "" {
				v.Ranges = append(v.Ranges, rangeView{fv, c})
			}
			hv.Fields = append(hv.Fields, fv)
			v.Fields = append(v.Fields, fv)
		}
		v.Headers = append(v.Headers, hv)
	}
	for name := range p.Enums {
		v.EnumNames = append(v.EnumNames, name)
	}
	slices.Sort(v.EnumNames)
	for i := range p.Types {
		v.Types = append(v.Types, p.typeView(&p.Types[i]))
	}
	common := p.common()
	v.Version = *common.field("version").Equals
	v.TypeBits = common.field("type").Bits
	v.TypeCount = 1 << v.TypeBits
	v.FlagsBits = common.field("flags").Bits
	v.FlagsType = uintType(v.FlagsBits)
	v.PSNBits = common.field("psn").Bits
	p.viewFlags(v)
	if m := p.message(); m != nil {
		v.Message = v.headerNamed(m.Name)
	}
	for _, d := range p.Defaults {
		goType, literal, _ := d.parse() // checked
		v.DefaultList = append(v.DefaultList, defaultView{d, goType, literal})
		v.HasDuration = v.HasDuration || goType == "time.Duration"
	}
	return v
}

func (p *Profile) viewFlags(v *view) {
	for _, f := range p.Flags {
		fv := &flagView{f, 1 << (v.FlagsBits - 1 - f.Bit)}
		v.KnownFlags |= fv.Mask
		v.FlagList = append(v.FlagList, *fv)
		switch f.Means {
		case meansBegins:
			v.Begins = fv
		case meansEnds:
			v.Ends = fv
		case meansSentAgain:
			v.Retransmits = fv
		}
		if f.Header != "" {
			v.Announcing = fv
			v.Announced = v.headerNamed(f.Header)
			v.Bearers = f.Types
		}
	}
	slices.SortFunc(v.FlagList, func(a, b flagView) int { return a.Bit - b.Bit })
}

func (v *view) headerNamed(name string) *headerView {
	i := slices.IndexFunc(v.Headers, func(h headerView) bool { return h.Name == name })
	return &v.Headers[i]
}

func (p *Profile) fieldView(h *Header, f *Field, header, index int) fieldView {
	fv := fieldView{
		Field: *f, Header: h.Name, HeaderNo: header, Index: index,
		GoType: p.goType(h, f), Load: p.load(h, f), Kind: p.kind(h, f), Filter: p.filterName(h, f), Codes: p.codes(h, f),
		Vector: f.Bits > maxWord, Bytes: f.Bits / 8, Label: label(f.Name), Base: -1,
	}
	if f.CountsFrom != "" {
		fv.Base = index - slices.IndexFunc(h.Fields, func(o Field) bool { return o.Name == f.Name }) +
			slices.IndexFunc(h.Fields, func(o Field) bool { return o.Name == f.CountsFrom })
	}
	for _, value := range keys(f.Special) {
		fv.SpecialOne = append(fv.SpecialOne, code{value, f.Special[value]})
	}
	return fv
}

func (p *Profile) typeView(t *Type) typeView {
	tv := typeView{Type: *t}
	var order []string
	for i, name := range t.Headers {
		h := p.header(name)
		if i > 0 {
			tv.Place = append(tv.Place, placeView{name, tv.Length, tv.Length + h.Length})
		}
		tv.Length += h.Length
		order = append(order, strconv.Itoa(slices.IndexFunc(p.Headers, func(o Header) bool { return o.Name == name })))
	}
	tv.Order = strings.Join(order, ", ")
	return tv
}

// variant is a layout of packets of a type: with or without the header that a flag announces.
type variant struct {
	Announced bool
	Set       string // Go expression of its headers
	Length    int    // of all headers
	Place     []placeView
}

// Variants are the layouts of packets of a type, the one with the announced header first.
func (v *view) Variants(t typeView) []variant {
	set := make([]string, len(t.Headers))
	for i, name := range t.Headers {
		set[i] = "Has" + name
	}
	usual := variant{Set: strings.Join(set, " | "), Length: t.Length, Place: t.Place}
	if v.Announcing == nil || !v.Bears(t.Name) {
		return []variant{usual}
	}
	length := t.Length + v.Announced.Length
	return []variant{{
		Announced: true, Set: usual.Set + " | Has" + v.Announced.Name, Length: length,
		Place: append(slices.Clip(t.Place), placeView{v.Announced.Name, t.Length, length}),
	}, usual}
}

// condition is the Go expression that holds when a field is out of its range.
func condition(f *fieldView) string {
	value := "p." + f.Header + "." + goName(f.Name)
	var parts []string
	if f.Min != nil && *f.Min > 0 {
		parts = append(parts, fmt.Sprintf("%s < %d", value, *f.Min))
	}
	if f.Max != nil && (f.Bits >= maxWord || *f.Max < 1<<f.Bits-1) {
		parts = append(parts, fmt.Sprintf("%s > %d", value, *f.Max))
	}
	if len(f.OneOf) > 0 {
		var not []string
		for _, v := range f.OneOf {
			not = append(not, fmt.Sprintf("%s != %d", value, v))
		}
		parts = append(parts, strings.Join(not, " && "))
	}
	c := strings.Join(parts, " || ")
	if c != "" && f.Only == onlyUnsequenced {
		c = "!s.sequenced && (" + c + ")"
	}
	return c
}

// CommonField finds a field of the first header.
func (v *view) CommonField(name string) *fieldView { return v.Headers[0].fieldNamed(name) }

// MessageField finds a field of the header with the place in the message.
func (v *view) MessageField(name string) *fieldView { return v.Message.fieldNamed(name) }

func (h *headerView) fieldNamed(name string) *fieldView {
	i := slices.IndexFunc(h.Fields, func(f fieldView) bool { return f.Name == name })
	return &h.Fields[i]
}

// Bears tells whether packets of a type may bear the header that a flag announces.
func (v *view) Bears(name string) bool { return slices.Contains(v.Bearers, name) }

// Excepted is the condition that leaves out the types for which a flag says nothing.
func (v *view) Excepted(f Flag) string {
	var out strings.Builder
	for _, name := range f.Except {
		out.WriteString(" && p.CH.Type != Type" + goName(name))
	}
	return out.String()
}

// EnumBits is the width of an enumeration's Go type.
func (v *view) EnumBits(name string) string {
	bits := 8
	for _, f := range v.Fields {
		if f.Enum == name {
			bits = max(bits, f.Bits)
		}
	}
	return strings.TrimPrefix(uintType(bits), "uint")
}

// EnumCodes lists the codes of an enumeration in their order.
func (v *view) EnumCodes(name string) []code {
	var out []code
	for _, value := range keys(v.Enums[name]) {
		out = append(out, code{value, v.Enums[name][value]})
	}
	return out
}

// RangedHeaders are the headers, beside the common and the message's one, whose fields have ranges.
func (v *view) RangedHeaders() []headerView {
	var out []headerView
	for _, h := range v.Headers[1:] {
		if slices.ContainsFunc(v.Ranges, func(r rangeView) bool { return r.Header == h.Name }) {
			out = append(out, h)
		}
	}
	return out
}

// IsPlain tells whether packets of a type have a place in a message, and no fields with ranges.
func (v *view) IsPlain(t typeView) bool {
	return v.Message != nil && slices.Contains(t.Headers, v.Message.Name) && !slices.ContainsFunc(v.Ranges, func(r rangeView) bool {
		return slices.Contains(t.Headers, r.Header) && (r.Only != onlyUnsequenced || !t.Sequenced)
	})
}

// PacketUsesBinary tells whether reading the fields that the checks begin with needs encoding/binary.
func (v *view) PacketUsesBinary() bool {
	return slices.ContainsFunc([]string{"version", "type", "flags", "payload_length"}, func(name string) bool {
		return strings.Contains(v.CommonField(name).Load, "binary.")
	})
}

// Plain is the condition under which nothing that check looks at is wrong with a plain packet of a type: the ends
// of its message are where its flags say. Other packets are for check to judge.
func (v *view) Plain(t Type) string {
	offset, whole := "p."+v.Message.Name+".MessageOffset", "uint64(p."+v.Message.Name+".MessageLength)"
	parts := []string{"end <= " + whole}
	if v.Announcing != nil && !v.Bears(t.Name) {
		parts = append(parts, fmt.Sprintf("flags&Flag%s == 0", flagName(v.Announcing.Name)))
	}
	if v.Begins != nil {
		parts = append(parts, fmt.Sprintf("(%s == 0) == (flags&Flag%s != 0)", offset, flagName(v.Begins.Name)))
	}
	if v.Ends != nil {
		parts = append(parts, fmt.Sprintf("(end == %s) == (flags&Flag%s != 0)", whole, flagName(v.Ends.Name)))
	}
	return strings.Join(parts, " && ")
}
