package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/reports.md promises tests: each row names some, and each that is named exists.
func TestReportsNameTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z][a-z0-9/-]*)\\.(Test[A-Za-z0-9]+)`")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Fault ") {
			continue
		}
		rows++
		if len(cells) != 4 {
			t.Errorf("%d cells, want 4: %s", len(cells), line)
			continue
		}
		tests := named.FindAllStringSubmatch(cells[3], -1)
		if len(tests) == 0 || len(tests) != strings.Count(cells[3], "`")/2 {
			t.Errorf("names no test, or something else: %s", cells[3])
		}
		for _, m := range tests {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("%s has no %s", m[1], m[2])
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows, expected more", rows)
	}
}

// hasTest tells whether a test file of the package declares the test.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
