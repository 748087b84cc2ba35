package filter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// matching counts the packets of a test capture that a filter selects.
func matching(t *testing.T, capture, text string) (count int) {
	t.Helper()
	f, err := Compile(text)
	require.NoError(t, err, text)
	var p dissector.Packet
	for _, frame := range framefile.Read(t, filepath.Join("..", "testdata", capture)) {
		err := dissector.Decode(frame.Data, frame.Meta, &p)
		if f.Match(&p, err) {
			count++
		}
	}
	return count
}

// The counts are facts of the captures: 17 frames of which 6 are datagrams to QP1, and so on.
func TestMatch(t *testing.T) {
	const base, qinq, cnp, nak = "base-cm-send-write-read.pcap", "enc-qinq.pcap", "sit-ecn-cnp.pcap", "sit-nak-all.pcap"
	tests := []struct {
		capture, filter string
		want            int
	}{
		{base, "roce", 17},
		{base, "not roce", 0},
		{base, "rocev2 && !rocev1", 17},
		{base, "infiniband.bth", 17},
		{base, "infiniband.deth", 5},
		{base, "infiniband.bth.opcode == 0x64", 5},
		{base, "infiniband.bth.opcode == 100", 5},
		{base, "infiniband.bth.opcode != 100", 12},
		{base, "infiniband.bth.opcode eq 0x64 and ip.src == 10.0.0.1", 3},
		{base, "frame.number <= 3", 3},
		{base, "frame.number in {1, 3..5, 17}", 5},
		{base, "frame.number > 3 and frame.number lt 6 or frame.number ge 17", 3},
		{base, "frame.number == 1 or frame.number == 2 and frame.number == 3", 1}, // "and" binds closer
		{base, "(frame.number == 1 or frame.number == 2) and frame.number == 2", 1},
		{base, "not frame.number == 1 and frame.number < 3", 1}, // "not" binds closest
		{base, "ip.addr == 10.0.0.0/24", 17},
		{base, "ip.addr == 10.0.1.0/24", 0},
		{base, "ip.addr != 10.0.0.1", 0}, // every packet has it on one side
		{base, "ip.src != 10.0.0.1 && ip.src in {10.0.0.2, 10.9.0.0/16}", 7},
		{base, "udp.port == 4791", 17},
		{base, "udp.srcport == 4791", 0},
		{base, "vlan", 0},
		{base, "eth.addr == 02:00:00:00:00:01", 17},
		{base, "eth.src == 02-00-00-00-00-02", 0},
		{base, "infiniband.bth.a == true", 5},
		{base, "frame.time_epoch >= 1700000000.002 and frame.time_epoch < 1700000000.004", 2},
		{base, `infiniband.invariant.crc.status == "good"`, 17},
		{base, "infiniband.mad.attributeid == 0x10", 1},
		{base, "infiniband.reth.va == 139641712652288", 2},
		{"sit-icrc-bad.pcap", `infiniband.invariant.crc.status == "bad"`, 6},
		{qinq, "vlan.id == 200", 17},
		{qinq, "vlan.id == 100", 17},
		{qinq, "vlan.id != 100", 0},
		{qinq, "vlan.priority > 3", 17},
		{qinq, "vlan.id in {1..99}", 0},
		{cnp, "cnp", 3},
		{cnp, "ip.dsfield.ecn == 3", 4},
		{cnp, "ip.dsfield.ecn == 3 || cnp", 7},
		{cnp, "infiniband.bth.becn == 1", 3},
		{nak, "infiniband.aeth.syndrome >= 0x60", 8},
		{nak, "infiniband.aeth.syndrome.error_code == 0", 1},
		{"sit-imm-inv.pcap", "infiniband.immdt == 0x2b", 1},
		{"sit-imm-inv.pcap", "infiniband.immdt || infiniband.ieth", 4},
		{"enc-vxlan.pcap", "vxlan.vni == 5001 && tunnel && ip.src == 10.9.0.1 && ip.src == 10.0.0.1", 10},
		{"enc-vxlan.pcap", "udp.dstport == 4789 and udp.dstport == 4791", 17},
		{"enc-erspan2.pcap", "mirror && erspan.spanid == 7", 17},
		{"rocev2-ipv6.pcap", "ipv6.flow == 0x12345 and ipv6.addr == fd00::/8", 17},
		{"roce-v1-vlan-mixed.pcap", "rocev1 and infiniband.grh", 3},
		{"pfc.pcap", "pfc", 5},
		{"pfc.pcap", "macc.cbfc.enbv.c3 == true and macc.cbfc.pause_time.c3 == 65535", 2},
		{"pfc.pcap", "pause", 2},
		{"pfc.pcap", "rocelens.malformed", 1},
		{"ct-snap50.pcap", "rocelens.truncated", 17},
		{"ct-snap50.pcap", "infiniband.bth.opcode == 0x64", 5}, // the opcode is before the cut
		{"ct-snap50.pcap", "infiniband.bth.psn", 0},            // the PSN behind
		{"ct-snap50.pcap", "!infiniband.bth.psn", 17},
		{"neg-dns-sport4791.pcap", "roce", 0},
		{"sit-padcnt.pcap", "infiniband.pad == 00:00:00", 2},
		{"sit-padcnt.pcap", "infiniband.pad == 0000", 1},
		{base, "frame.number in {1, 3 .. 5, 17}", 5},
		{base, "frame.number in {3.. 5}", 3},
		{base, "frame.number in {3 ..5}", 3},
		{base, "frame.number not in {3..5}", 14},
		{base, "vlan.id not in {1}", 0}, // no packet has one
		{base, "ip.src in {10.0.0.2 .. 10.0.0.9}", 7},
		{base, "ip.src in {10.0.0.2..10.0.0.9, 10.0.0.1}", 17},
		{base, "ip.src == 10.0.0.1 xor udp.port == 4791", 7},
		{base, "roce ^^ infiniband.deth", 12},
		{base, "infiniband.bth.psn & 1", 6},
		{base, "infiniband.bth.opcode & 0xe0 == 0x60", 5},
		{base, "infiniband.bth.opcode & 0xe0 in {0x60, 0x80}", 5},
		{base, "eth.src[0:3] == 02:00:00", 17},
		{base, "eth.src[5] == 01", 17},
		{base, "eth.addr[4-5] == 00:01 && eth.src[:2] == 0200", 17},
		{base, "ip[0] == 45", 17},
		{base, "infiniband.bth[0] == 64", 5},
		{base, "infiniband.payload[60000] == 00", 0},
		{base, "infiniband.payload[0:2] != 0000", 8},
		{base, "frame contains 12:b7", 17},
		{base, `frame contains "no such text"`, 0},
		{base, "eth.src contains 00:01", 17},
		{base, `infiniband.invariant.crc.status matches "^GOOD$"`, 17},
		{base, `infiniband.invariant.crc.status ~ "o{2}"`, 17},
		{base, `infiniband.invariant.crc.status contains "oo"`, 17},
		{base, `frame.comment`, 0},
		{base, `frame.time >= "2023-11-14 22:13:20.002" and frame.time < "2023-11-14T22:13:20.004Z"`, 2},
		{base, `frame.time > "2023-11-14" and frame.time < "2023-11-14 22:14"`, 17},
		{base, `frame.time in {"2023-11-14 22:13:20", 1700000000.001}`, 2},
		{base, `ip.checksum.status == "Good"`, 17},
		{base, `udp.checksum.status == "Not present"`, 17},
		{base, `udp.checksum.status == "Bad" or ip.checksum.status != "Good"`, 0},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, matching(t, tt.capture, tt.filter), "%s: %s", tt.capture, tt.filter)
	}
}

