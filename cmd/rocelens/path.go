package main

import "github.com/alecthomas/kong"

// optionalPath is the path of a file, with the home directory in place of a leading tilde. Empty, as compose files leave
// variables that nobody has set, is none: kong's own paths would be the working directory.
type optionalPath string

// Decode implements kong.MapperValue.
func (p *optionalPath) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto("path", &path); err != nil {
		return err
	}
	if path != "" {
		path = kong.ExpandPath(path)
	}
	*p = optionalPath(path)
	return nil
}
