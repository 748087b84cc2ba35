// Command testgate reads the stream of `go test -json`, prints what people want to see of it, and fails
// when a test failed, when a test was skipped that the list of allowed skips does not name, or when
// nothing ran at all.
//
//	go test -json ./... | go run ./internal/testgate -allowed .ci/allowed-skips
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

func main() {
	allowed := flag.String("allowed", ".ci/allowed-skips", "file with a pattern a line: package suffix, space, test name; * matches within a name")
	flag.Parse()
	if err := run(*allowed, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testgate:", err)
		os.Exit(1)
	}
}

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string
}

type key struct{ pkg, test string }

func run(allowedFile string, in io.Reader, out io.Writer) error {
	patterns, err := readPatterns(allowedFile)
	if err != nil {
		return err
	}
	var passed, failed, skipped int
	var refused []string
	output := map[key][]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text()) // a line of the go command itself
			continue
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			output[k] = append(output[k], e.Output)
		case "pass":
			if e.Test != "" {
				passed++
			} else {
				fmt.Fprint(out, lastLine(output[k]))
			}
			delete(output, k)
		case "fail":
			fmt.Fprint(out, strings.Join(output[k], ""))
			if e.Test != "" || len(output[k]) > 0 {
				failed++
			}
			delete(output, k)
		case "skip":
			if e.Test == "" {
				break // a package without tests
			}
			skipped++
			if !matches(patterns, k) {
				refused = append(refused, fmt.Sprintf("%s %s: %s", k.pkg, k.test, reason(output[k])))
			}
			delete(output, k)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read test output: %w", err)
	}
	for _, r := range refused {
		fmt.Fprintln(out, "skipped, and not on the list of allowed skips:", r)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	switch {
	case failed > 0:
		return errors.New("tests failed")
	case len(refused) > 0:
		return fmt.Errorf("%d skips are not on the list", len(refused))
	case passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

func readPatterns(name string) ([]key, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read allowed skips: %w", err)
	}
	var patterns []key
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		patterns = append(patterns, key{fields[0], fields[1]})
	}
	return patterns, nil
}

// matches compares test names element by element, so that "*" does not reach into subtests.
func matches(patterns []key, k key) bool {
	for _, p := range patterns {
		ok, err := path.Match(p.test, k.test)
		if err == nil && ok && strings.HasSuffix(k.pkg, p.pkg) {
			return true
		}
	}
	return false
}

func lastLine(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

func reason(lines []string) string {
	for _, l := range lines {
		if text := strings.TrimSpace(l); text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
			return text
		}
	}
	return "no reason given"
}
