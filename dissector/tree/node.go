// Package tree shows a packet as a tree of named fields: the form in which people read it, be it on a
// terminal, in the console or as JSON.
//
// Every bit of the frame belongs to exactly one leaf of the tree. What no header claims is a node of its
// own, so nothing is skipped in silence, and whatever is wrong with the packet is a node at the place where
// it is wrong.
package tree

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Severity says how much a node should worry its reader.
type Severity string

// Severities. A cut or undecoded packet is not the fault of a sender; a malformed one is.
const (
	SeverityNone    Severity = ""
	SeverityNote    Severity = "note"    // recognised and not decoded, or payload that the capture lacks
	SeverityWarning Severity = "warning" // the capture lacks a part of a header
	SeverityError   Severity = "error"   // the packet is wrong
)

// Node is a field of a packet, or a group of fields.
//
// Its JSON has the keys name, field, value, meaning, offset, length, bit_offset, bit_length, severity and
// children. name, offset and length are always there; field, value, meaning, severity and children when they
// are not empty; bit_offset and bit_length, both, when the field does not consist of whole bytes. value is
//
//   - a number for integers of up to 32 bits, and for the number of the frame,
//   - a string of decimal digits for wider integers, whatever their value, since programs that read JSON
//     numbers as floating point would round them,
//   - a string of lower-case hexadecimal digits for bytes,
//   - a string for addresses and text, true or false for flags.
type Node struct {
	Name       string // for people
	Field      string // tshark's name of the field where it has one, otherwise one in its style
	Value      any    // nil, uint64, string, bool or []byte
	Meaning    string // what the value means, or a summary of a group
	Offset     int    // bytes from the start of the frame
	Length     int    // bytes, 0 for what was computed rather than read; of a bit field: the bytes that it touches
	BitOffset  int    // bits from the most significant bit of the first byte, 0 to 7
	BitLength  int    // 0 for fields of whole bytes
	Severity   Severity
	Children   []*Node
	wideNumber bool // an integer of more than 32 bits
}

type jsonNode struct {
	Name      string   `json:"name"`
	Field     string   `json:"field,omitempty"`
	Value     any      `json:"value,omitempty"`
	Meaning   string   `json:"meaning,omitempty"`
	Offset    int      `json:"offset"`
	Length    int      `json:"length"`
	BitOffset *int     `json:"bit_offset,omitempty"`
	BitLength *int     `json:"bit_length,omitempty"`
	Severity  Severity `json:"severity,omitempty"`
	Children  []*Node  `json:"children,omitempty"`
}

// MarshalJSON writes the form that the type's description states.
func (n *Node) MarshalJSON() ([]byte, error) {
	j := jsonNode{
		Name: n.Name, Field: n.Field, Value: n.Value, Meaning: n.Meaning,
		Offset: n.Offset, Length: n.Length, Severity: n.Severity, Children: n.Children,
	}
	switch v := n.Value.(type) {
	case []byte:
		j.Value = hex.EncodeToString(v)
	case uint64:
		if n.wideNumber {
			j.Value = strconv.FormatUint(v, 10)
		}
	}
	if n.BitLength != 0 {
		j.BitOffset, j.BitLength = &n.BitOffset, &n.BitLength
	}
	return json.Marshal(j)
}

// Walk calls visit for the node and everything below it, parents first, until visit answers false.
func (n *Node) Walk(visit func(*Node) bool) bool {
	if !visit(n) {
		return false
	}
	for _, c := range n.Children {
		if !c.Walk(visit) {
			return false
		}
	}
	return true
}

// bits is the half-open range of bits of the frame that the node covers.
func (n *Node) bits() (from, to int) {
	from = n.Offset*8 + n.BitOffset
	if n.BitLength != 0 {
		return from, from + n.BitLength
	}
	return from, from + n.Length*8
}

// covering returns a node for a range of bits without a name of its own.
func covering(from, to int) *Node {
	n := &Node{Offset: from / 8, Length: (to+7)/8 - from/8}
	if from%8 != 0 || to%8 != 0 {
		n.BitOffset, n.BitLength = from%8, to-from
	}
	return n
}
