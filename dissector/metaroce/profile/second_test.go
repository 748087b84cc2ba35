package profile_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/metaroce/profile"
)

// A second profile needs no line of hand-written code: what is generated from it is laid over the tree, with tests that
// hold dissector, field tree, filter and plugin to it.
func TestSecondProfile(t *testing.T) { runWithSecond(t, "SecondProfile(Decodes|Limits|InTheTree)") }

func TestSecondProfileEqualsTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed")
	}
	runWithSecond(t, "SecondProfileEqualsTshark")
}

func runWithSecond(t *testing.T, tests string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := map[string]string{filepath.Join(root, "dissector", "tree", "second_profile_test.go"): abs(t, "testdata", "second_profile_test.go")}
	lay := func(name string, data []byte) {
		path := filepath.Join(dir, filepath.Base(filepath.Dir(name))+"-"+filepath.Base(name))
		require.NoError(t, os.WriteFile(path, data, 0o600))
		overlay[filepath.Join(root, "dissector", filepath.FromSlash(name))] = path
	}
	first, second := parse(t, "metaroce-mr0.yaml"), parse(t, filepath.Join("testdata", "mr-test.yaml"))
	files, err := second.Go()
	require.NoError(t, err)
	for _, f := range files {
		lay("metaroce/"+second.Name+"/"+f.Path, f.Data)
	}
	plugin, err := second.Lua()
	require.NoError(t, err)
	lay("metaroce/wireshark/"+second.PluginName(), plugin)
	set, err := profile.Set([]*profile.Profile{first, second})
	require.NoError(t, err)
	lay("metaroce_gen.go", set)

	list, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, list, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-vet=off", "-overlay", file, "-run", tests, "./dissector/tree")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: Test", "no test ran")
}

func abs(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	require.NoError(t, err)
	return path
}

func parse(t *testing.T, name string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	p, err := profile.Parse(data)
	require.NoError(t, err)
	return p
}
