package main

import (
	"os"

	"golang.org/x/term"
)

// standardStreams looks at the process's own streams and at the wishes in its environment.
func standardStreams() *streams {
	s := &streams{
		In:     os.Stdin,
		Out:    os.Stdout,
		Err:    os.Stderr,
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if s.OutTTY {
		if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			s.OutWidth = width
		}
	}
	// https://no-color.org: set and not empty means no colour, whatever its value.
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}
