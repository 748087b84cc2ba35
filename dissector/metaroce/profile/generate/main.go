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
	for _, name := range names {
		err = errors.Join(err, generate(root, name))
	}
	return errors.Join(err, root.Close())
}

// generate writes what belongs to the profile in the file name.
func generate(root *os.Root, name string) error {
	data, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	p, err := profile.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	files, err := p.Go()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := write(root, path.Join(packages, p.Name, f.Path), f.Data); err != nil {
			return err
		}
	}
	return nil
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
