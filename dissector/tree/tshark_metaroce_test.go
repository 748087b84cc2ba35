package tree_test

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/filter"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/internal/metagen"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/dissector/metaroce/wireshark"
	"github.com/rocelens/rocelens/dissector/tree"
)

// plugins writes the Wireshark plugins of all profiles to files, and gives the options that make tshark read them.
func plugins(t *testing.T) (args []string) {
	t.Helper()
	all, err := wireshark.Plugins()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, p := range all {
		path := filepath.Join(t.TempDir(), p.Name)
		require.NoError(t, os.WriteFile(path, p.Data, 0o600))
		args = append(args, "-X", "lua_script:"+path)
	}
	return args
}

// withPlugin gives the fields of a file's packets that tshark has with the plugin: a row a packet.
func withPlugin(t *testing.T, file string, names []string, args ...string) []map[string]string {
	t.Helper()
	program, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	args = append(append(plugins(t), "-n", "-r", file, "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=|"), args...)
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var rows []map[string]string
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		row := map[string]string{}
		for i, v := range strings.Split(lines.Text(), "\t") {
			if v != "" {
				row[names[i]] = v
			}
		}
		rows = append(rows, row)
	}
	require.NoError(t, lines.Err())
	require.NoError(t, cmd.Wait(), complaints.String())
	require.NotContains(t, complaints.String(), "Lua")
	return rows
}

// metaFrame puts a packet of the profile mr0 into a frame with random headers around it.
func (g *generator) metaFrame(p build.MetaRoCE, payload []byte, n network, w wrapping, change func(*build.Frame)) []byte {
	source, destination := g.addresses(n == overIPv6)
	f := build.Frame{
		DestinationMAC: g.mac(), SourceMAC: g.mac(), Source: source, Destination: destination,
		DSCP: uint8(g.bits(6)), ECN: dissector.ECN(g.bits(2)), TTL: 2 + uint8(g.bits(7)), ID: uint16(g.bits(16)), FlowLabel: g.bits(20),
		SourcePort: 49152 + uint16(g.bits(14)), UDPChecksum: g.one(2), MetaRoCE: p, Payload: payload,
	}
	if change != nil {
		change(&f)
	}
	return g.wrap(&f, n, w)
}

// metaFrames are random packets of every type in turn, in all networks and wrappings.
func (g *generator) metaFrames(n int) [][]byte {
	types := metagen.Types()
	var all [][]byte
	for i := range n {
		combination := i / len(types)
		p, payload := metagen.Packet(g.random, types[i%len(types)])
		if g.one(8) { // reserved bits are sent as zero, but not by everybody
			p.CH.Flags |= mr0.Flags(g.bits(2))
			p.DH.Reserved, p.ACKH.Reserved, p.CONN.Reserved = uint16(g.bits(16)), g.bits(24), g.bits(32)
		}
		all = append(all, g.metaFrame(&p, payload, network(combination%2), wrapping(combination/2%int(wrappings)), func(f *build.Frame) {
			if g.one(16) {
				f.ICRCFlip = 1 + g.bits(16)
			}
		}))
	}
	return all
}

// asFrames numbers frames.
func asFrames(all [][]byte) []framefile.Frame {
	var frames []framefile.Frame
	for i, data := range all {
		frames = append(frames, framefile.Frame{Data: data, Meta: dissector.Meta{
			Number: uint64(i + 1), OriginalLength: uint32(len(data)), LinkType: dissector.LinkTypeEthernet, Time: captured, HasTime: true,
		}})
	}
	return frames
}

// metaFields are the fields whose names begin with a prefix.
func metaFields(prefix string) map[string]filter.Kind {
	all := map[string]filter.Kind{}
	for _, f := range filter.Fields() {
		if strings.HasPrefix(f.Name, prefix) {
			all[f.Name] = f.Kind
		}
	}
	return all
}

// compareMeta holds the trees of frames against what tshark makes of them with the plugin: every field, the line and why
// a packet is malformed. It returns how many values were equal, and how often each reason was met.
func compareMeta(t *testing.T, prefix string, profile *metaroce.Profile, frames []framefile.Frame) (equal int, reasons map[dissector.Reason]int) {
	t.Helper()
	const protocol, line, why, most = "_ws.col.Protocol", "_ws.col.Info", "_ws.expert.message", 20
	fields := metaFields(prefix)
	names := []string{"frame.number", protocol, line, why}
	for name := range fields {
		names = append(names, name)
	}
	rows := withPlugin(t, writePcap(t, frames), names)
	require.Len(t, rows, len(frames))
	reasons = map[dissector.Reason]int{}
	failures := 0
	var p dissector.Packet
	for i, frame := range frames {
		err := dissector.Decode(frame.Data, frame.Meta, &p)
		reasons[p.Fault.Reason]++
		ours := values(tree.Build(&p, err), frame.Data)
		differ := func(name string, theirs, ours any) {
			if failures++; failures <= most {
				t.Errorf("frame %d, %s: tshark has %.300v, the tree %.300v (%v, %v): %x", i+1, name, theirs, ours, err, p.Fault.Reason, frame.Data)
			}
		}
		for name, kind := range fields {
			theirs, own := theirMeta(rows[i][name], kind), ours[name]
			if kind == filter.KindPresence {
				own = slices.Repeat([]string{"there"}, len(own))
			}
			if cutICRC := name == prefix+"icrc" && len(own) == 1 && p.CapturedEnd < p.ICRCOffset+4; cutICRC {
				own = nil // bytes, of a number of which tshark shows nothing
			}
			if !slices.Equal(theirs, own) {
				differ(name, theirs, own)
			}
			equal += len(theirs)
		}
		if strings.Contains(rows[i][why], "Lua") {
			differ(why, rows[i][why], "no error of the plugin")
		}
		if p.Protocol != dissector.ProtocolMetaRoCE || rows[i][protocol] != "MetaRoCE" && len(p.MetaRoCE.Decoded().HeaderIndexes(nil)) == 0 {
			continue // of another program, or nothing of it was captured, and tshark stops before the plugin
		}
		if info := tree.Summary(&p, err).Info; !sameLine(rows[i][line], info) {
			differ(line, rows[i][line], info)
		}
		if fault := profile.Explain(p.MetaRoCE.Fault()); errors.Is(err, dissector.ErrMalformed) && !strings.Contains(rows[i][why], fault) {
			differ(why, rows[i][why], fault)
		} else if err == nil && strings.Contains(rows[i][why], " at byte ") {
			differ(why, rows[i][why], "nothing")
		}
	}
	require.LessOrEqual(t, failures, most, "differences in all")
	return equal, reasons
}

