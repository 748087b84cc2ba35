package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/capgen"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// generated are the frames of a capture that a generator writes.
func generated(t *testing.T, write func(*bytes.Buffer) error) (frames [][]byte) {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, write(&file))
	source, err := pcapfile.New(&file, "generated", pcapfile.Options{})
	require.NoError(t, err)
	var batch capture.Batch
	for source.Next(&batch) == nil {
		for _, f := range batch.Frames {
			frames = append(frames, bytes.Clone(f.Data))
		}
	}
	return frames
}

// everyKind are frames of each protocol in each encapsulation, with losses, refusals and marks.
func everyKind(t *testing.T) (frames [][]byte) {
	t.Helper()
	for i, e := range []capgen.Encapsulation{
		capgen.IPv4, capgen.IPv6, capgen.RoCEv1, capgen.VLAN, capgen.QinQ, capgen.VXLAN, capgen.ERSPAN2, capgen.ERSPAN3,
	} {
		frames = append(frames, generated(t, func(b *bytes.Buffer) error {
			_, err := capgen.Generate(b, pcapfile.FormatPcap, capgen.Config{
				Seed: uint64(100 + i), Packets: 2000, Connections: 8, Encapsulations: []capgen.Encapsulation{e}, MaxMessage: 16 << 10, Background: 50,
				Mix:    capgen.Mix{Write: 2, Send: 2, Read: 1, Atomic: 1},
				Faults: capgen.Faults{LossBefore: 0.05, LossAfter: 0.05, RNR: 0.1, Mark: 0.2, Reorder: 0.05, ReadLoss: 0.05},
			})
			return err
		})...)
	}
	frames = append(frames, generated(t, func(b *bytes.Buffer) error {
		meta := capgen.DefaultMeta()
		meta.Seed = 200
		_, err := capgen.GenerateMeta(b, pcapfile.FormatPcap, meta)
		return err
	})...)
	for _, f := range framesOf(t, "read-write-mix.pcap")[:300] {
		frames = append(frames, inGRE(f))
	}
	return append(frames, framesOf(t, "derived/scapy-roce-vectors.pcap", "derived/sit-nak-all.pcap", "derived/enc-vlan-prio-tag.pcap")...)
}

// inGRE puts a frame into GRE over IPv4, as a virtual network does.
func inGRE(frame []byte) []byte {
	length := 20 + 8 + len(frame)
	b := []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45, 0, byte(length >> 8), byte(length), 0, 0, 0x40, 0, 64, 47, 0, 0, 172, 16, 0, 1, 172, 16, 0, 2}
	return append(append(b, 0x20, 0, 0x65, 0x58, 0, 0, 0, 7), frame...)
}

// direction is what one counts, whatever the tier; of MetaRoCE all connections between two hosts together, since the kernel
// does not join a request to the connection that it becomes.
type direction struct{ packets, bytes, payload, acks, naks, rnr, cnps, marked uint64 }

