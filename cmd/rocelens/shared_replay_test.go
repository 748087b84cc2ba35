package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis/document"
)

// confirmed says of each divergence of a public capture how it was confirmed by hand, from the bytes or from tshark's fields.
// A divergence that is not here fails the test: nobody has looked at it.
var confirmed = []struct{ files, rule, how string }{
	{"derived/base-cm-*", "roce.starting-psn", swappedPSNs},
	{"derived/ct-*", "roce.starting-psn", swappedPSNs},
	{"derived/enc-*", "roce.starting-psn", swappedPSNs},
	{"derived/rocev2-ipv6.pcap", "roce.starting-psn", swappedPSNs},
	{
		"derived/roce-many-qps.pcap", "roce.source-port",
		"the generator changes the port with each packet: QP 0x001000 is written to from 49152 in packet 1 and from 49167 in packet 501",
	},
	{
		"derived/sit-imm-inv.pcap", "roce.opcode-sequence",
		"SEND Last with Invalidate, PSN 4, follows SEND Only with Invalidate, PSN 3: no message was begun",
	},
	{
		"derived/sit-nak-all.pcap", "roce.syndrome",
		"packets 7 to 9 have syndromes 0x7f, 0x40 and 0x80: NAK code 31, the reserved class, and a set top bit",
	},
	{
		"derived/sit-padcnt.pcap", "roce.pad-count",
		"packet 5 has no payload and a pad count of 3",
	},
	{
		"magnate3-linux-riscv-dev/rdma.dump", "roce.message-count",
		"Soft-RoCE of an old kernel does not count a WRITE: the ACKs 5 and 11 have MSN 1, with WRITE Only 8138741 done between them",
	},
	{
		"magnate3-linux-riscv-dev/rocev1_test.pcap", "roce.version-mix",
		"request 16 is RoCEv1, its ACK 18 with the same PSN 14482249 RoCEv2; sixteen connections are like it, and the NICs bear it",
	},
	{
		"oferby-proxy/roce.pcap", "roce.reserved-bits",
		"byte 4 of the BTH is 0x10 in 68 packets: neither FECN nor BECN, so a reserved bit",
	},
}

// The PSN of a REQ is where the peer begins to send, that of a REP where the requester does (IBTA vol. 1, 12.7.31); write.pcap and
// nvme-discover.pcap, which real NICs made, agree.
const swappedPSNs = "the generator lets each side begin with the PSN that it announced for its peer: 20480 of the REQ is in the SEND of the same side"

func howConfirmed(file, rule string) string {
	for _, c := range confirmed {
		if ok, _ := path.Match(c.files, file); ok && c.rule == rule {
			return c.how
		}
	}
	return ""
}

// TestEverySharedCaptureHasItsVerdicts keeps what replay says of every public capture.
func TestEverySharedCaptureHasItsVerdicts(t *testing.T) {
	t.Chdir(sharedCaptures(t))
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".tsv") || strings.HasSuffix(name, ".md") {
			return err
		}
		name = filepath.ToSlash(name)
		o := execute(t, nil, "replay", "--json", name)
		if o.out == "" {
			assert.NotEmpty(t, o.err, "%s: no answer", name)
			fmt.Fprintf(&b, "%s: exit %d, not read\n", name, o.code)
			return nil
		}
		var d document.Replay
		require.NoError(t, json.Unmarshal([]byte(o.out), &d), name)
		describeReplay(t, &b, name, &d, o.code)
		return nil
	}))
	golden(t, "shared-replay.golden", b.String())
}

func describeReplay(t *testing.T, b *strings.Builder, name string, d *document.Replay, code int) {
	t.Helper()
	fmt.Fprintf(b, "%s: exit %d, %d packets of %d connection(s)\n", name, code, d.Totals.Packets, d.Totals.Connections)
	wantCode := 0
	for _, r := range d.Rules {
		if r.Diverges > 0 {
			wantCode = exitDiverges
			how := howConfirmed(name, r.Rule)
			assert.NotEmpty(t, how, "%s: %s diverges, and nobody has confirmed it by hand", name, r.Rule)
			fmt.Fprintf(b, "  diverges %s, %d\n    %s\n    confirmed: %s\n", r.Rule, r.Diverges, firstSentence(d, r.Rule, "diverges"), how)
		}
		if r.Undetermined > 0 {
			fmt.Fprintf(b, "  undetermined %s, %d\n    %s\n", r.Rule, r.Undetermined, firstSentence(d, r.Rule, "undetermined"))
		}
	}
	for _, a := range d.FailedAttempts {
		reason := "never answered"
		if a.Reason != nil {
			reason = "refused: " + *a.Reason
		}
		fmt.Fprintf(b, "  attempt from %s to %s for %s in packets %d, %s\n", a.From, a.To, a.Service, a.Packets, reason)
	}
	assert.Equal(t, wantCode, code, name)
	for _, f := range d.Findings {
		assert.NotEmpty(t, f.Packets, "%s: %s has no proof", name, f.Rule)
		assert.NotEmpty(t, f.Expected, "%s: %s", name, f.Rule)
		assert.NotEmpty(t, f.Seen, "%s: %s", name, f.Rule)
	}
}

func firstSentence(d *document.Replay, rule, verdict string) string {
	for _, f := range d.Findings {
		if f.Rule == rule && f.Verdict == verdict {
			return f.Sentence
		}
	}
	return "(none of these was kept)"
}
