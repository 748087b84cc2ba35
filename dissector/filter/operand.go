package filter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// member reads a value of a set or, for what has an order and for addresses, a range of them: 1..5 or 1 .. 5.
func (p *parser) member(f field) (expression, error) {
	const dots = ".."
	t := p.peek()
	low, high, isRange := t.text, "", false
	if t.kind == tokenWord && f.kind.ranged() {
		low, high, isRange = strings.Cut(t.text, dots)
		if !isRange && p.tokens[p.at+1].kind == tokenWord && strings.HasPrefix(p.tokens[p.at+1].text, dots) {
			p.at++
			low, high, isRange = t.text, strings.TrimPrefix(p.peek().text, dots), true
		}
	}
	if !isRange {
		v, err := p.value(f, "{")
		return comparison{f, "==", v}, err
	}
	if high == "" && p.tokens[p.at+1].kind == tokenWord { // the upper end stands apart
		p.at++
		high = p.peek().text
	}
	from, okFrom := parseValue(f.kind, low)
	to, okTo := parseValue(f.kind, high)
	if !okFrom || !okTo {
		if high != "" && !strings.Contains(t.text, dots) {
			t.text += dots + high
		}
		return nil, expected(t, "a range such as 100..200")
	}
	p.at++
	return within{f, from, to}, nil
}

// contains reads the bytes or the text that a field is to have somewhere. Bytes are given as they are compared, or as
// text in quotation marks.
func (p *parser) contains(f field, operator token) (expression, error) {
	if !f.kind.hasBytes() && f.kind != KindText {
		return nil, expected(operator, fmt.Sprintf("another comparison, since %s is neither text nor bytes", f.names[0]))
	}
	f.content = true
	t := p.peek()
	if t.kind == tokenString || t.kind == tokenWord && f.kind == KindText {
		p.at++
		return inside{f, []byte(t.text)}, nil
	}
	bytes, ok := parseBytes(t.text)
	if t.kind != tokenWord || !ok {
		return nil, expected(t, `text in quotation marks or bytes such as 00:1f after "contains"`)
	}
	p.at++
	return inside{f, bytes}, nil
}

// matches reads a regular expression (RE2) in quotation marks, for which upper and lower case are alike.
func (p *parser) matches(f field, operator token) (expression, error) {
	if !f.kind.hasBytes() && f.kind != KindText {
		return nil, expected(operator, fmt.Sprintf("another comparison, since %s is neither text nor bytes", f.names[0]))
	}
	f.content = true
	t := p.peek()
	if t.kind != tokenString {
		return nil, expected(t, `a regular expression in quotation marks after "matches"`)
	}
	compiled, err := regexp.Compile("(?is)" + t.text)
	if err != nil {
		return nil, expected(t, "a regular expression (RE2)")
	}
	p.at++
	return pattern{f, compiled}, nil
}

// part is a stretch of a field's bytes; of a negative length it goes on to the end.
type part struct{ offset, length int }

// of cuts the stretch out of bytes; ok is false when they are too short.
func (s *part) of(b []byte) (cut []byte, ok bool) {
	if s.offset > len(b) || s.length > len(b)-s.offset {
		return nil, false
	}
	if s.length < 0 {
		return b[s.offset:], s.offset < len(b)
	}
	return b[s.offset : s.offset+s.length], true
}

// part reads what stands between brackets: 3 is one byte, 3:2 two bytes from there, 3-4 the same, :2 the first two and 3:
// all from there.
func (p *parser) part() (*part, error) {
	const longest = 1 << 16
	t := p.peek()
	if t.kind != tokenWord {
		return nil, expected(t, "bytes such as 0:3")
	}
	p.at++
	number := func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 0 && n < longest
	}
	wrong := expected(t, "bytes such as 0:3")
	s := &part{}
	var ok bool
	if from, length, colon := strings.Cut(t.text, ":"); colon {
		okFrom, okLength := from == "", length == ""
		if !okFrom {
			s.offset, okFrom = number(from)
		}
		if s.length = -1; !okLength {
			s.length, okLength = number(length)
		}
		ok = okFrom && okLength && t.text != ":" && s.length != 0
	} else if from, to, dash := strings.Cut(t.text, "-"); dash {
		last, okTo := number(to)
		s.offset, ok = number(from)
		s.length = last - s.offset + 1
		ok = ok && okTo && s.length > 0
	} else {
		s.offset, ok = number(t.text)
		s.length = 1
	}
	if !ok {
		return nil, wrong
	}
	if !p.take("]") {
		return nil, expected(p.peek(), `"]"`)
	}
	return s, nil
}
