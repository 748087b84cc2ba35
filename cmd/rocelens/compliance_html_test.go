package main

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/replay/compliance"
)

// The page of what is served bears captures that can be read, and asks nobody for anything.
func TestComplianceHTML(t *testing.T) {
	directory := t.TempDir()
	page := filepath.Join(directory, "report.html")
	var got outcome
	served(t, func() {
		got = execute(t, nil, "compliance", "127.78.3.1", "--from", "127.78.3.2", "--scenario", "receiver/cumulative,connecting/reply", "--html", page)
	}, "--listen", "127.78.3.1")
	require.Zero(t, got.code, got.err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "<title>MetaRoCE compliance of 127.78.3.1:51791: 2 passed, 0 failed, 0 undetermined</title>")
	for _, outside := range []string{"http://", "https://", "//#", "src=", "@import", "url(", "ZgotmplZ"} {
		assert.NotContains(t, string(text), outside)
	}
	captures := regexp.MustCompile(`download="([a-z-]+\.pcapng\.gz)" href="data:application/gzip;base64,([^"]+)"`).FindAllSubmatch(text, -1)
	require.Len(t, captures, 2)
	for _, c := range captures {
		data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(c[2]), "&#43;", "+"))
		require.NoError(t, err)
		name := filepath.Join(directory, string(c[1]))
		require.NoError(t, os.WriteFile(name, data, 0o600))
		dissected := execute(t, nil, "dissect", name)
		require.Zero(t, dissected.code, dissected.err)
		assert.Contains(t, dissected.out, "CONN_REP")
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllSubmatch(text, -1) {
		assert.Equal(t, 1, bytes.Count(text, []byte(`id="`+string(link[1])+`"`)), "%s", link[1])
	}
}

// A failure is open, with the packet that proves it; what the target says is text.
func TestComplianceHTMLOfFailures(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	target := netip.MustParseAddrPort("192.0.2.1:51791")
	var packets []compliance.Packet
	for i := range 300 {
		packets = append(packets, compliance.Packet{
			Time: at.Add(time.Duration(i) * time.Millisecond), Sent: i%2 == 0, Source: target, Destination: target, Data: []byte{1}, Text: "ACK",
		})
	}
	packets[200].Comment = "fails: expected <b>one</b>; seen: two"
	report := &compliance.Report{
		Target: target.String(), Local: "192.0.2.2", Began: at, Failed: 1, Undetermined: 1, Repeated: 2, Handshakes: 40,
		Results: []compliance.Result{
			{ID: "receiver/gap", Title: "tells gaps", Clause: "mr0, Receiver", Checks: "gaps", Verdict: compliance.Fail, Expected: "<b>one</b>", Seen: "two", Runs: 2, Packets: packets},
			{ID: "sender/read", Title: "reads", Clause: "mr0, Receiver", Checks: "a READ", Verdict: compliance.Undetermined, Seen: "no memory", Runs: 2},
		},
	}
	var b bytes.Buffer
	require.NoError(t, writeComplianceHTML(&b, report))
	text := b.String()
	assert.NotContains(t, text, "<b>one")
	assert.Contains(t, text, "<dt>Expected</dt><dd>&lt;b&gt;one&lt;/b&gt;</dd><dt>Seen</dt><dd class=\"seen\">two</dd>")
	assert.Contains(t, text, `<details class="fail" id="receiver-gap" data-verdict="fail" open>`)
	assert.Contains(t, text, `<tr class="said"><td class="n">201</td><td class="n">200.000</td>`)
	assert.Contains(t, text, "<td class=\"gap\" colspan=\"5\">197 more</td>")
	assert.Contains(t, text, "2 of 40 handshakes had to be repeated")
	assert.Contains(t, text, "<dt>Why</dt><dd class=\"seen\">no memory</dd>")
}