// said are the lines that sentences says of frames, and pathSentences of the paths of MetaRoCE.
func said(frames [][]byte) (directions, paths []string, rdma uint64) {
	all, onPaths := map[string]direction{}, map[string][4]uint64{}
	tracker := flow.NewTracker(flow.Config{}, func(r *flow.Record) {
		qp := r.Key.DestinationQP
		if r.MetaRoCE != nil {
			qp = 0
			for i := range r.MetaRoCE.Paths {
				if p := &r.MetaRoCE.Paths[i]; p.Packets > 0 {
					onPaths[fmt.Sprintf("%d,%d", r.Key.DestinationQP, p.ID)] = [4]uint64{p.Packets, p.Bytes, p.PayloadBytes, p.CEMarked}
				}
			}
		}
		key := fmt.Sprintf("\"%s\",\"%s\",\"%s\",%d", r.Key.Protocol, strings.ToUpper(hex.EncodeToString(r.Key.Source[:])), strings.ToUpper(hex.EncodeToString(r.Key.Destination[:])), qp)
		n := all[key]
		n.packets += r.Packets
		n.bytes += r.Bytes
		n.payload += r.PayloadBytes
		n.acks += r.Acks
		n.rnr += r.RNRNaks
		n.cnps += r.CNPs
		n.marked += r.CEMarked.N
		for _, k := range r.Naks {
			n.naks += k
		}
		all[key] = n
		rdma += r.Packets
	})
	for i, frame := range frames {
		var p dissector.Packet
		err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: uint64(i + 1), OriginalLength: uint32(len(frame))}, &p)
		tracker.Observe(&p, err, dissector.ICRCNotChecked)
	}
	tracker.Flush()
	for key, n := range all {
		directions = append(directions, fmt.Sprintf("%s,%d,%d,%d,%d,%d,%d,%d,%d", key, n.packets, n.bytes, n.payload, n.acks, n.naks, n.rnr, n.cnps, n.marked))
	}
	for key, n := range onPaths {
		paths = append(paths, fmt.Sprintf("%s,%d,%d,%d,%d", key, n[0], n[1], n[2], n[3]))
	}
	slices.Sort(directions)
	slices.Sort(paths)
	return directions, paths, rdma
}

const (
	sentences = "SELECT protocol, hex(source), hex(destination), if(protocol = 'MetaRoCE', 0, destination_qp) AS qp, sum(packets), sum(bytes)," +
		" sum(payload_bytes), sum(acks), sum(naks), sum(rnr_naks), sum(cnps), sum(ifNull(ce_marked, 0)) FROM agent_flows GROUP BY ALL"
	pathSentences = "SELECT destination_qp, path_id, sum(packets) AS n, sum(bytes), sum(payload_bytes), sum(ce_marked) FROM agent_paths GROUP BY ALL HAVING n > 0"
)

// sorted are the lines of an answer.
func sorted(answer string) []string {
	all := strings.Split(answer, "\n")
	slices.Sort(all)
	return all
}

// agrees checks each stage of the ledger in each row.
func (d database) agrees(t *testing.T) {
	t.Helper()
	for _, stage := range []string{
		"source_out = decode_out + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'decode'), drops)))",
		"decode_out = track_out + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'track'), drops)))",
		"track_out = spool_out",
		"flow_rows + path_rows = spooled_rows",
	} {
		assert.Equal(t, "0", d.ask(t, "SELECT countIf(NOT ("+stage+")) FROM agent_intervals"), stage)
	}
	assert.Equal(t, d.ask(t, "SELECT sum(spool_out), sum(spooled_rows) FROM agent_intervals"),
		d.ask(t, "SELECT (SELECT sum(packets) FROM agent_flows), (SELECT count() FROM agent_flows) + (SELECT count() FROM agent_paths)"))
}

