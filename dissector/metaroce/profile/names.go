package profile

import (
	"slices"
	"strings"
	"unicode"
)

// initialisms are words that Go writes in capitals throughout.
var initialisms = []string{"ack", "ce", "ecn", "id", "mtu", "msn", "nak", "psn", "rto", "sack"}

// words that are written in one piece but are two.
var spelled = map[string]string{"rkey": "RKey", "rtx": "RTX"}

// goName turns path_id or CONN_REQ into PathID or ConnReq.
func goName(name string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(name), "_") {
		if s, ok := spelled[word]; ok {
			out.WriteString(s)
			continue
		}
		if slices.Contains(initialisms, word) {
			out.WriteString(strings.ToUpper(word))
			continue
		}
		r := []rune(word)
		out.WriteString(string(unicode.ToUpper(r[0])) + string(r[1:]))
	}
	return out.String()
}

// flagName keeps short flags as the profile writes them and spells long ones: AR, RTX, First, Immediate's IMM.
func flagName(name string) string {
	const short = 3
	if len(name) <= short {
		return name
	}
	return goName(name)
}

// enumType is the Go type of an enumeration: ack_triggers gives ACKTrigger.
func enumType(name string) string { return goName(strings.TrimSuffix(name, "s")) }

// sentence makes a comment of a title: with a full stop.
func sentence(s string) string { return strings.TrimSuffix(s, ".") + "." }

// labels are words of names as people read them.
var labels = map[string]string{
	"ack": "ACK", "ce": "CE", "conn": "connection", "dest": "destination", "msn": "MSN", "mtu": "MTU", "psn": "PSN", "rkey": "remote key", "sack": "SACK",
}

// label turns dest_conn_id into "Destination connection id".
func label(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if l, ok := labels[w]; ok {
			words[i] = l
		}
	}
	s := strings.Join(words, " ")
	return strings.ToUpper(s[:1]) + s[1:]
}
