package excerpt

import (
	"fmt"
	"slices"
	"strings"
)

// Claim is what packets are to prove.
type Claim struct {
	Rule     string // its ID in the catalogue
	Verdict  string // diverges or undetermined
	Sentence string
	Packets  []uint64 // numbers of the packets that prove it, in the order in which they make the point
}

// Comment is what the packet says for the claim: the rule, its place among the packets that prove it, which packet it was
// in which capture, and the sentence. It is empty for a packet that proves nothing. number counts as Claim.Packets do;
// where names the packet in the capture that it was taken from.
func (c *Claim) Comment(number uint64, where string) string {
	at := slices.Index(c.Packets, number)
	if at < 0 {
		return ""
	}
	verb := "proves"
	if c.Verdict == "undetermined" {
		verb = "may prove"
	}
	return fmt.Sprintf("%s %s (%s), %d of %d, %s: %s", verb, c.Rule, c.Verdict, at+1, len(c.Packets), where, c.Sentence)
}

// FileName is a name for the excerpt of a capture of that name: the capture, the rule and the first packet that proves it.
// It has letters, digits, '.', '-' and '_' only.
func (c *Claim) FileName(captured string) string {
	name := captured
	for _, ending := range []string{".gz", ".zst", ".xz", ".pcapng", ".pcap", ".cap", ".dump"} {
		if shorter, ok := strings.CutSuffix(name, ending); ok && shorter != "" {
			name = shorter
		}
	}
	parts := []string{name, c.Rule}
	if len(c.Packets) > 0 {
		parts = append(parts, fmt.Sprintf("packet-%d", c.Packets[0]))
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, strings.TrimLeft(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-"), ".-")) + ".pcapng"
}
