package main

import (
	"strings"
	"unicode/utf8"
)

// style paints text on a terminal that wants colour; its zero value paints nothing.
type style struct{ color bool }

func newStyle(std *streams) style { return style{color: std.Color} }

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Colours of the terminal's own palette, so that they suit dark and light ones.
func (s style) strong(text string) string { return s.paint("1", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }
func (s style) bad(text string) string    { return s.paint("33", text) }

// width is how many columns a text takes; none of ours has wide characters.
func width(text string) int { return utf8.RuneCountInString(text) }

func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-width(text)))
}
