// Package wireshark holds the Wireshark plugins of the MetaRoCE profiles, which are generated from their descriptions.
package wireshark

import (
	"bytes"
	"embed"
	"io/fs"
)

//go:embed *.lua
var files embed.FS

// Plugin is a plugin in Lua.
type Plugin struct {
	Name string // of its file: metaroce-mr0.lua
	Data []byte
}

// Plugins are those of all profiles, in the order of their names.
func Plugins() ([]Plugin, error) {
	names, err := fs.Glob(files, "*.lua")
	if err != nil {
		return nil, err
	}
	var out []Plugin
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, Plugin{name, data})
	}
	return out, nil
}

// generated is in the first lines of every plugin, whatever its version.
const generated = "by rocelens. DO NOT EDIT."

// IsPlugin tells whether a file is a plugin that some version of rocelens has written.
func IsPlugin(data []byte) bool {
	const head = 512
	return bytes.Contains(data[:min(len(data), head)], []byte(generated))
}