// What is replayed at full speed is what the rows of either tier count, to the packet.
func TestTiersCountWhatWasSent(t *testing.T) {
	frames := everyKind(t)
	directions, paths, rdma := said(frames)
	require.Greater(t, rdma, uint64(15_000))
	for _, test := range []struct{ tier, capture, says string }{
		{"packet", "afpacket", "packet (AF_PACKET; clock: kernel)"},
		{"packet", "headers", "packet (headers by native XDP, frames in pieces in, TCX out; clock: kernel)"},
		{"packet", "afxdp", "packet (AF_XDP by native XDP, frames in pieces, copied, frames in pieces; clock: kernel)"},
		{"kernel", "auto", "kernel (native XDP, frames in pieces in, TCX out)"},
		{"auto", "auto", "kernel (native XDP, frames in pieces in, TCX out)"},
	} {
		t.Run(test.tier+" "+test.capture, func(t *testing.T) {
			db := newDatabase(t)
			left, right := vethtest.Pair(t)
			agent := start(t, right, append(db.flags(), "--tier", test.tier, "--capture", test.capture, "--ring", "128", "--interval", "1s", "--state", t.TempDir())...)
			require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "no heartbeat: %s", agent.stderr.Bytes())
			left.Send(t, frames)
			require.Eventually(t, func() bool {
				return db.ask(t, "SELECT sum(source_out) >= "+strconv.Itoa(len(frames))+" FROM agent_intervals") == "1"
			}, patience, glance, "%s", agent.stderr.Bytes())
			agent.end(t)
			assert.Equal(t, directions, sorted(db.ask(t, sentences)))
			assert.Equal(t, paths, sorted(db.ask(t, pathSentences)))
			assert.Equal(t, strconv.FormatUint(rdma, 10), db.ask(t, "SELECT sum(decode_out) FROM agent_intervals"))
			db.agrees(t)
			assert.Equal(t, `"['`+test.says+`']"`, db.ask(t, "SELECT tiers FROM agents FINAL"))
			tier, _, _ := strings.Cut(test.says, " ")
			assert.Equal(t, `"`+tier+`"`, db.ask(t, "SELECT DISTINCT tier FROM agent_intervals"))
			// Nobody numbers packets in the kernel.
			unknown := "0"
			if tier == "kernel" {
				unknown = "1"
			}
			assert.Equal(t, strings.Repeat(unknown+",", 2)+unknown, db.ask(t, "SELECT DISTINCT first_number IS NULL, last_number IS NULL, mirror_copies IS NULL FROM agent_flows"))
		})
	}
}

// The agent says why it follows packets where it might count them, and what to do where it must count and cannot.
func TestAgentSaysWhyItFellBack(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--tier", "kernel", "--replay"}, "the kernel tier cannot replay: leave out --tier kernel, or"},
		{[]string{"--tier", "kernel", "--recorder", "2"}, "the kernel tier has no flight recorder: leave out"},
		{[]string{"--kernel-entries", "1"}, "--kernel-entries must be between 1024 and 16777216"},
		{[]string{"--tier", "kernel", "-i", "no-such-if"}, "there is no such network interface"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitFailure, run(t.Context(), append([]string{"run", "-i", "lo"}, test.args...), &stdout, &stderr))
		assert.Contains(t, stderr.String(), test.says)
	}

	_, right := vethtest.Pair(t)
	asked := start(t, right, "--tier", "auto", "--replay", "--interval", "1s")
	require.Eventually(t, func() bool { return len(lines(t, asked.stdout.Bytes())) > 0 }, patience, glance)
	asked.end(t)
	assert.Contains(t, string(asked.stderr.Bytes()), `cause="the kernel tier cannot replay"`)
	assert.Contains(t, string(asked.stdout.Bytes()), `"tier":"packet"`)

	// Without the right to load programs; of capabilities only the one for packets is left.
	weak := func(tier string) (*exec.Cmd, *lockedBuffer, *lockedBuffer) {
		agent, stderr := apart(t, right, "--tier", tier, "--interval", "1s")
		agent.Args = slices.Insert(agent.Args, 4, "setpriv", "--bounding-set", "-all,+net_raw", "--inh-caps", "-all,+net_raw")
		stdout := &lockedBuffer{}
		agent.Stdout = stdout
		require.NoError(t, agent.Start())
		return agent, stdout, stderr
	}
	agent, stdout, stderr := weak("auto")
	require.Eventually(t, func() bool { return len(lines(t, stdout.Bytes())) > 0 }, patience, glance, "%s", stderr.Bytes())
	require.NoError(t, agent.Process.Signal(os.Interrupt))
	require.NoError(t, agent.Wait())
	assert.Contains(t, string(stderr.Bytes()), "kernel tier: ")
	assert.Contains(t, string(stderr.Bytes()), "operation not permitted")
	agent, _, stderr = weak("kernel")
	require.Error(t, agent.Wait())
	assert.Contains(t, string(stderr.Bytes()), "give the agent CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_NET_RAW")
}
