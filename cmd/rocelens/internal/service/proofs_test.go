package service_test

import (
	"mime"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

// divergence uploads a capture and finds the divergence from a rule. The capture has another name when another
// test uploaded the same bytes before.
func (r *running) divergence(t *testing.T, name, rule, verdict string) (c api.Capture, d api.Divergence) {
	t.Helper()
	uploaded, _ := r.upload(t, name, fixture(t, name))
	c = r.analysed(t, uploaded.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status)
	var list api.DivergenceList
	r.get(t, "/captures/"+c.Id.String()+"/divergences?rule="+rule+"&verdict="+verdict).into(t, &list)
	require.NotEmpty(t, list.Divergences)
	return c, list.Divergences[0]
}

func TestADivergenceAndItsConnection(t *testing.T) {
	s := web(t)
	capture, d := s.divergence(t, "base-cm-send-write-read.pcap", "roce.starting-psn", "diverges")
	base := "/captures/" + capture.Id.String() + "/divergences/" + d.Id
	var detail api.DivergenceDetail
	s.get(t, base).into(t, &detail)
	require.Equal(t, d, detail.Divergence)
	require.NotEmpty(t, detail.Title)
	require.Len(t, detail.FlowIds, 2)
	require.Len(t, detail.Ends, 2)
	sender := 0
	if detail.Ends[1].Address == "10.0.0.1" {
		sender = 1
	}
	require.Equal(t, []any{"10.0.0.1", int64(0x11)}, []any{detail.Ends[sender].Address, *detail.Ends[sender].Qp})
	require.Equal(t, []any{"10.0.0.2", int64(0x22)}, []any{detail.Ends[1-sender].Address, *detail.Ends[1-sender].Qp})

	var near api.Surroundings
	s.get(t, base+"/packets?around=200").into(t, &near)
	require.Empty(t, near.Gaps)
	kinds := map[api.PacketKind]int{}
	for _, p := range near.Packets {
		kinds[p.Kind]++
		require.NotNil(t, p.End)
		require.Equal(t, p.Packet.Source, detail.Ends[*p.End].Address)
		require.Equal(t, p.Packet.Number == 4, p.Proof != nil)
		require.Equal(t, p.Kind == api.PacketKindAck, p.Acknowledges != nil)
	}
	// 2 SENDs, WRITEs of 3 packets and of 1, and a READ request; 2 packets of the READ's answer; 3 ACKs. The handshake is no part of the connection.
	require.Equal(t, map[api.PacketKind]int{"data": 7, "response": 2, "ack": 3}, kinds)

	s.get(t, base+"/packets?around=1").into(t, &near)
	require.Len(t, near.Packets, 2, "nothing of the connection comes before")
	s.get(t, "/captures/"+capture.Id.String()+"/divergences/1").problem(t, http.StatusNotFound)
	s.get(t, "/captures/"+capture.Id.String()+"/divergences/99999999999999999999/packets").problem(t, http.StatusBadRequest)
	s.get(t, "/captures/"+capture.Id.String()+"/divergences/1/pcapng").problem(t, http.StatusNotFound)
}

// The download is a capture that tshark opens, with a comment on the packet that proves the divergence.
func TestADivergenceIsDownloaded(t *testing.T) {
	s := web(t)
	capture, d := s.divergence(t, "base-cm-send-write-read.pcap", "roce.starting-psn", "diverges")
	for around, packets := range map[int]int{0: 1, 3: 4} {
		got := s.get(t, "/captures/"+capture.Id.String()+"/divergences/"+d.Id+"/pcapng?around="+strconv.Itoa(around))
		require.Equal(t, http.StatusOK, got.status)
		_, disposition, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
		require.NoError(t, err)
		// Before it stands the name of the first upload of these bytes, which tests in another order give another.
		require.True(t, strings.HasSuffix(disposition["filename"], "-roce.starting-psn-packet-4.pcapng"), disposition["filename"])
		file := filepath.Join(t.TempDir(), disposition["filename"])
		require.NoError(t, os.WriteFile(file, got.body, 0o600))
		out, err := exec.CommandContext(t.Context(), "tshark", "-r", file, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.comment").Output()
		require.NoError(t, err)
		lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
		require.Len(t, lines, packets)
		require.Equal(t, "1700000000.003000000\tproves roce.starting-psn (diverges), 1 of 1, packet 4 of "+capture.Name+": "+d.Sentence, lines[0])
		for _, line := range lines[1:] {
			require.True(t, strings.HasSuffix(line, "\t"), "no comment on what proves nothing: %s", line)
		}
	}
}

// A capture that was uploaded compressed is copied from all the same.
func TestADivergenceOfACompressedCapture(t *testing.T) {
	s := web(t)
	c, _ := s.upload(t, "base.pcap.gz", gzipped(fixture(t, "base-cm-send-write-read.pcap")))
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status)
	var list api.DivergenceList
	s.get(t, "/captures/"+c.Id.String()+"/divergences?rule=roce.starting-psn").into(t, &list)
	got := s.get(t, "/captures/"+c.Id.String()+"/divergences/"+list.Divergences[0].Id+"/pcapng")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, string(got.body), "packet 4 of "+c.Name+": ")
}
