package tree_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/filter"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// captured is the time of every generated packet, in nanoseconds since the Unix epoch.
const captured = 1_700_000_000_123_456_789

// writePcapng puts frames into a file and answers its name.
func writePcapng(t *testing.T, frames []framefile.Frame) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "generated.pcapng")
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := pcapgo.NewNgWriter(file, layers.LinkTypeEthernet)
	require.NoError(t, err)
	for _, f := range frames {
		n := len(f.Data)
		require.NoError(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, f.Meta.Time), CaptureLength: n, Length: n}, f.Data))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, file.Close())
	return path
}

// common are the fields that both the tree and this tshark have, with their kinds.
func common(t *testing.T, tshark string) []filter.Field {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), tshark, "-G", "fields").Output()
	require.NoError(t, err)
	theirs := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if column := strings.Split(line, "\t"); column[0] == "F" {
			theirs[column[2]] = true
		}
	}
	return slices.DeleteFunc(filter.Fields(), func(f filter.Field) bool {
		return !theirs[f.Name] || f.Kind == filter.KindPresence || strings.HasSuffix(f.Name, ".addr") || strings.HasSuffix(f.Name, ".port")
	})
}

// values collects what the tree has of each field, in order, in the form in which tshark's are compared.
func values(root *tree.Node, data []byte) map[string][]string {
	found := map[string][]string{}
	root.Walk(func(n *tree.Node) bool {
		switch v := n.Value.(type) {
		case nil: // a group, which tshark may show as bytes
			found[n.Field] = append(found[n.Field], hex.EncodeToString(data[n.Offset:n.Offset+n.Length]))
		case []byte:
			found[n.Field] = append(found[n.Field], hex.EncodeToString(v))
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
	if name == "infiniband.immdt" || name == "infiniband.ieth" {
		return hexOnce(strings.ReplaceAll(text, " ", ",")) // printed as bytes, and twice
	}
	switch name {
	case "infiniband.cm.req.alt_localgid", "infiniband.cm.req.alt_remotegid": // printed as bytes
		if b, err := hex.DecodeString(text); err == nil && len(b) == 16 {
			return []string{normal(netip.AddrFrom16([16]byte(b)).String())}
		}
	case "infiniband.cm.req.alt_reserved1": // the name of alt_reserved2 as well
		text, _, _ = strings.Cut(text, ",")
	}
	if kind == filter.KindBytes {
		return strings.Split(strings.ReplaceAll(text, ":", ""), ",")
	}
	return normalAll(text)
}

// everyField compares the fields of all frames of a file, but for the differences that are listed, which it
// notes in used. It returns how many values were equal.
func everyField(t *testing.T, tshark, path string, fields []filter.Field, frames []framefile.Frame, used map[string]bool) (equal int) {
	t.Helper()
	args := []string{"-n", "-r", path, "-T", "fields", "-E", "header=y", "-E", "occurrence=a", "-e", "frame.number", "-e", "_ws.malformed"}
	for _, f := range fields {
		args = append(args, "-e", f.Name)
	}
	out, err := exec.CommandContext(t.Context(), tshark, args...).Output()
	require.NoError(t, err)
	rows := readRows(t, string(out))
	require.Len(t, rows, len(frames))

	const most = 3 // of one field are shown
	failures := map[string]int{}
	var p dissector.Packet
	for i, row := range rows {
		err := dissector.Decode(frames[i].Data, frames[i].Meta, &p)
		ours := values(tree.Build(&p, err), frames[i].Data)
		for _, f := range fields {
			want := theirValues(f.Name, row[f.Name], f.Kind)
			if slices.Equal(want, ours[f.Name]) {
				equal += len(want)
				continue
			}
			excuse := slices.IndexFunc(deliberate, func(d difference) bool { return d.applies(&p, err, f.Name, row) })
			if excuse >= 0 {
				used[deliberate[excuse].where] = true
				continue
			}
			if failures[f.Name]++; failures[f.Name] <= most {
				t.Errorf("frame %d, %s: tshark has %v, the tree %v (%v, %v, %q)", i+1, f.Name, want, ours[f.Name], p.BTH.Opcode, err, row["_ws.malformed"])
			}
		}
	}
	return equal
}

// Ten thousand packets that no capture has are shown to tshark, and every field that both programs name must
// have the same value, but for the differences that are listed.
func TestFieldsEqualTsharkInGeneratedPackets(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	const count, seed = 10_000, 1
	g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
	frames := make([]framefile.Frame, 0, count)
	for i, data := range g.frames(count) {
		frames = append(frames, framefile.Frame{Data: data, Meta: dissector.Meta{
			Number: uint64(i + 1), OriginalLength: uint32(len(data)), LinkType: dissector.LinkTypeEthernet, Time: captured, HasTime: true,
		}})
	}
	used := map[string]bool{}
	equal := everyField(t, tshark, writePcapng(t, frames), common(t, tshark), frames, used)
	t.Logf("%d values equal", equal)
	require.Greater(t, equal, 500_000)
	checkMet(t, inGenerated, used)
}

// So are the connection manager's messages that several programs have sent, and those made for tests.
func TestManagementFieldsEqualTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	files := map[string]string{}
	for _, name := range []string{"base-cm-send-write-read.pcap", "sit-cm-reject.pcap", "sit-cm-noanswer.pcap", "cm-messages.pcap", "rocev2-ipv6.pcap"} {
		files[name] = filepath.Join("..", "testdata", name)
	}
	if dir := framefile.SharedOrNone(filepath.Join("..", "..")); dir != "" {
		for _, name := range []string{"write.pcap", "nvme-discover.pcap", "rdma.dump", "send.pcap"} {
			files[name] = filepath.Join(dir, "magnate3-linux-riscv-dev", name)
		}
	}
	fields, used := common(t, tshark), map[string]bool{}
	for name, path := range files {
		t.Run(name, func(t *testing.T) {
			require.NotZero(t, everyField(t, tshark, path, fields, framefile.Read(t, path), used))
		})
	}
	checkMet(t, inManagement, used)
}
