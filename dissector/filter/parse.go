package filter

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/dissector"
)

// maxNesting is how deep parentheses and negations may be nested.
const maxNesting = 100

// Filter is a compiled filter. It can be used by several goroutines at once.
type Filter struct {
	root expression
	text string
}

// Compile reads a filter. The error is a *[SyntaxError].
func Compile(text string) (*Filter, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := parser{tokens: tokens}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, expected(t, `"and", "or" or the end`)
	}
	return &Filter{root: root, text: text}, nil
}

// String is the filter as it was written.
func (f *Filter) String() string { return f.text }

// Match tells whether the filter selects a packet. It takes what [dissector.Decode] filled in and returned.
func (f *Filter) Match(p *dissector.Packet, err error) bool {
	s := subject{packet: p, err: err}
	return f.root.match(&s)
}

type parser struct {
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

// take steps over the token if it is the operator.
func (p *parser) take(operator string) bool {
	if t := p.peek(); t.kind == tokenOperator && t.text == operator {
		p.at++
		return true
	}
	return false
}

func expected(t token, what string) error {
	return &SyntaxError{Column: t.column, Expected: what, Found: t.describe()}
}

func (p *parser) or() (expression, error) {
	left, err := p.and()
	for err == nil && p.take("||") {
		var right expression
		right, err = p.and()
		left = either{left, right}
	}
	return left, err
}

func (p *parser) and() (expression, error) {
	left, err := p.not()
	for err == nil && p.take("&&") {
		var right expression
		right, err = p.not()
		left = both{left, right}
	}
	return left, err
}

func (p *parser) not() (expression, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, expected(p.peek(), fmt.Sprintf("at most %d levels of nesting", maxNesting))
	}
	defer func() { p.depth-- }()
	if p.take("!") {
		operand, err := p.not()
		return negation{operand}, err
	}
	if p.take("(") {
		inner, err := p.or()
		if err == nil && !p.take(")") {
			err = expected(p.peek(), `"and", "or" or ")"`)
		}
		return inner, err
	}
	return p.question()
}

// question reads a name, with a comparison or without.
func (p *parser) question() (expression, error) {
	t := p.peek()
	if t.kind != tokenWord {
		return nil, expected(t, "a field or a protocol")
	}
	p.at++
	if test, ok := protocols[t.text]; ok {
		return protocol(test), p.noComparison(t)
	}
	names := []string{t.text}
	if two, ok := aliases[t.text]; ok {
		names = two[:]
	}
	kind, ok := fields[names[0]]
	if !ok {
		what := "a known field"
		if name := closest(t.text); name != "" {
			what += " such as " + name
		}
		return nil, expected(t, what)
	}
	f := field{names: names, kind: kind}
	if kind == KindPresence {
		return f, p.noComparison(t)
	}
	return p.comparison(f)
}

// noComparison refuses to compare what has no value.
func (p *parser) noComparison(name token) error {
	if t := p.peek(); isComparison(t) {
		return expected(t, fmt.Sprintf(`"and", "or" or the end, since %s has no value`, name.text))
	}
	return nil
}

func isComparison(t token) bool {
	if t.kind != tokenOperator {
		return false
	}
	switch t.text {
	case "==", "!=", "<", "<=", ">", ">=", "in":
		return true
	}
	return false
}

func (p *parser) comparison(f field) (expression, error) {
	operator := p.peek()
	if !isComparison(operator) {
		return f, nil
	}
	p.at++
	if operator.text == "in" {
		return p.membership(f)
	}
	if operator.text != "==" && operator.text != "!=" && !f.kind.ordered() {
		return nil, expected(operator, fmt.Sprintf(`"==", "!=" or "in", since %s has no order`, f.names[0]))
	}
	v, err := p.value(f, operator.text)
	if err != nil {
		return nil, err
	}
	if operator.text == "!=" {
		return both{f, negation{comparison{f, "==", v}}}, nil
	}
	return comparison{f, operator.text, v}, nil
}

// value reads one value of the field's kind.
func (p *parser) value(f field, after string) (value, error) {
	t := p.peek()
	if t.kind != tokenWord && t.kind != tokenString {
		return value{}, expected(t, fmt.Sprintf("%s after %q", f.kind.expects(), after))
	}
	p.at++
	v, ok := parseValue(f.kind, t.text)
	if !ok {
		return value{}, expected(t, f.kind.expects())
	}
	return v, nil
}

// membership reads a set: values and, for what has an order, ranges.
func (p *parser) membership(f field) (expression, error) {
	if !p.take("{") {
		return nil, expected(p.peek(), `"{"`)
	}
	var set anyOf
	for {
		if t := p.peek(); t.kind == tokenWord && f.kind.ordered() && strings.Contains(t.text, "..") {
			low, high, _ := strings.Cut(t.text, "..")
			from, okFrom := parseValue(f.kind, low)
			to, okTo := parseValue(f.kind, high)
			if !okFrom || !okTo {
				return nil, expected(t, "a range such as 100..200")
			}
			p.at++
			set = append(set, within{f, from, to})
		} else {
			v, err := p.value(f, "{")
			if err != nil {
				return nil, err
			}
			set = append(set, comparison{f, "==", v})
		}
		if p.take("}") {
			return set, nil
		}
		if !p.take(",") {
			return nil, expected(p.peek(), `"," or "}"`)
		}
	}
}

// closest is the known name that differs least from a misspelt one, if it differs in no more than two letters.
func closest(text string) string {
	const most, longest = 2, 64
	best, name := most+1, ""
	if len(text) > longest {
		return ""
	}
	for _, f := range Fields() {
		if d := distance(text, f.Name); d < best {
			best, name = d, f.Name
		}
	}
	return name
}

// distance is how many letters have to be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
