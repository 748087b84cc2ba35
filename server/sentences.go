package server

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/server/api"
)

// byteSize writes a size as people do.
func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, exponent := float64(n), 0
	for value >= unit && exponent < 5 {
		value /= unit
		exponent++
	}
	return strconv.FormatFloat(value, 'f', precision(value), 64) + " " + []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}[exponent]
}

func precision(v float64) int {
	if v < 10 && v != float64(int64(v)) {
		return 1
	}
	return 0
}

// grouped writes a number with commas between thousands.
func grouped[T ~int64 | ~uint64](n T) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func counted[T ~int64 | ~uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// listedKinds is how many kinds of other traffic a sentence names.
const listedKinds = 6

// withoutRDMA says what was there instead of RDMA, or nothing when there was RDMA.
func withoutRDMA(totals api.Totals, other []Traffic) string {
	if totals.RdmaPackets > 0 {
		return ""
	}
	if totals.Packets == 0 {
		return "The capture holds no packets."
	}
	sentence := counted(totals.Packets, "packet", "packets") + ", none of them RDMA"
	if len(other) == 0 {
		return sentence + "."
	}
	var parts []string
	var rest uint64
	for i, kind := range other {
		if i < listedKinds {
			parts = append(parts, grouped(kind.Packets)+" "+kind.Name)
		} else {
			rest += kind.Packets
		}
	}
	if rest > 0 {
		parts = append(parts, grouped(rest)+" other")
	}
	return sentence + ": " + strings.Join(parts, ", ") + "."
}

// joinSentences leaves out what is empty.
func joinSentences(sentences ...string) string {
	var kept []string
	for _, s := range sentences {
		if s = strings.TrimSpace(s); s != "" {
			kept = append(kept, capitalized(s))
		}
	}
	return strings.Join(kept, " ")
}

// capitalized makes a sentence of a phrase.
func capitalized(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}
