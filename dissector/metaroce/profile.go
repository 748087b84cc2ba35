package metaroce

import "strconv"

// Profile describes a wire profile: what its generated package decodes, in a form that code for every profile
// can walk, such as the field tree and the display filter.
type Profile struct {
	Name    string // mr0
	Title   string // MetaRoCE working profile 0
	Filter  string // what the names of fields begin with in filters
	Port    uint16 // UDP destination port, unless another is set
	Types   []Type
	Headers []Header
	Fields  []Field // of all headers, in their order
	Flags   []Flag  // bits of the field of kind KindFlags, the most significant first
}

// Type is a packet type.
type Type struct {
	Code      uint8
	Name      string // CONN_REQ
	Headers   []uint8
	Sequenced bool // has a path sequence number of its own
	Payload   bool // may carry payload
}

// Header is a header of the profile.
type Header struct {
	Name   string // CH
	Title  string // Common Header
	Length int    // bytes
	First  int    // index of its first field in Profile.Fields
	Count  int    // number of its fields
}

// Kind says what a field holds.
type Kind uint8

// Kinds of fields.
const (
	KindUint     Kind = iota
	KindHex           // a number that people read in hexadecimal
	KindCode          // a number with names, see Codes
	KindFlags         // see Profile.Flags
	KindVector        // a bit vector of more than 64 bits
	KindReserved      // sent as zero, ignored on receipt
)

// Field is a field of a header. All are big-endian.
type Field struct {
	Header uint8  // index into Profile.Headers
	Name   string // psn
	Label  string // name for people: Payload length
	Filter string // name in filters: metaroce.psn
	Title  string // for people, may be empty
	Unit   string // bytes, ns, packets, Mbit/s or empty
	Kind   Kind
	Offset uint16 // byte of the header in which it begins
	Bit    uint8  // bit of that byte, counted from the most significant
	Bits   uint16 // width
	Counts bool   // a vector whose bit i stands for the value of the field Base, plus First, plus i
	Base   int    // index into Profile.Fields
	First  uint32
	Codes  []Code // names of values, by value; for other kinds than KindCode of special ones
}

// Code is a value with a name.
type Code struct {
	Value uint64
	Name  string
}

// Flag is one bit of the flags.
type Flag struct {
	Name  string // AR
	Title string
	Mask  uint32
}

// CodeName is the name of a value of the field, or "".
func (f *Field) CodeName(v uint64) string {
	for _, c := range f.Codes {
		if c.Value == v {
			return c.Name
		}
	}
	return ""
}

// TypeOf finds a packet type by its code. It is nil for a reserved one.
func (p *Profile) TypeOf(code uint8) *Type {
	for i := range p.Types {
		if p.Types[i].Code == code {
			return &p.Types[i]
		}
	}
	return nil
}

// Explain puts a fault into words: "CONN.mtu at byte 22: out of range". It is "" for no fault.
func (p *Profile) Explain(f Fault) string {
	if f.Reason == ReasonNone {
		return ""
	}
	place := ""
	if int(f.Header) < len(p.Headers) {
		place = p.Headers[f.Header].Name
	}
	if int(f.Field) < len(p.Fields) {
		place += "." + p.Fields[f.Field].Name
	}
	return place + " at byte " + strconv.Itoa(int(f.Offset)) + ": " + f.Reason.String()
}

// Decoded is a packet that a generated package has decoded, as code for every profile sees it.
type Decoded interface {
	// Profile is the profile that decoded it.
	Profile() *Profile
	// HeaderIndexes lists the headers that were decoded, in their order on the wire, and appends them to dst.
	HeaderIndexes(dst []uint8) []uint8
	// Uint is the value of a field by its index, and false when its header was not decoded or it is a vector.
	Uint(field int) (uint64, bool)
	// Vector is a field of more than 64 bits, and nil when its header was not decoded. It aliases the packet.
	Vector(field int) []byte
}
