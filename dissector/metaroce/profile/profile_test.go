package profile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/metaroce/profile"
)

// A description with a fault is refused, and the error says where it is.
func TestParseSaysWhatIsWrong(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "mr-test.yaml"))
	require.NoError(t, err)
	for name, tt := range map[string]struct{ before, after, want string }{
		"name that Go cannot have":     {"profile: mrtest", "profile: mr-test", `profile: "mr-test" is no name of a Go package`},
		"no title":                     {"title: MetaRoCE test profile\n", "", "title: missing"},
		"nothing about it":             {"about: Nobody speaks it.\n", "", "about: missing"},
		"filter in capitals":           {"filter: mrtest", "filter: MR", `filter: "MR" is no name in lower case`},
		"port out of range":            {"udp_port: 40404", "udp_port: 70000", "udp_port: 70000 is no port"},
		"unknown ICRC":                 {"icrc: udp-pseudo", "icrc: crc64", `icrc: "crc64" is no rule that is known`},
		"unknown key":                  {"icrc: udp-pseudo", "icrc: udp-pseudo\ncolour: red", "colour"},
		"key there twice":              {"icrc: udp-pseudo", "icrc: udp-pseudo\nicrc: udp-pseudo", "icrc"},
		"fields that overlap":          {"{name: hop,            at: 4, bit: 6", "{name: hop,            at: 4, bit: 5", "headers.CH.hop: begins at byte 4 bit 5, inside payload_length"},
		"gap":                          {"{name: psn,            at: 5", "{name: psn,            at: 6", "headers.CH.psn: begins at byte 6 bit 0: gap of 8 bits after hop"},
		"header not filled":            {"length: 14", "length: 15", "headers.CH: length is 15 bytes, its fields fill 112 bits, which are 14"},
		"no title of a field":          {`hex: true, title: "what opens it"`, "hex: true", "headers.XH.key: a title is needed"},
		"limit that does not fit":      {"min: 1, max: 1000", "min: 1, max: 1024", "headers.CH.path_id: 1024 does not fit into 10 bits"},
		"unknown enumeration":          {"enum: lanes", "enum: tracks", "headers.CH.lane: enums has no tracks"},
		"enumeration of nothing":       {"enums:\n", "enums:\n  tracks: {0: one}\n", "enums.tracks: no field has it"},
		"code named twice":             {"1: fast", "1: slow", `enums.lanes: 1: "slow" is no name in lower case, or is there twice`},
		"vector of odd bits":           {"bits: 96", "bits: 95", "headers.RH.arrived: 95 bits: a vector is made of whole bytes"},
		"vector with a limit":          {"bits: 80", "bits: 80, max: 7", "headers.RH.marks: a vector has no values to compare"},
		"vector that counts from air":  {"counts_from: cumulative_psn", "counts_from: psn", "headers.RH.arrived: counts_from is for vectors"},
		"unknown only":                 {"only: unsequenced", "only: sundays", `headers.CH.plane_id: only: "sundays" is not known`},
		"equals beside the version":    {"bits: 2, title", "bits: 2, equals: 1, title", "headers.CH.hop: equals is for the version"},
		"version of any value":         {"equals: 5, ", "", "headers.CH.version: equals is needed"},
		"no message length":            {"name: message_length,", "name: whole_length,  ", "headers.DH: message_length is needed"},
		"other first header":           {"name: CH\n", "name: CX\n", "headers.CX: the first header is the common one, CH"},
		"type without CH":              {"headers: [CH, RH]", "headers: [RH]", "types.REPORT: the first header must be CH"},
		"type with a header twice":     {"headers: [CH, RH]", "headers: [CH, RH, RH]", "types.REPORT: has RH twice"},
		"type with an unknown header":  {"headers: [CH, RH]", "headers: [CH, QH]", "types.REPORT: headers has no QH"},
		"code that does not fit":       {"code: 30", "code: 32", "types.REPORT: code 32 does not fit into 5 bits"},
		"code there twice":             {"code: 30", "code: 9", "types.REPORT: name or code 9 is there twice"},
		"payload without its place":    {"name: NOTE,   headers: [CH], sequenced: true", "name: NOTE,   headers: [CH], payload: true", "types.NOTE: payload without a header that has its message_offset"},
		"flag beyond its field":        {"bit: 11,", "bit: 12,", "flags.EXTRA: bit 12 is not among the 12 bits of the flags"},
		"flag there twice":             {"{bit: 4,", "{bit: 0,", "flags.AGAIN: name or bit 0 is there twice"},
		"flag with unknown meaning":    {"means: retransmission", "means: repetition", `flags.AGAIN: means: "repetition" is not known`},
		"flag for an unknown type":     {"except: [GET]", "except: [FETCH]", "flags.FIRST: types has no FETCH"},
		"flag with an unknown header":  {"header: IMMH", "header: IMM", "flags.EXTRA: headers has no IMM"},
		"flag that requires nothing":   {"types: [PUT, NOTE]", "types: [PUT, NOTE], requires: MORE", "flags.EXTRA: flags has no MORE"},
		"flag that nothing may bear":   {", types: [PUT, NOTE]", "", "flags.EXTRA: types that may bear it are needed"},
		"header announced and present": {"headers: [CH, RH]", "headers: [CH, RH, IMMH]", "types.REPORT: has IMMH, which the flag EXTRA announces"},
		"default of no value":          {"value: 3", "value: many", `defaults.paths: "many" is no number and no duration`},
	} {
		text := strings.Replace(string(data), tt.before, tt.after, 1)
		require.NotEqual(t, string(data), text, name)
		_, err := profile.Parse([]byte(text))
		assert.ErrorContains(t, err, tt.want, name)
	}
}

// Whoever edits a description or a template and forgets to generate hears of it here.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	p := parse(t, "metaroce-mr0.yaml")
	files, err := p.Go()
	require.NoError(t, err)
	for i := range files {
		files[i].Path = filepath.Join("..", p.Name, files[i].Path)
	}
	plugin, err := p.Lua()
	require.NoError(t, err)
	set, err := profile.Set([]*profile.Profile{p})
	require.NoError(t, err)
	page, err := p.Page()
	require.NoError(t, err)
	console, err := profile.Console([]*profile.Profile{p})
	require.NoError(t, err)
	files = append(files,
		profile.File{Path: filepath.Join("..", "..", "..", "docs", p.PageName()), Data: page},
		profile.File{Path: filepath.Join("..", "..", "..", "web", "src", "lib", "metaroceFields.gen.ts"), Data: console},
		profile.File{Path: filepath.Join("..", "wireshark", p.PluginName()), Data: plugin},
		profile.File{Path: filepath.Join("..", "..", "metaroce_gen.go"), Data: set})
	for _, f := range files {
		got, err := os.ReadFile(f.Path)
		require.NoError(t, err)
		if !bytes.Equal(f.Data, got) {
			t.Errorf("%s is not current: run make generate", f.Path)
		}
	}
}