// mr0Prefix is what the names of fields of the profile mr0 begin with.
const mr0Prefix = "metaroce."

// theirMeta splits tshark's list of the values of a field.
func theirMeta(text string, kind filter.Kind) (all []string) {
	for v := range strings.SplitSeq(text, "|") {
		switch {
		case v == "":
		case kind == filter.KindBytes:
			all = append(all, strings.ReplaceAll(v, ":", ""))
		case kind == filter.KindPresence:
			all = append(all, "there")
		default:
			all = append(all, normal(v))
		}
	}
	return all
}

// sameLine tells whether tshark's line of a packet says what ours does, up to what we say of layers below and faults.
func sameLine(theirs, ours string) bool {
	theirs, _, _ = strings.Cut(theirs, " [malformed: ")
	theirs, _, cut := strings.Cut(theirs, " cut by the capture")
	if cut {
		theirs = theirs[:max(strings.LastIndex(theirs, " ["), 0)]
	}
	rest, ok := strings.CutPrefix(ours, theirs)
	return ok && (rest == "" || theirs == "" || strings.HasPrefix(rest, " ["))
}

// Ten thousand random packets of every type of the profile, over IPv4 and IPv6, bare and in tunnels: each field
// must have the same value for tshark, which reads them with the plugin.
func TestMetaRoCEFieldsEqualTshark(t *testing.T) {
	const count, seed = 10_000, 3
	g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
	equal, reasons := compareMeta(t, mr0Prefix, &mr0.Profile, asFrames(g.metaFrames(count)))
	t.Logf("%d values of %d packets equal", equal, count)
	require.Greater(t, equal, 290_000)
	require.Equal(t, map[dissector.Reason]int{dissector.ReasonNone: count}, reasons)
}

// brokenFrames are random packets with a change that makes many of them malformed. Some have a wrong ICRC, too.
func (g *generator) brokenFrames(n int) [][]byte {
	types := metagen.Types()
	var all [][]byte
	for i := range n {
		p, payload := metagen.Packet(g.random, types[i%len(types)])
		b := &metagen.Broken{Sendable: &p, Change: func(d []byte) []byte {
			header := d[:min(len(d), mr0.CHLength+mr0.DHLength+mr0.CONNLength)]
			switch g.bits(2) {
			case 0: // shorter
				return d[:g.random.IntN(len(d))]
			case 1: // longer
				return append(d, g.bytes(1+g.random.IntN(40))...)
			case 2: // another version, type or flags, or length
				d[g.random.IntN(4)] ^= 1 << g.bits(3)
			default:
				header[g.random.IntN(len(header))] = byte(g.bits(8))
			}
			return d
		}}
		all = append(all, g.metaFrame(b, payload, network(i/len(types)%2), wrapping(i%int(wrappings)), func(f *build.Frame) {
			if g.one(4) {
				f.ICRCFlip = 1 + g.bits(16)
			}
		}))
	}
	return all
}

// What is malformed, why, and what is another program's packet, tshark must say alike.
func TestMalformedMetaRoCEEqualsTshark(t *testing.T) {
	const count, seed = 10_000, 4
	g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
	equal, reasons := compareMeta(t, mr0Prefix, &mr0.Profile, asFrames(g.brokenFrames(count)))
	t.Logf("%d values of %d packets equal: %v", equal, count, reasons)
	for reason := dissector.ReasonMetaRoCEVersion; reason <= dissector.ReasonMetaRoCERange; reason++ {
		require.Greater(t, reasons[reason], 5, "%v", reason)
	}
	require.Greater(t, reasons[dissector.ReasonNotMetaRoCE], 100)
}

// A capture that keeps the first bytes of each packet gives both the same fields, up to where it was cut.
func TestCutMetaRoCEEqualsTshark(t *testing.T) {
	const count, seed = 4_000, 5
	g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
	frames := asFrames(g.metaFrames(count))
	for i := range frames {
		f := &frames[i]
		const most = 200 // bytes that go
		f.Data = f.Data[:max(len(f.Data)-g.random.IntN(most), 14+20+8)]
	}
	equal, reasons := compareMeta(t, mr0Prefix, &mr0.Profile, frames)
	t.Logf("%d values of %d packets equal: %v", equal, count, reasons)
	require.Greater(t, reasons[dissector.ReasonCut], 1000)
}
