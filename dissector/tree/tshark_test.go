package tree_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/dissector/filter"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// captured is the time of every frame whose capture does not say it, in nanoseconds since the Unix epoch.
const captured = 1_700_000_000_123_456_789

// second is tshark, the second opinion, and the fields that it has in common with the tree.
type second struct {
	program string
	fields  map[string]filter.Kind
}

// findTshark asks tshark for its fields, once for all tests.
func findTshark(t *testing.T) second {
	t.Helper()
	if s, err := ask(); err == nil {
		return s
	} else if !errors.Is(err, exec.ErrNotFound) {
		t.Fatal(err)
	}
	t.Skip("tshark is not installed")
	return second{}
}

var ask = sync.OnceValues(func() (second, error) {
	program, err := exec.LookPath("tshark")
	if err != nil {
		return second{}, err
	}
	s := second{program, map[string]filter.Kind{}}
	candidates := map[string]filter.Kind{}
	for _, f := range filter.Fields() {
		alias := strings.HasSuffix(f.Name, ".addr") || strings.HasSuffix(f.Name, ".port") || f.Name == "frame.time"
		if f.Kind != filter.KindPresence && !alias {
			candidates[f.Name] = f.Kind
		}
	}
	cmd := exec.CommandContext(context.Background(), program, "-G", "fields")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return s, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() { // "F", what people call it, name, ...
		if !bytes.HasPrefix(lines.Bytes(), []byte("F\t")) {
			continue
		}
		name := string(bytes.SplitN(lines.Bytes(), []byte("\t"), 4)[2])
		if kind, ok := candidates[name]; ok {
			s.fields[name] = kind
		}
	}
	return s, errors.Join(lines.Err(), cmd.Wait())
})

// rows are tshark's fields of each packet of a file, without those that the packet does not have, and with
// whether tshark calls it malformed. It is asked not to put fragments and segments together, since a tree is
// one frame's.
func (s second) rows(t *testing.T, path string, each func(row map[string]string)) {
	t.Helper()
	names := []string{"frame.number", "_ws.malformed"}
	for name := range s.fields {
		if name != names[0] {
			names = append(names, name)
		}
	}
	args := []string{"-n", "-r", path, "-T", "fields", "-E", "occurrence=a"}
	for _, whole := range []string{"ip.defragment", "ipv6.defragment", "tcp.desegment_tcp_streams"} {
		args = append(args, "-o", whole+":FALSE")
	}
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.CommandContext(t.Context(), s.program, args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		row := map[string]string{}
		i := 0
		for v := range strings.SplitSeq(lines.Text(), "\t") {
			if v != "" {
				row[names[i]] = v
			}
			i++
		}
		each(row)
	}
	require.NoError(t, lines.Err())
	require.NoError(t, cmd.Wait())
}

// compare holds the trees of the frames of a file against tshark's fields, but for the differences that are
// listed, which it notes in used. It returns how many values were equal.
// treeLacks is the key of a row under which differences find the field that the tree has fewer values of, all of them
// tshark's first ones.
const treeLacks = "tree.lacks"

func (s second) compare(t *testing.T, path string, frames []framefile.Frame, used map[string]bool) (equal int) {
	t.Helper()
	const most = 50 // are shown
	failures := 0
	var p dissector.Packet
	i := 0
	s.rows(t, path, func(row map[string]string) {
		frame := frames[i]
		i++
		err := dissector.Decode(frame.Data, frame.Meta, &p)
		ours := values(tree.Build(&p, err), frame.Data)
		one := func(name string) {
			want, got := theirValues(name, row[name], s.fields[name]), ours[name]
			if slices.Equal(want, got) {
				equal += len(want)
				return
			}
			seen := row
			if len(want) > 0 && len(want) < len(got) && slices.Equal(want, got[:len(want)]) { // what differs is what tshark lacks
				seen = maps.Clone(row)
				delete(seen, name)
			}
			if len(got) < len(want) && slices.Equal(got, want[:len(got)]) { // what differs is what the tree lacks
				seen = maps.Clone(row)
				seen[treeLacks] = name
			}
			excuse := slices.IndexFunc(deliberate, func(d difference) bool {
				return d.applies(&p, err, name, row) || d.applies(&p, err, name, seen)
			})
			if excuse >= 0 {
				used[deliberate[excuse].where] = true
				return
			}
			if failures++; failures <= most {
				t.Errorf("frame %d, %s: tshark has %.80v, the tree %.80v (%v, %v: %v, %q)", i, name, want, got, p.BTH.Opcode, err, p.Fault.Reason, row["_ws.malformed"])
			}
		}
		for name := range row {
			if _, common := s.fields[name]; common {
				one(name)
			}
		}
		for name := range ours {
			if _, common := s.fields[name]; common && row[name] == "" {
				one(name)
			}
		}
	})
	require.Equal(t, len(frames), i, "packets of which tshark said something")
	t.Logf("%d values of %d packets equal", equal, i)
	return equal
}

