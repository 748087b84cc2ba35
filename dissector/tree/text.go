package tree

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the tree as lines of text: where the field stands, its name indented by its depth, its
// value and what that means. "0x0036+4" is four bytes at offset 54, "0x0037.2:2" two bits there, the third
// and fourth from the top; what was computed stands nowhere. It returns the error of w.
func WriteText(w io.Writer, n *Node) error {
	var out bytes.Buffer
	writeText(&out, n, 0)
	_, err := w.Write(out.Bytes())
	return err
}

// writeText writes a node and what is below it.
func writeText(out *bytes.Buffer, n *Node, depth int) {
	const placeWidth = 13
	fmt.Fprintf(out, "%-*s%s%s", placeWidth, place(n), strings.Repeat("  ", depth), n.Name)
	value, meaning := valueText(n.Value), n.Meaning
	switch {
	case strings.HasPrefix(meaning, "0x") && n.Value != nil:
		// A number that people read in hexadecimal. QPNs and PSNs are told in decimal as well.
		value, meaning = meaning, value
		if n.Length != 3 {
			meaning = ""
		}
	case value == meaning:
		meaning = ""
	case value == "":
		value, meaning = meaning, ""
	}
	if value != "" {
		fmt.Fprintf(out, ": %s", value)
	}
	if meaning != "" {
		fmt.Fprintf(out, " (%s)", meaning)
	}
	if n.Severity != SeverityNone {
		fmt.Fprintf(out, " [%s]", n.Severity)
	}
	out.WriteByte('\n')
	for _, c := range n.Children {
		writeText(out, c, depth+1)
	}
}

func place(n *Node) string {
	switch {
	case n.BitLength != 0:
		return fmt.Sprintf("0x%04x.%d:%d", n.Offset, n.BitOffset, n.BitLength)
	case n.Length != 0:
		return fmt.Sprintf("0x%04x+%d", n.Offset, n.Length)
	}
	return ""
}

// valueText is a value for people; long runs of bytes are shortened.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return hexText(v)
	}
	return fmt.Sprint(v)
}
