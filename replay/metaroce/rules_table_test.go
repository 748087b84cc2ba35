package metaroce_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// docs/metaroce-rules.md names tests for every rule, and each that is named exists.
func TestRulesNameTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/metaroce-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.ReadFile("../../dissector/metaroce/profile/metaroce-mr0.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z][a-z0-9/-]*)\\.(Test[A-Za-z0-9]+)`")
	rules := map[string]int{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Rule ") {
			continue
		}
		if len(cells) != 3 || cells[1] != "[M]" && cells[1] != "[P]" {
			t.Errorf("not a rule: %s", line)
			continue
		}
		rules[cells[1]]++
		tests := named.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 || len(tests) != strings.Count(cells[2], "`")/2 {
			t.Errorf("names no test, or something else: %s", cells[2])
		}
		for _, m := range tests {
			if !declares(t, m[1], m[2]) {
				t.Errorf("%s has no %s", m[1], m[2])
			}
		}
	}
	for _, mark := range []string{"[M]", "[P]"} {
		if want := strings.Count(string(profile), mark+" ") - 1; rules[mark] < want { // its introduction explains the mark
			t.Errorf("%d rules %s, the profile has %d", rules[mark], mark, want)
		}
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(profile)); sum != rulesOf {
		t.Errorf("the profile's text has changed: look whether its rules have, then put %s here", sum)
	}
}

// rulesOf is the SHA-256 of the text of the profile whose rules the table has.
const rulesOf = "4c141566654173117be14357068d1a89bb3a85a215bdb208e638ebebfb8ea1f3"

// declares tells whether a test file of the package has the test.
func declares(t *testing.T, pkg, name string) bool {
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

// The ICRC as the profile describes it, computed here by its own words.
func TestICRCCoversWhatTheProfileSays(t *testing.T) {
	s := newScript(t, nil)
	s.post(metaroce.WorkRequest{Data: []byte("payload"), RKey: 1})
	x := s.one(mr0.TypeWrite)
	from, to := x.Source.Addr().As4(), x.Destination.Addr().As4()
	covered := append(append([]byte{}, from[:]...), to[:]...)
	covered = binary.BigEndian.AppendUint16(covered, x.Source.Port())
	covered = binary.BigEndian.AppendUint16(covered, x.Destination.Port())
	covered = binary.BigEndian.AppendUint16(covered, uint16(8+len(x.Datagram.Payload)))
	body := x.Datagram.Payload[:len(x.Datagram.Payload)-4]
	want := crc32.ChecksumIEEE(append(covered, body...))
	if got := binary.LittleEndian.Uint32(x.Datagram.Payload[len(body):]); got != want {
		t.Errorf("ICRC is %08x, want %08x", got, want)
	}
}
