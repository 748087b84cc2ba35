// Command generate writes everything that is generated from the profiles in dissector/metaroce/profile.
// `go generate ./...` runs it in dissector/metaroce.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/rocelens/rocelens/dissector/metaroce/profile"
)

// Places below the root of the repository.
const (
	toRoot   = "../.."
	packages = "dissector/metaroce"
	sources  = packages + "/profile/*.yaml"
	binding  = "dissector/metaroce_gen.go"
	plugins  = "dissector/metaroce/wireshark"
	pages    = "docs"
	console  = "web/src/lib/metaroceFields.gen.ts"
)

func main() {
	if err := run(toRoot); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	names, err := fs.Glob(root.FS(), sources)
	if err != nil {
		return err
	}
	var profiles []*profile.Profile
	for _, name := range names {
		p, fault := generate(root, name)
		profiles, err = append(profiles, p), errors.Join(err, fault)
	}
	if err == nil {
		err = bind(root, profiles)
	}
	return errors.Join(err, root.Close())
}

// generate writes what belongs to the profile in the file name.
func generate(root *os.Root, name string) (*profile.Profile, error) {
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p, err := profile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	files, err := p.Go()
	for _, f := range files {
		err = errors.Join(err, write(root, path.Join(packages, p.Name, f.Path), f.Data))
	}
	plugin, fault := p.Lua()
	if err = errors.Join(err, fault); err != nil {
		return p, err
	}
	page, fault := p.Page()
	if err = errors.Join(err, fault); err != nil {
		return p, err
	}
	return p, errors.Join(write(root, path.Join(plugins, p.PluginName()), plugin), write(root, path.Join(pages, p.PageName()), page))
}

// bind writes what belongs to all profiles together.
func bind(root *os.Root, profiles []*profile.Profile) error {
	source, err := profile.Set(profiles)
	if err != nil {
		return err
	}
	fields, err := profile.Console(profiles)
	if err != nil {
		return err
	}
	return errors.Join(write(root, binding, source), write(root, console, fields))
}

// write replaces a file and makes its folder.
func write(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o750); err != nil {
		return err
	}
	out, err := root.Create(name) // not WriteFile: the umask has the say about the mode
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Close())
}
