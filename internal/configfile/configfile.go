// Package configfile lets the flags of a command come from a TOML file whose keys are the names of the flags.
package configfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// Flag is the flag that names the file.
const Flag = "config"

// file is where flags come from. The environment goes before the file, and the command line before both.
type file struct {
	path   string
	values map[string]any
}

// Load adds the configuration file, if the flag or the environment variable env names one, to where the flags of the
// command come from. Keys that are no flags of it, and values that no flag can have, are errors.
func Load(ctx *kong.Context, env string) error {
	path := os.Getenv(env)
	for _, trace := range ctx.Path {
		if trace.Flag != nil && trace.Flag.Name == Flag {
			path = fmt.Sprint(ctx.FlagValue(trace.Flag))
		}
	}
	if path == "" {
		return nil
	}
	f, err := read(path)
	if err != nil {
		return err
	}
	if err := f.check(ctx.Selected()); err != nil {
		return err
	}
	ctx.AddResolver(f)
	return nil
}

func read(path string) (*file, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the file that the user named
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no configuration file %s", path)
		}
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	r := &file{path: path, values: map[string]any{}}
	if err := toml.Unmarshal(data, &r.values); err != nil {
		if place, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := place.Position()
			return nil, fmt.Errorf("configuration file %s, line %d, column %d: %w", path, row, column, err)
		}
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	return r, nil
}

// check refuses keys that are no flags, all of them at once, and values that no flag can have.
func (r *file) check(command *kong.Node) error {
	var known, unknown []string
	for _, group := range command.AllFlags(true) {
		for _, flag := range group {
			if slices.Contains([]string{Flag, "help", "check"}, flag.Name) {
				continue
			}
			known = append(known, flag.Name)
			if kind := unfit(r.values[flag.Name], flag.IsSlice()); kind != "" {
				return fmt.Errorf("configuration file %s: %s cannot be %s", r.path, flag.Name, kind)
			}
		}
	}
	for key := range r.values {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	slices.Sort(known)
	return fmt.Errorf("configuration file %s: unknown keys %s; there are %s", r.path, strings.Join(unknown, ", "), strings.Join(known, ", "))
}

// unfit names a value that is neither one word nor, where a flag takes several, a list of words.
func unfit(value any, several bool) string {
	switch v := value.(type) {
	case nil, string, bool, int64, float64:
		return ""
	case map[string]any:
		return "a table"
	case []any:
		if !several {
			return "a list"
		}
		for _, word := range v {
			if kind := unfit(word, false); kind != "" {
				return "a list of " + strings.TrimPrefix(kind, "a ") + "s"
			}
		}
		return ""
	}
	return "a date"
}

// Validate implements kong.Resolver; the keys and their values are checked when the file is read.
func (r *file) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (r *file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil //nolint:nilnil // kong's way to say: not from here
		}
	}
	value, ok := r.values[flag.Name]
	if !ok {
		return nil, nil //nolint:nilnil // kong's way to say: not from here
	}
	list, several := value.([]any)
	if !several {
		return fmt.Sprint(value), nil
	}
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = fmt.Sprint(word)
	}
	return kong.JoinEscaped(words, flag.Tag.Sep), nil
}
