// Package architecture holds tests over the whole tree: which package may import which.
package architecture

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/rocelens/rocelens/"

// forbidden lists, for each package and all below it, what its non-test code must never reach, directly or
// through others. Data flows one way: capture, dissector, flow and replay, store, server and web.
var forbidden = map[string][]string{
	"dissector":            {"capture", "flow", "replay", "analysis", "store", "server", "web", "cmd"},
	"capture":              {"dissector", "flow", "replay", "analysis", "store", "server", "web", "cmd"},
	"flow":                 {"capture", "replay", "analysis", "store", "server", "web", "cmd"},
	"replay":               {"flow", "analysis", "store", "server", "web", "cmd"},
	"replay/metaroce":      {"capture"},
	"replay/roce":          {"capture"},
	"replay/merge":         {"capture"},
	"analysis":             {"store", "server", "web", "cmd"},
	"store":                {"capture", "analysis", "server", "web", "cmd"},
	"store/spool":          {"dissector", "flow", "migrations"},
	"migrations":           {"dissector", "capture", "flow", "analysis", "store", "server", "web", "cmd"},
	"server":               {"capture", "analysis", "store", "cmd"},
	"web":                  {"dissector", "capture", "flow", "analysis", "store", "server", "cmd"},
	"dissector/infiniband": {"dissector/tree", "dissector/filter"},
}

func TestImportsPointOneWay(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}:{{join .Deps \" \"}}", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		name, deps, _ := strings.Cut(strings.TrimSpace(line), ":")
		pkg, ours := strings.CutPrefix(name, module)
		if !ours {
			continue
		}
		seen++
		for parent, banned := range forbidden {
			if !within(pkg, parent) {
				continue
			}
			for dep := range strings.FieldsSeq(deps) {
				for _, b := range banned {
					if d, ours := strings.CutPrefix(dep, module); ours && within(d, b) {
						t.Errorf("%s reaches %s, which %s must not import", pkg, d, parent)
					}
				}
			}
		}
	}
	if seen < 5 {
		t.Fatalf("go list named %d packages of this module, expected more", seen)
	}
}

func within(pkg, parent string) bool { return pkg == parent || strings.HasPrefix(pkg, parent+"/") }
