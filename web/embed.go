// Package web holds the built console, so that the service is one binary.
package web

import (
	"embed"
	"io/fs"
)

// dist is filled by "npm run build"; without that it holds only .gitkeep, so that Go builds without Node.
//
//go:embed all:dist
var dist embed.FS

// FS returns the console's files with index.html at the root. Built is false when the binary was made without them.
func FS() (files fs.FS, built bool) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		// Unreachable: the name is constant and valid.
		return dist, false
	}
	info, err := fs.Stat(files, "index.html")
	if err != nil {
		return files, false
	}
	return files, info.Mode().IsRegular()
}
