package filter

import (
	"fmt"

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
func (f *Filter) Match(p *dissector.Packet, err error) bool { return f.MatchCommented(p, err, nil) }

// MatchCommented is Match for a packet about which people wrote something into the capture: frame.comment.
func (f *Filter) MatchCommented(p *dissector.Packet, err error, comments []string) bool {
	s := subject{packet: p, err: err, comments: comments}
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
	left, err := p.xor()
	for err == nil && p.take("||") {
		var right expression
		right, err = p.xor()
		left = either{left, right}
	}
	return left, err
}

func (p *parser) xor() (expression, error) {
	left, err := p.and()
	for err == nil && p.take("^^") {
		var right expression
		right, err = p.and()
		left = oneOf{left, right}
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
	if others, ok := aliases[t.text]; ok {
		names = others
	}
	kind, ok := fields[names[0]]
	if !ok {
		what := "a known field"
		if name := closest(t.text); name != "" {
			what += " such as " + name
		}
		return nil, expected(t, what)
	}
	return p.about(field{names: names, kind: kind})
}

// noComparison refuses to compare what has no value.
func (p *parser) noComparison(name token) error {
	if t := p.peek(); isComparison(t) || t.text == "[" || t.text == "&" {
		return expected(t, fmt.Sprintf(`"and", "or" or the end, since %s has no value`, name.text))
	}
	return nil
}

func isComparison(t token) bool {
	if t.kind != tokenOperator {
		return false
	}
	switch t.text {
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "matches":
		return true
	}
	return false
}

// about reads what is asked about a field: whether it is there, or about its value, some of its bytes or bits.
func (p *parser) about(f field) (expression, error) {
	if p.take("[") {
		if !f.kind.hasBytes() {
			return nil, expected(p.tokens[p.at-1], fmt.Sprintf("a comparison, since %s is not made of bytes", f.names[0]))
		}
		var err error
		if f.part, err = p.part(); err != nil {
			return nil, err
		}
		f.kind, f.sliced, f.content = KindBytes, f.kind, true
	}
	if t := p.peek(); p.take("&") {
		if f.kind != KindNumber {
			return nil, expected(t, fmt.Sprintf("a comparison, since %s has no bits", f.names[0]))
		}
		mask, err := p.value(f, "&")
		if err != nil {
			return nil, err
		}
		f.mask = &mask.number
	}
	operator := p.peek()
	negated := operator.kind == tokenOperator && operator.text == "!" && p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == "in"
	if negated { // "not in"
		p.at++
		operator = p.peek()
	}
	if !isComparison(operator) {
		if f.mask != nil {
			return masked{f}, nil
		}
		return f, nil
	}
	if f.kind == KindPresence && operator.text != "contains" && operator.text != "matches" {
		return nil, p.noComparison(token{text: f.names[0]})
	}
	p.at++
	e, err := p.comparison(f, operator)
	if negated && err == nil {
		return both{f, negation{e}}, nil
	}
	return e, err
}

func (p *parser) comparison(f field, operator token) (expression, error) {
	switch operator.text {
	case "in":
		return p.membership(f)
	case "contains":
		return p.contains(f, operator)
	case "matches":
		return p.matches(f, operator)
	case "==", "!=":
	default:
		if !f.kind.ordered() {
			return nil, expected(operator, fmt.Sprintf(`"==", "!=" or "in", since %s has no order`, f.names[0]))
		}
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
		member, err := p.member(f)
		if err != nil {
			return nil, err
		}
		set = append(set, member)
		if p.take("}") {
			return set, nil
		}
		if !p.take(",") {
			return nil, expected(p.peek(), `"," or "}"`)
		}
	}
}
