package tree_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/dissector/tree"
)

// checkTree asserts what holds for every tree: each bit of the frame belongs to exactly one leaf, and children
// lie within their parents in order.
func checkTree(tb testing.TB, frame []byte, n *tree.Node) {
	tb.Helper()
	at := 0
	var walk func(n *tree.Node)
	walk = func(n *tree.Node) {
		if n.Name == "" {
			tb.Fatalf("a node at %d has no name", n.Offset)
		}
		from, to := bitRange(n)
		leaf := true
		for _, c := range n.Children {
			if c.Length > 0 {
				leaf = false
				cFrom, cTo := bitRange(c)
				if cFrom < from || cTo > to {
					tb.Fatalf("%s reaches out of %s", c.Name, n.Name)
				}
			}
			walk(c)
		}
		if leaf && n.Length > 0 {
			if at != from {
				tb.Fatalf("%s starts at bit %d, the leaf before it ends at %d", n.Name, from, at)
			}
			at = to
		}
	}
	walk(n)
	require.Equal(tb, len(frame)*8, at, "every bit of the frame has a leaf")
}

// checkForms asserts that text and JSON can be written.
func checkForms(tb testing.TB, n *tree.Node) {
	tb.Helper()
	require.NoError(tb, tree.WriteText(io.Discard, n))
	_, err := json.Marshal(n)
	require.NoError(tb, err)
}

func bitRange(n *tree.Node) (from, to int) {
	from = n.Offset*8 + n.BitOffset
	if n.BitLength != 0 {
		return from, from + n.BitLength
	}
	return from, from + n.Length*8
}

// captures are the dissector's own test captures.
func captures(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "*.pcap"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	return files
}

func TestEveryBitHasOneLeaf(t *testing.T) {
	var p dissector.Packet
	for _, file := range captures(t) {
		frames := framefile.Read(t, file)
		for _, f := range frames[:min(len(frames), 5)] {
			for n := range len(f.Data) + 1 { // cut at every length
				f.Meta.OriginalLength = max(f.Meta.OriginalLength, uint32(len(f.Data)))
				if n > 120 && n < len(f.Data)-12 {
					continue // within payload one length is like another
				}
				err := dissector.Decode(f.Data[:n], f.Meta, &p)
				checkTree(t, f.Data[:n], tree.Build(&p, err))
			}
		}
	}
}

// The same over every public capture, whole frames only. Text and JSON are written of the first tree that has
// its layers, its opcode and its fault.
func TestEveryBitHasOneLeafInPublicCaptures(t *testing.T) {
	dir := framefile.Shared(t, filepath.Join("..", ".."))
	var p dissector.Packet
	type kind struct {
		layers  [dissector.MaxLayers]dissector.LayerType
		opcode  infiniband.Opcode
		reason  dissector.Reason
		message mad.Message
	}
	seen := map[kind]bool{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if filepath.Ext(path) == ".tsv" || filepath.Ext(path) == ".md" {
			return nil
		}
		frames := framefile.Read(t, path)
		for _, f := range frames[:min(len(frames), 200)] {
			err := dissector.Decode(f.Data, f.Meta, &p)
			root := tree.Build(&p, err)
			checkTree(t, f.Data, root)
			line := tree.Summary(&p, err)
			require.NotEmpty(t, line.Protocol)
			k := kind{opcode: p.BTH.Opcode, reason: p.Fault.Reason}
			for i, l := range p.Layers[:p.LayerCount] {
				k.layers[i] = l.Type
			}
			var h mad.Header
			if _, err := h.Decode(p.Payload()); err == nil && k.layers[max(p.LayerCount, 2)-2] == dissector.LayerMAD {
				k.message = h.Message()
			}
			if !seen[k] {
				seen[k] = true
				checkForms(t, root)
			}
			require.NotEmpty(t, line.Info, "%s frame %d", path, f.Meta.Number)
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d kinds of packets", len(seen))
	require.Greater(t, len(seen), 100)
}

func FuzzBuild(f *testing.F) {
	for _, file := range captures(f) {
		frames := framefile.Read(f, file)
		if len(frames) > 0 {
			frame := frames[min(3, len(frames)-1)]
			f.Add(frame.Data, uint16(frame.Meta.LinkType), frame.Meta.FCSLength, uint32(len(frame.Data)), uint8(0))
		}
	}
	g := &generator{f, rand.New(rand.NewPCG(1, 1))}
	for _, data := range append(g.metaFrames(30), g.brokenFrames(30)...) {
		f.Add(data, uint16(dissector.LinkTypeEthernet), uint8(0), uint32(len(data)), uint8(0))
	}
	tracker := conversation.New()
	for _, frame := range applications(f) {
		var p dissector.Packet
		_ = tracker.Observe(&p, dissector.Decode(frame.Data, frame.Meta, &p))
		f.Add(frame.Data, uint16(frame.Meta.LinkType), uint8(0), uint32(len(frame.Data)), uint8(p.Meta.Application))
	}
	f.Add(bytes.Repeat([]byte{0x45}, 80), uint16(228), uint8(4), uint32(0), uint8(0))
	f.Fuzz(func(t *testing.T, frame []byte, link uint16, fcs uint8, wire uint32, application uint8) {
		var p dissector.Packet
		err := dissector.Decode(frame, dissector.Meta{
			LinkType: dissector.LinkType(link), FCSLength: fcs % 9, OriginalLength: wire,
			Application: mad.Application(application % 6),
		}, &p)
		root := tree.Build(&p, err)
		checkTree(t, frame, root)
		checkForms(t, root)
		tree.Summary(&p, err)
	})
}
