package profile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// PageName is the file name of the reference page of a profile: "metaroce-mr0.md".
func (p *Profile) PageName() string { return "metaroce-" + p.Name + ".md" }

// Page gives the reference page of a profile in Markdown.
func (p *Profile) Page() ([]byte, error) { return render("page.md.tmpl", p.view()) }

// lines breaks a text into lines of at most width characters.
func lines(width int, text string) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// cell makes a text fit for a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// Place is where a field stands in its header: "8-11", "0, bits 0-3".
func (f fieldView) Place() string {
	last := f.At + luaSpan(f) - 1
	bytes := strconv.Itoa(f.At)
	if last > f.At {
		bytes += "-" + strconv.Itoa(last)
	}
	if f.Bit == 0 && f.Bits%8 == 0 {
		return bytes
	}
	end := 8*f.At + f.Bit + f.Bits - 1 - 8*last
	switch {
	case last > f.At:
		return fmt.Sprintf("%s, from bit %d to bit %d", bytes, f.Bit, end)
	case f.Bits == 1:
		return fmt.Sprintf("%s, bit %d", bytes, f.Bit)
	}
	return fmt.Sprintf("%s, bits %d-%d", bytes, f.Bit, end)
}

// Meaning puts title, unit, limits and special values of a field into one phrase.
func (f fieldView) Meaning() string {
	if f.Name == reservedName {
		return "sent as zero, ignored on receipt"
	}
	parts := []string{f.Title}
	if f.Unit != "" {
		parts = append(parts, "in "+f.Unit)
	}
	if f.Equals != nil {
		parts = append(parts, fmt.Sprintf("must be %d", *f.Equals))
	}
	limits := f.limits()
	if limits != "" && f.Only != "" {
		limits += " in " + f.Only + " types"
	}
	if limits != "" {
		parts = append(parts, "must be "+limits)
	}
	for _, v := range slices.Sorted(maps.Keys(f.Special)) {
		parts = append(parts, fmt.Sprintf("%#x is %s", v, words(f.Special[v])))
	}
	if f.Enum != "" {
		parts = append(parts, fmt.Sprintf("[%s](#%s)", f.Enum, f.Enum))
	}
	return strings.Join(parts, "; ")
}

func (f fieldView) limits() string {
	var parts []string
	switch {
	case f.Min != nil && f.Max != nil:
		parts = append(parts, fmt.Sprintf("from %d to %d", *f.Min, *f.Max))
	case f.Min != nil:
		parts = append(parts, fmt.Sprintf("at least %d", *f.Min))
	case f.Max != nil:
		parts = append(parts, fmt.Sprintf("at most %d", *f.Max))
	}
	if len(f.OneOf) > 0 {
		var all []string
		for _, v := range f.OneOf {
			all = append(all, strconv.FormatUint(v, 10))
		}
		parts = append(parts, "one of "+strings.Join(all, ", "))
	}
	return strings.Join(parts, ", ")
}

// explained is a name in the field tree, and what it is.
type explained struct{ Name, Text string }

// Console gives the console's table of what fields mean, by their names in the field tree, as TypeScript.
func Console(profiles []*Profile) ([]byte, error) {
	texts := map[string]string{}
	for _, p := range profiles {
		for _, e := range p.view().explanations() {
			if before := texts[e.Name]; before != "" && before != e.Text {
				e.Text = before + "; in profile " + p.Name + ": " + e.Text
			}
			texts[e.Name] = e.Text
		}
	}
	var all []explained
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, explained{name, texts[name]})
	}
	return render("console.ts.tmpl", all)
}

// explanations tell what the names of a profile's trees mean. Where headers share a name, it means something in each.
func (v *view) explanations() []explained {
	out := []explained{
		{v.Filter, v.About},
		{v.Filter + ".payload", "what the packet carries, as far as it was captured"},
		{v.Filter + ".icrc", "CRC-32 over addresses, ports, length and UDP payload, least significant byte first"},
	}
	byName := map[string][]fieldView{}
	for _, h := range v.Headers {
		out = append(out, explained{v.Filter + "." + strings.ToLower(h.Name), fmt.Sprintf("%s, %d bytes", h.Title, h.Length)})
		for _, f := range h.Fields {
			byName[f.Filter] = append(byName[f.Filter], f)
		}
	}
	for name, fields := range byName {
		var parts []string
		for _, f := range fields {
			text := f.Title
			if f.Name == reservedName {
				text = f.Meaning()
			}
			if len(fields) > 1 {
				text = f.Header + ": " + text
			}
			parts = append(parts, text)
		}
		out = append(out, explained{name, strings.Join(parts, "; ")})
	}
	for _, b := range v.LuaFlagBits() {
		if b.Reserved {
			b.Title = "sent as zero, ignored on receipt"
		}
		out = append(out, explained{b.Filter, b.Title})
	}
	return out
}

// pageReason is a reason for which a packet is malformed, and the rule behind it.
type pageReason struct {
	Reason metaroce.Reason
	When   string
}

// pageReasons are in the order in which the decoder checks.
func pageReasons() []pageReason {
	return []pageReason{
		{metaroce.ReasonHeaders, "the UDP payload is shorter than the common header and the ICRC, or than the headers of the type and the ICRC"},
		{metaroce.ReasonVersion, "the version is another"},
		{metaroce.ReasonType, "the type has no name above"},
		{metaroce.ReasonPayloadLength, "payload_length differs from the UDP payload less headers and ICRC"},
		{metaroce.ReasonPayload, "a type that carries no payload has some"},
		{metaroce.ReasonFlag, "a flag announces a header on a type that may not bear it, or without the flag that it requires"},
		{metaroce.ReasonRange, "a field of the common header, and at the end one of another header, is not what it must be"},
		{metaroce.ReasonFirst, "the flag for the first packet disagrees with message_offset being 0"},
		{metaroce.ReasonOffset, "message_offset + payload_length is more than message_length"},
		{metaroce.ReasonLast, "the flag for the last packet disagrees with message_offset + payload_length being message_length"},
	}
}