// values collects what the tree has of each field, in order, in the form in which tshark's are compared.
func values(root *tree.Node, data []byte) map[string][]string {
	found := map[string][]string{}
	root.Walk(func(n *tree.Node) bool {
		switch v := n.Value.(type) {
		case nil: // a group, which tshark may show as bytes
			if n.Length > 0 {
				found[n.Field] = append(found[n.Field], hex.EncodeToString(data[n.Offset:n.Offset+n.Length]))
			}
		case []byte:
			found[n.Field] = append(found[n.Field], hex.EncodeToString(v))
		case uint64:
			found[n.Field] = append(found[n.Field], strconv.FormatUint(v, 10))
		default:
			found[n.Field] = append(found[n.Field], normal(fmt.Sprint(v)))
		}
		return true
	})
	return found
}

// theirValues splits tshark's list of the values of a field. It shows long bytes in full.
func theirValues(name, text string, kind filter.Kind) []string {
	if text == "" {
		return nil
	}
	switch name {
	case "infiniband.immdt", "infiniband.ieth": // printed as bytes, and twice
		first, _, _ := strings.Cut(strings.ReplaceAll(text, " ", ","), ",")
		n, err := strconv.ParseUint(first, 16, 32)
		if err != nil {
			return nil
		}
		return []string{strconv.FormatUint(n, 10)}
	case "infiniband.cm.req.alt_localgid", "infiniband.cm.req.alt_remotegid": // printed as bytes
		if b, err := hex.DecodeString(text); err == nil && len(b) == 16 {
			return []string{normal(netip.AddrFrom16([16]byte(b)).String())}
		}
	case "infiniband.cm.req.alt_reserved1": // the name of alt_reserved2 as well
		text, _, _ = strings.Cut(text, ",")
	case "ipv6.routing.srh.tag", "ah.reserved": // printed as bytes
		text = "0x" + text
	case "eth.fcs": // printed as a number
		text = strings.TrimPrefix(text, "0x")
	}
	if kind == filter.KindBytes {
		all := strings.Split(strings.ReplaceAll(text, ":", ""), ",")
		return slices.DeleteFunc(all, func(v string) bool { return v == "<MISSING>" || v == "<none>" }) // bytes that are none
	}
	var all []string
	for v := range strings.SplitSeq(text, ",") {
		all = append(all, normal(v))
	}
	return all
}

// normal brings numbers of any base, flags and addresses to one form.
func normal(v string) string {
	switch v {
	case "true", "True":
		return "1"
	case "false", "False":
		return "0"
	}
	if n, err := strconv.ParseUint(v, 0, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return strings.TrimPrefix(v, "::ffff:")
}

// collect reads the frames of capture files, but for those of link types that Decode does not read.
func collect(t *testing.T, files ...string) []framefile.Frame {
	t.Helper()
	var frames []framefile.Frame
	for _, file := range files {
		tracker := conversation.New()
		for _, f := range framefile.Read(t, file) {
			var p dissector.Packet
			err := dissector.Decode(f.Data, f.Meta, &p)
			if err != nil && p.Fault.Reason == dissector.ReasonLinkType {
				continue
			}
			_ = tracker.Observe(&p, err) // for the application
			f.Meta.Application = p.Meta.Application
			if !f.Meta.HasTime {
				f.Meta.Time, f.Meta.HasTime = captured, true
			}
			frames = append(frames, f)
		}
	}
	return frames
}

// Every field that both programs name must have the same value in every packet of the dissector's own captures.
// They are shown to tshark in one file, because its start takes longer than a capture, but for one that shows
// what tshark makes of the file's header.
func TestFieldsEqualTshark(t *testing.T) {
	tshark := findTshark(t)
	frames := collect(t, captures(t)...)
	used := map[string]bool{}
	require.Greater(t, tshark.compare(t, framefile.Write(t, frames), frames, used), 25_000)
	withFCS := filepath.Join("..", "testdata", "ct-fcs4.pcap")
	require.Greater(t, tshark.compare(t, withFCS, framefile.Read(t, withFCS), used), 100)
	checkMet(t, inOwn, used)
}

// So it must be in every public capture, RDMA or not.
func TestFieldsEqualTsharkInPublicCaptures(t *testing.T) {
	files := publicCaptures(t)
	tshark := findTshark(t)
	frames := collect(t, files...)
	used := map[string]bool{}
	require.Greater(t, tshark.compare(t, framefile.Write(t, frames), frames, used), 600_000)
	checkMet(t, inCaptures, used)
}

// publicCaptures are the files of the folder of public captures.
func publicCaptures(t *testing.T) []string {
	t.Helper()
	dir := framefile.Shared(t, filepath.Join("..", ".."))
	var files []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && !e.IsDir() && ext != ".tsv" && ext != ".md" {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	return files
}
