package filter

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// value is one value of a field, of the packet or of the filter. Which member counts is the kind's matter.
type value struct {
	number uint64 // numbers, flags (0 and 1), times in nanoseconds
	text   string // text, Ethernet addresses
	prefix netip.Prefix
	bytes  []byte
}

// content is what the value consists of, for those who look into it.
func (v *value) content(kind Kind) []byte {
	switch kind {
	case KindText:
		return []byte(v.text)
	case KindMAC:
		b, _ := parseBytes(v.text) // it was made of six
		return b
	default:
		return v.bytes
	}
}

// parseValue reads a value of a kind from a filter.
func parseValue(kind Kind, text string) (value, bool) {
	switch kind {
	case KindNumber:
		n, err := strconv.ParseUint(text, 0, 64)
		plain := err == nil && !strings.Contains(text, "_") && (len(text) == 1 || text[0] != '0' || text[1] == 'x' || text[1] == 'X')
		return value{number: n}, plain
	case KindFlag:
		switch strings.ToLower(text) {
		case "true", "1":
			return value{number: 1}, true
		case "false", "0":
			return value{}, true
		}
	case KindText:
		return value{text: text}, true
	case KindMAC:
		b, ok := parseBytes(text)
		return value{text: hex.EncodeToString(b)}, ok && len(b) == 6
	case KindAddress:
		p, ok := parsePrefix(text)
		return value{prefix: p}, ok
	case KindBytes:
		b, ok := parseBytes(text)
		return value{bytes: b}, ok
	case KindTime:
		n, ok := parseTime(text)
		return value{number: n}, ok
	case KindPresence:
	}
	return value{}, false
}

// parseBytes reads pairs of hexadecimal digits, with : or - between them or nothing.
func parseBytes(text string) ([]byte, bool) {
	text = strings.TrimPrefix(text, "0x")
	if strings.ContainsAny(text, ":-") {
		for pair := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ':' || r == '-' }) {
			if len(pair) != 2 {
				return nil, false
			}
		}
		text = strings.NewReplacer(":", "", "-", "").Replace(text)
	}
	b, err := hex.DecodeString(text)
	return b, err == nil && len(b) > 0
}

// parsePrefix reads an address or a prefix; IPv4 addresses mapped into IPv6 become IPv4.
func parsePrefix(text string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	const mapped = 96
	if err == nil && p.Addr().Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p.Masked(), err == nil
}

// parseTime reads seconds with up to nine decimals, or a date and the time of day in UTC, and answers in nanoseconds.
func parseTime(text string) (uint64, bool) {
	const decimals = 9
	for _, layout := range [...]string{"2006-01-02 15:04:05", "2006-01-02T15:04:05Z", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil && t.Unix() >= 0 && t.Year() < 2262 {
			return uint64(t.UnixNano()), true
		}
	}
	seconds, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > decimals {
		return 0, false
	}
	s, err := strconv.ParseUint(seconds, 10, 33)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	return s*1e9 + n, err == nil
}

// fromTree is the value of a tree's node in the form of a kind.
func fromTree(kind Kind, v any) (value, bool) {
	switch v := v.(type) {
	case uint64:
		return value{number: v}, kind == KindNumber
	case bool:
		if v {
			return value{number: 1}, kind == KindFlag
		}
		return value{}, kind == KindFlag
	case []byte:
		return value{bytes: v}, kind == KindBytes
	case string:
		switch kind {
		case KindText:
			return value{text: v}, true
		case KindMAC, KindAddress, KindTime:
			return parseValue(kind, v)
		case KindPresence, KindNumber, KindFlag, KindBytes:
		}
	}
	return value{}, false
}

// equal tells whether a value of a packet is the filter's, or within its prefix.
func equal(kind Kind, packet, wanted *value) bool {
	switch kind {
	case KindNumber, KindFlag, KindTime:
		return packet.number == wanted.number
	case KindText, KindMAC:
		return packet.text == wanted.text
	case KindAddress:
		return wanted.prefix.Contains(packet.prefix.Addr())
	case KindBytes:
		return bytes.Equal(packet.bytes, wanted.bytes)
	case KindPresence:
	}
	return false
}
