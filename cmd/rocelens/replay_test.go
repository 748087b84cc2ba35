package main

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis/document"
)

// replayed is the document of a file, and the exit code.
func replayed(t *testing.T, args ...string) (*document.Replay, int) {
	t.Helper()
	o := execute(t, nil, append([]string{"replay", "--json"}, args...)...)
	var d document.Replay
	require.NoError(t, json.Unmarshal([]byte(o.out), &d), o.out)
	return &d, o.code
}

// verdicts is what each rule that was not kept came to, as "diverges" or "undetermined".
func verdicts(d *document.Replay) map[string]string {
	out := map[string]string{}
	for _, r := range d.Rules {
		switch {
		case r.Diverges > 0:
			out[r.Rule] = "diverges"
		case r.Undetermined > 0:
			out[r.Rule] = "undetermined"
		}
	}
	return out
}

// TestReplayOfSharedCaptures: the verdicts that a reviewer would sign, of captures that show one situation each.
func TestReplayOfSharedCaptures(t *testing.T) {
	shared := sharedCaptures(t)
	for name, want := range map[string]map[string]string{
		"derived/sit-clean.pcap":    {},
		"derived/sit-loss-nak.pcap": {},
		"derived/sit-read.pcap":     {},
		"derived/sit-atomics.pcap":  {},
		// 1 ms passes before the packet is sent again, though the timer of the RNR NAK is 1.28 ms; once is no proof.
		"derived/sit-rnr.pcap":       {"roce.rnr-early": "undetermined"},
		"derived/sit-rnr-storm.pcap": {},
		// The ACK came only after the repetition. It may have been lost or missed.
		"derived/sit-timeout-repeat.pcap": {"roce.ack-request-unanswered": "undetermined"},
		"derived/sit-nak-all.pcap":        {"roce.syndrome": "diverges"},
		"derived/sit-icrc-bad.pcap":       {"roce.icrc": "undetermined"},
		// LAST with invalidate stands behind an ONLY.
		"derived/sit-imm-inv.pcap": {"roce.opcode-sequence": "diverges"},
		// The sender begins with the PSN that it asked its peer to begin with.
		"derived/base-cm-send-write-read.pcap":         {"roce.starting-psn": "diverges"},
		"derived/ct-snap54.pcap":                       {},
		"magnate3-linux-riscv-dev/send.pcap":           {},
		"magnate3-linux-riscv-dev/write.pcap":          {},
		"magnate3-linux-riscv-dev/nvme-discover.pcap":  {},
		"magnate3-linux-riscv-dev/ib2.pcap":            {},
		"magnate3-linux-riscv-dev/rocev1.pcap":         {},
		"magnate3-linux-riscv-dev/rocev1_test.pcap":    {"roce.version-mix": "diverges"},
		"magnate3-linux-riscv-dev/rc-small.pcap":       {"roce.icrc": "undetermined"},
		"magnate3-linux-riscv-dev/host-echo.dump":      {},
		"magnate3-linux-riscv-dev/nvme-rdma-idle.pcap": {},
		// Soft-RoCE of an old kernel does not count a WRITE in its MSN: 1 for PSNs 8138740 and 8138741.
		"magnate3-linux-riscv-dev/rdma.dump": {"roce.message-count": "diverges"},
		"oferby-proxy/roce.pcap":             {"roce.reserved-bits": "diverges"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, code := replayed(t, filepath.Join(shared, name))
			assert.Equal(t, want, verdicts(d))
			wantCode := 0
			for _, v := range want {
				if v == "diverges" {
					wantCode = exitDiverges
				}
			}
			assert.Equal(t, wantCode, code)
			for _, f := range d.Findings {
				assert.NotEmpty(t, f.Packets, "%s has no proof", f.Rule)
				assert.NotEmpty(t, f.Sentence)
				assert.NotEmpty(t, f.Expected)
				assert.NotEmpty(t, f.Seen)
			}
		})
	}
}

// A capture of our own, which everybody has: a lossy hop, NAKs, marks and CNPs, and nobody at fault.
func TestReplayOfALossyRing(t *testing.T) {
	d, code := replayed(t, "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, code)
	assert.EqualValues(t, 4, d.Totals.Connections)
	assert.Zero(t, d.Totals.Diverging)
	o := execute(t, nil, "replay", "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, o.code)
	assert.Contains(t, o.out, "of 4 connections held against the reference")
}

func TestReplayFailsOnWhatItWasTold(t *testing.T) {
	file := filepath.Join(sharedCaptures(t), "derived/roce-many-qps.pcap") // every QP uses several source ports: a notice
	_, code := replayed(t, file)
	assert.Equal(t, exitDiverges, code)
	_, code = replayed(t, "--fail-on", "warning", file)
	assert.Zero(t, code)
}

func TestReplayJUnit(t *testing.T) {
	o := execute(t, nil, "replay", "--junit", "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, o.code)
	var suite junitSuite
	require.NoError(t, xml.Unmarshal([]byte(o.out), &suite))
	assert.Equal(t, len(suite.Cases), suite.Tests)
	assert.Zero(t, suite.Failures)
	assert.Less(t, suite.Skipped, suite.Tests)
}

func TestReplayOfNothing(t *testing.T) {
	o := execute(t, nil, "replay", "no-such-file.pcap")
	assert.Equal(t, exitFailure, o.code)
	assert.Contains(t, o.err, "no-such-file.pcap")
	o = execute(t, nil, "replay", "--json", "--junit", "../../testdata/allreduce-loss.pcapng")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "exclude each other")
}

// TestReplayNamesFailedAttempts: sixteen equal REQs are one attempt, and a REJ is shown with its reason.
func TestReplayNamesFailedAttempts(t *testing.T) {
	shared := sharedCaptures(t)
	d, code := replayed(t, filepath.Join(shared, "derived/sit-cm-noanswer.pcap"))
	assert.Zero(t, code)
	assert.Equal(t, []document.Attempt{{From: "10.0.0.1", To: "10.0.0.2", Service: "TCP port 7471", Tries: 16, Packets: []uint64{1, 16}}}, d.FailedAttempts)
	d, _ = replayed(t, filepath.Join(shared, "derived/sit-cm-reject.pcap"))
	require.Len(t, d.FailedAttempts, 1)
	require.NotNil(t, d.FailedAttempts[0].Reason)
	assert.Equal(t, "consumer reject", *d.FailedAttempts[0].Reason)
	d, _ = replayed(t, filepath.Join(shared, "magnate3-linux-riscv-dev/send.pcap"))
	assert.Empty(t, d.FailedAttempts)
}

// Captures of the reference endpoint over real sockets: whatever was done to the network, it diverges nowhere.
func TestReplayOfTheReferenceEndpoint(t *testing.T) {
	files, err := filepath.Glob("../../testdata/metaroce/*.pcap")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../testdata/metaroce-spray.pcap") {
		d, code := replayed(t, file)
		assert.Zero(t, code, file)
		assert.Zero(t, d.Totals.Diverging, file)
		assert.NotZero(t, d.Totals.Connections, file)
	}
}
