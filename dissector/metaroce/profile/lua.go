package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// PluginName is the file name of the Wireshark plugin of a profile: "metaroce-mr0.lua".
func (p *Profile) PluginName() string { return "metaroce-" + p.Name + ".lua" }

// Lua gives the Wireshark plugin of a profile. It runs in Lua 5.1 to 5.4.
func (p *Profile) Lua() ([]byte, error) { return render("plugin.lua.tmpl", p.view()) }

// luaKind is the kind of a field in the plugin's tables.
func luaKind(f fieldView) string { return strings.ToLower(strings.TrimPrefix(f.Kind, "Kind")) }

// luaSpan is the number of bytes that a field touches.
func luaSpan(f fieldView) int { return (f.Bit + f.Bits + 7) / 8 }

// luaType is the type of Wireshark's field.
func luaType(f fieldView) string {
	if f.Vector {
		return "bytes"
	}
	for _, size := range []int{1, 2, 3, 4} {
		if luaSpan(f) <= size {
			return fmt.Sprintf("uint%d", 8*size)
		}
	}
	return "uint64"
}

// luaMask covers the field's bits in the bytes that it touches. It is "" where those are all of them, and for fields so
// wide that a number of Lua 5.2, which has 53 bits, cannot hold it.
func luaMask(f fieldView) string {
	span := 8 * luaSpan(f)
	if f.Vector || f.Bits == span || luaType(f) == "uint64" {
		return ""
	}
	return fmt.Sprintf("%#x", (uint64(1)<<f.Bits-1)<<(span-f.Bit-f.Bits))
}

// luaRange is a function that tells whether a value is out of the field's range. It is "" where there is none.
func luaRange(f fieldView) string {
	const native = 32
	number := func(v uint64) string {
		if f.Bits <= native {
			return strconv.FormatUint(v, 10)
		}
		return fmt.Sprintf("UInt64.new(%#x, %#x)", uint32(v), v>>native)
	}
	var parts []string
	if f.Min != nil && *f.Min > 0 {
		parts = append(parts, "v < "+number(*f.Min))
	}
	if f.Max != nil {
		parts = append(parts, "v > "+number(*f.Max))
	}
	if len(f.OneOf) > 0 {
		var not []string
		for _, v := range f.OneOf {
			not = append(not, "v ~= "+number(v))
		}
		parts = append(parts, strings.Join(not, " and "))
	}
	if len(parts) == 0 {
		return ""
	}
	c := strings.Join(parts, " or ")
	if f.Only == onlyUnsequenced {
		return "function(v, sequenced) return not sequenced and (" + c + ") end"
	}
	return "function(v) return " + c + " end"
}

// words puts a code's name into words, as [metaroce.Field.Meaning] does.
func words(name string) string {
	f := metaroce.Field{Kind: metaroce.KindCode, Codes: []metaroce.Code{{Name: name}}}
	return f.Meaning(0)
}

type luaReason struct {
	Name, Text string
	InDoubt    bool
}

// luaReasons are the reasons for which a packet is malformed, with the names that the plugin has for them.
func luaReasons() []luaReason {
	var out []luaReason
	for r, name := range map[metaroce.Reason]string{
		metaroce.ReasonVersion: "version", metaroce.ReasonType: "type", metaroce.ReasonHeaders: "headers",
		metaroce.ReasonPayloadLength: "payload_length", metaroce.ReasonPayload: "payload", metaroce.ReasonFlag: "flag",
		metaroce.ReasonFirst: "first", metaroce.ReasonLast: "last", metaroce.ReasonOffset: "offset", metaroce.ReasonRange: "range",
	} {
		out = append(out, luaReason{name, r.String(), r.InDoubt()})
	}
	slices.SortFunc(out, func(a, b luaReason) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// LuaHeader is the place of a header in the plugin's list.
func (v *view) LuaHeader(name string) int { return v.headerNamed(name).Index + 1 }

// LuaType is the code of a packet type.
func (v *view) LuaType(name string) int { return v.typ(name).Code }

// LuaFlag is the mask of a flag, or nil for none.
func (v *view) LuaFlag(name string) string {
	for _, f := range v.FlagList {
		if f.Name == name {
			return fmt.Sprintf("%#x", f.Mask)
		}
	}
	return "nil"
}

// luaBit is one bit of the flags, whether it has a name or not.
type luaBit struct {
	Name, Filter, Title string
	Value               uint64 // in the flags
	Mask                uint64 // in the bytes that the flags touch
	Reserved            bool
}

// LuaFlagBits are the bits of the flags, the most significant first.
func (v *view) LuaFlagBits() []luaBit {
	field := v.CommonField("flags")
	low := 8*luaSpan(*field) - field.Bit - field.Bits
	var out []luaBit
	for i := range field.Bits {
		value := uint64(1) << (field.Bits - 1 - i)
		b := luaBit{Name: "Reserved", Filter: field.Filter + ".reserved", Value: value, Mask: value << low, Reserved: true}
		if at := slices.IndexFunc(v.FlagList, func(f flagView) bool { return f.Mask == value }); at >= 0 {
			f := v.FlagList[at]
			b.Name, b.Filter, b.Title, b.Reserved = f.Name, field.Filter+"."+strings.ToLower(f.Name), f.Title, false
		}
		out = append(out, b)
	}
	return out
}