// Comments are not the packet's own, and are asked about like its text.
func TestMatchCommented(t *testing.T) {
	var p dissector.Packet
	frame := framefile.Read(t, filepath.Join("..", "testdata", "base-cm-send-write-read.pcap"))[0]
	decodeErr := dissector.Decode(frame.Data, frame.Meta, &p)
	for text, want := range map[string]bool{
		"frame.comment": true, "!frame.comment": false, `frame.comment == "it stalls here"`: true, `frame.comment == "it stalls"`: false,
		`frame.comment contains "stalls" and roce`: true, `frame.comment matches "STALLS? h"`: true, `frame.comment in {"a", "second"}`: true,
		`frame.comment != "second"`: false, `frame.comment contains second`: true,
	} {
		f, err := Compile(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, f.MatchCommented(&p, decodeErr, []string{"it stalls here", "second"}), text)
	}
}

// Where both languages have the same words, they mean the same.
func TestMatchAgreesWithTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	for _, tt := range []struct{ capture, filter string }{
		{"base-cm-send-write-read.pcap", "infiniband.bth.opcode != 100 and (infiniband.bth.a == 1 or infiniband.aeth)"},
		{"base-cm-send-write-read.pcap", "ip.addr != 10.0.0.1 or infiniband.bth.psn in {20480..20482, 0x9000}"},
		{"sit-nak-all.pcap", "infiniband.aeth.syndrome >= 0x60 && !(infiniband.aeth.syndrome.error_code == 0)"},
		{"enc-vxlan.pcap", "vxlan.vni == 5001 && ip.src == 10.9.0.0/16 && ip.src != 10.0.0.2"},
		{"rocev2-ipv6.pcap", "ipv6.flow == 0x12345 and ipv6.dst == fd00::/8 and udp.port == 4791"},
		{"base-cm-send-write-read.pcap", "infiniband.bth.psn in {20480 .. 20482} and ip.src == 10.0.0.1"},
		{"base-cm-send-write-read.pcap", "infiniband.bth.opcode & 0x20 or eth.src[3:3] == 00:00:02"},
		{"base-cm-send-write-read.pcap", "frame contains 12:b7:00:2c or eth.src[5] == 02"},
		{"base-cm-send-write-read.pcap", "frame.number not in {3..5, 7}"},
		{"base-cm-send-write-read.pcap", "ip.src in {10.0.0.2 .. 10.0.0.9} and udp contains 12:b7"},
		{"base-cm-send-write-read.pcap", `frame matches "rocelens" or frame[0:2] == 02:00`},
	} {
		path := filepath.Join("..", "testdata", tt.capture)
		out, err := exec.CommandContext(t.Context(), tshark, "-r", path, "-Y", tt.filter).Output()
		require.NoError(t, err)
		assert.Equal(t, strings.Count(string(out), "\n"), matching(t, tt.capture, tt.filter), tt.filter)
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	tests := []struct{ filter, want string }{
		{"", "column 1: expected a field or a protocol, found the end"},
		{"   ", "column 4: expected a field or a protocol, found the end"},
		{"roce &&", "column 8: expected a field or a protocol, found the end"},
		{"roce roce", `column 6: expected "and", "or" or the end, found "roce"`},
		{"(roce", `column 6: expected "and", "or" or ")", found the end`},
		{"roce)", `column 5: expected "and", "or" or the end, found ")"`},
		{"infiniband.bth.opcod == 1", `column 1: expected a known field such as infiniband.bth.opcode, found "infiniband.bth.opcod"`},
		{"zebra", `column 1: expected a known field, found "zebra"`},
		{"vlan.id == ", `column 12: expected a number, decimal or 0x… after "==", found the end`},
		{"vlan.id == 3 & cnp", `column 14: expected "and", "or" or the end, found "&"`},
		{"vlan.id = 3", `column 9: expected "==", found "="`},
		{"roce | cnp", `column 6: expected "||", found "|"`},
		{"vlan.id contains 3", `column 9: expected another comparison, since vlan.id is neither text nor bytes, found "contains"`},
		{"frame contains zz", `column 16: expected text in quotation marks or bytes such as 00:1f after "contains", found "zz"`},
		{"frame matches 1", `column 15: expected a regular expression in quotation marks after "matches", found "1"`},
		{`frame matches "("`, `column 15: expected a regular expression (RE2), found the text "("`},
		{"eth.src[x] == 02", `column 9: expected bytes such as 0:3, found "x"`},
		{"eth.src[2:0] == 02", `column 9: expected bytes such as 0:3, found "2:0"`},
		{"eth.src[0:2 == 02", `column 13: expected "]", found "=="`},
		{"eth.src[] == 02", `column 9: expected bytes such as 0:3, found "]"`},
		{"vlan.id[0] == 02", `column 8: expected a comparison, since vlan.id is not made of bytes, found "["`},
		{"ip.src & 1", `column 8: expected a comparison, since ip.src has no bits, found "&"`},
		{"frame.time == noon", `column 15: expected seconds since 1970 such as 1700000000.25, or UTC such as "2026-03-01 09:00:00", found "noon"`},
		{"vlan.id & x", `column 11: expected a number, decimal or 0x…, found "x"`},
		{"vlan.id not 3", `column 9: expected "and", "or" or the end, found "!"`},
		{"vlan.id in {3 .. x}", `column 13: expected a range such as 100..200, found "3..x"`},
		{"cnp[0] == 1", `column 4: expected "and", "or" or the end, since cnp has no value, found "["`},
		{"vlan.id == x", `column 12: expected a number, decimal or 0x…, found "x"`},
		{"vlan.id == 010", `column 12: expected a number, decimal or 0x…, found "010"`},
		{"vlan == 3", `column 6: expected "and", "or" or the end, since vlan has no value, found "=="`},
		{"cnp == 1", `column 5: expected "and", "or" or the end, since cnp has no value, found "=="`},
		{"ip.src < 10.0.0.1", `column 8: expected "==", "!=" or "in", since ip.src has no order, found "<"`},
		{"ip.src == 10.0.0", `column 11: expected an IP address or a prefix such as 10.0.0.0/8, found "10.0.0"`},
		{"eth.src == 02:00", `column 12: expected an Ethernet address such as 02:00:00:00:00:01, found "02:00"`},
		{"vlan.id in 3", `column 12: expected "{", found "3"`},
		{"vlan.id in {3 4}", `column 15: expected "," or "}", found "4"`},
		{"vlan.id in {3..x}", `column 13: expected a range such as 100..200, found "3..x"`},
		{"vlan.id in {}", `column 13: expected a number, decimal or 0x… after "{", found "}"`},
		{`infiniband.invariant.crc.status == "bad`, `column 40: expected a closing quotation mark, found the end`},
		{"roce # comment", `column 6: expected a field, a value or an operator, found "#"`},
		{strings.Repeat("!", 200) + "roce", `column 101: expected at most 100 levels of nesting, found "!"`},
	}
	for _, tt := range tests {
		f, err := Compile(tt.filter)
		assert.Nil(t, f, tt.filter)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax, tt.filter)
		assert.Equal(t, tt.want, err.Error())
	}
}

