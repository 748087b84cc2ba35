package filter

import (
	"fmt"
	"strings"
)

// SyntaxError says where a filter is wrong, and what would have been right.
type SyntaxError struct {
	Column   int    // of the first character at fault, from 1
	Expected string // "a field or a protocol"
	Found    string // `")"`, "the end"
}

// Error is one sentence with column, expectation and finding.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("column %d: expected %s, found %s", e.Column, e.Expected, e.Found)
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenString
	tokenOperator // ( ) { } [ ] , ! && || ^^ & == != < <= > >= in contains matches
)

// token is a piece of a filter; the words for operators are operators already.
type token struct {
	kind   tokenKind
	text   string // of a string without its quotation marks
	column int
}

// describe quotes the token for an error.
func (t token) describe() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenString:
		return fmt.Sprintf("the text %q", t.text)
	case tokenWord, tokenOperator:
	}
	return fmt.Sprintf("%q", t.text)
}

// spelled are the operators that can be written as words.
var spelled = map[string]string{
	"and": "&&", "or": "||", "xor": "^^", "not": "!", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "in": "in",
	"contains": "contains", "matches": "matches", "bitwise_and": "&",
}

// lex cuts a filter into tokens, the last of which is tokenEnd.
func lex(text string) ([]token, error) {
	var tokens []token
	for i := 0; ; {
		for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
			i++
		}
		if i == len(text) {
			return append(tokens, token{kind: tokenEnd, column: i + 1}), nil
		}
		t, n, err := next(text, i)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		i += n
	}
}

// next is the token at i and its length.
func next(text string, i int) (token, int, error) {
	t := token{column: i + 1}
	rest := text[i:]
	if rest[0] == '"' {
		return quoted(text, i)
	}
	if n := wordLength(rest); n > 0 {
		t.kind, t.text = tokenWord, rest[:n]
		if operator, ok := spelled[t.text]; ok {
			t.kind, t.text = tokenOperator, operator
		}
		return t, n, nil
	}
	if rest[0] == '~' {
		t.kind, t.text = tokenOperator, "matches"
		return t, 1, nil
	}
	for _, operator := range [...]string{"&&", "||", "^^", "==", "!=", "<=", ">=", "<", ">", "!", "&", "(", ")", "{", "}", "[", "]", ","} {
		if strings.HasPrefix(rest, operator) {
			t.kind, t.text = tokenOperator, operator
			return t, len(operator), nil
		}
	}
	found := fmt.Sprintf("%q", string([]rune(rest)[:1]))
	switch rest[0] {
	case '=', '|', '^':
		twice := rest[:1] + rest[:1]
		return t, 0, &SyntaxError{Column: t.column, Expected: fmt.Sprintf("%q", twice), Found: found}
	}
	return t, 0, &SyntaxError{Column: t.column, Expected: "a field, a value or an operator", Found: found}
}

// wordLength is how many bytes at the start of s belong to a name, number or address.
func wordLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("._:/-", c) < 0 {
			return i
		}
	}
	return len(s)
}

// quoted reads a string in quotation marks, in which a backslash takes the next character as it is.
func quoted(text string, start int) (token, int, error) {
	var b strings.Builder
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return token{kind: tokenString, text: b.String(), column: start + 1}, i + 1 - start, nil
		case '\\':
			if i++; i == len(text) {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return token{}, 0, &SyntaxError{Column: len(text) + 1, Expected: "a closing quotation mark", Found: "the end"}
}
