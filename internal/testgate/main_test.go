package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	list := filepath.Join(t.TempDir(), "allowed")
	if err := os.WriteFile(list, []byte("# comment\nflow TestNeedsRoot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line := func(action, test string) string {
		return `{"Action":"` + action + `","Package":"example/flow","Test":"` + test + `"}` + "\n"
	}
	for name, c := range map[string]struct{ in, want string }{
		"passes":              {line("pass", "TestA"), ""},
		"allowed skip":        {line("pass", "TestA") + line("skip", "TestNeedsRoot"), ""},
		"skip not on list":    {line("pass", "TestA") + line("skip", "TestB"), "1 skips are not on the list"},
		"subtest not on list": {line("pass", "TestA") + line("skip", "TestNeedsRoot/x"), "1 skips are not on the list"},
		"failure":             {line("pass", "TestA") + line("fail", "TestB"), "tests failed"},
		"nothing ran":         {"", "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(list, strings.NewReader(c.in), &out)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q\n%s", err, c.want, out.String())
			}
		})
	}
}