// The list of fields is what trees have, with the kinds that their values are of.
func TestFieldsAreThoseOfTrees(t *testing.T) {
	var files []string
	for _, pattern := range []string{filepath.Join("..", "testdata", "*.pcap"), filepath.Join(sharedOrNone(), "*", "*.pcap")} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	var p dissector.Packet
	for _, file := range files {
		frames := framefile.Read(t, file)
		for _, frame := range frames[:min(len(frames), 50)] {
			err := dissector.Decode(frame.Data, frame.Meta, &p)
			tree.Build(&p, err).Walk(func(n *tree.Node) bool {
				kind, ok := fields[n.Field]
				_, builtin := protocols[n.Field]
				if n.Field == "" || builtin {
					return true
				}
				require.True(t, ok, "%s is a field of the tree of frame %d of %s", n.Field, frame.Meta.Number, file)
				if _, converts := fromTree(kind, n.Value); n.Value != nil && kind != KindPresence {
					require.True(t, converts, "%s has the value %v", n.Field, n.Value)
				}
				return true
			})
		}
	}
}

// sharedOrNone is the folder of public captures, or one that has no captures.
func sharedOrNone() string {
	if dir := os.Getenv("ROCELENS_CAPTURES"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared", "captures")
}

// What is answered without a tree is what the tree would have said.
func TestDirectAnswersAreTheTrees(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "*.pcap"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	direct := 0
	var p dissector.Packet
	for _, file := range files {
		for _, frame := range framefile.Read(t, file) {
			err := dissector.Decode(frame.Data, frame.Meta, &p)
			s := subject{packet: &p, err: err}
			for name, kind := range fields {
				got, present, known := s.direct(name)
				if !known {
					continue
				}
				direct++
				wanted := []value(nil)
				s.inTree(name, kind, func(v *value) bool {
					if kind == KindPresence {
						v.bytes = nil // that it is there is all that is asked
					}
					wanted = append(wanted, *v)
					return false
				})
				if !present {
					require.Empty(t, wanted, "%s of frame %d of %s", name, frame.Meta.Number, file)
					continue
				}
				require.Equal(t, []value{got}, wanted, "%s of frame %d of %s", name, frame.Meta.Number, file)
			}
		}
	}
	require.NotZero(t, direct)
}

func TestFieldsAreListedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fields() {
		assert.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		_, err := Compile(f.Name)
		require.NoError(t, err, f.Name)
	}
	assert.True(t, seen["cnp"] && seen["ip.addr"] && seen["infiniband.bth.psn"])
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"roce", "not (cnp or vlan)", "infiniband.bth.psn in {1..5, 0x10}", `rocelens.malformed == "a\"b"`,
		"ip.addr == 10.0.0.0/8 && !(eth.src == 02:00:00:00:00:01)", "frame.time_epoch >= 1.5", "((", "eth.src[0:3] == 02:00:00 xor frame contains 12:b7", `frame matches "a.*b"`,
		"ip.src not in {10.0.0.1 .. 10.0.0.9} or infiniband.bth.psn & 3 == 1", "=", "\"", "vlan.id == 99999999999999999999",
	} {
		f.Add(seed)
	}
	frames := framefile.Read(f, filepath.Join("..", "testdata", "base-cm-send-write-read.pcap"))
	var p dissector.Packet
	decodeErr := dissector.Decode(frames[7].Data, frames[7].Meta, &p)
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := Compile(text)
		if err != nil {
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.True(t, syntax.Column >= 1 && syntax.Column <= len(text)+1, "column %d of %q", syntax.Column, text)
			return
		}
		// A filter and its negation part the packets between them.
		negated, err := Compile("!(" + text + ")")
		if err == nil && compiled.Match(&p, decodeErr) == negated.Match(&p, decodeErr) {
			t.Fatalf("%q and its negation agree", text)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	frames := framefile.Read(b, filepath.Join("..", "testdata", "base-cm-send-write-read.pcap"))
	var p dissector.Packet
	err := dissector.Decode(frames[7].Data, frames[7].Meta, &p)
	for _, text := range []string{"roce && infiniband.bth.opcode == 6", "infiniband.aeth.syndrome.timer == 1"} {
		f, compileErr := Compile(text)
		require.NoError(b, compileErr)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Match(&p, err)
			}
		})
	}
}
