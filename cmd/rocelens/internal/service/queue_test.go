package service_test

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/server/api"
)

const bulkyPackets = 33

// bulky is a capture that is too large for the lane of small ones, and analysed in no time all the same.
func bulky(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pcapfile.NewWriter(&out, pcapfile.FormatPcap, pcapfile.WriterOptions{})
	require.NoError(t, err)
	frame := make([]byte, pcapfile.MaxFrame)
	binary.BigEndian.PutUint64(frame[14:], generations.Add(1)) // no two are the same
	for range bulkyPackets {
		require.NoError(t, w.WriteFrame(&capture.Frame{Data: frame, Time: 1, HasTime: true}))
	}
	return out.Bytes()
}

// heavy is a small gzip file of millions of packets without a byte, a member of it for each million.
func heavy(millions int) []byte {
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = append(head, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	record := binary.LittleEndian.AppendUint32(nil, 1_700_000_000)
	record = append(record, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0)
	return append(gzipped(head), bytes.Repeat(gzipped(bytes.Repeat(record, 1_000_000)), millions)...)
}

// TestSmallCapturesDoNotWaitForLargeOnes: the only worker is busy for long, and what waits behind it looks as small as what
// is.
func TestSmallCapturesDoNotWaitForLargeOnes(t *testing.T) {
	s := start(t, service.Config{Workers: 1})
	busy, _ := s.upload(t, "busy.pcap.gz", heavy(60))
	require.Less(t, busy.Size, int64(4<<20))
	s.until(t, busy.Id, func(c api.Capture) bool { return c.Progress != nil && c.Progress.Packets > 0 || c.Analyzed })
	waiting, _ := s.upload(t, "waiting.pcap.gz", heavy(50))
	content, truth := generated(t, 2000)
	small, _ := s.upload(t, "small.pcap", content)

	c := s.analysed(t, small.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.EqualValues(t, truth.Packets, c.Totals.Packets)
	c = s.capture(t, busy.Id)
	require.Equal(t, api.CaptureStatusAnalyzing, c.Status)
	require.Positive(t, c.Progress.Packets)
	// What waits was tried as a small one, or is just now.
	c = s.until(t, waiting.Id, func(c api.Capture) bool { return c.Status != api.CaptureStatusAnalyzing })
	require.Equal(t, api.CaptureStatusQueued, c.Status)
	require.Nil(t, c.Message)

	for _, id := range []string{waiting.Id.String(), busy.Id.String()} {
		got := s.do(t, http.MethodPost, "/api/v1/captures/"+id+"/cancel", nil)
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		got.into(t, &c)
		require.Equal(t, api.CaptureStatusCancelled, c.Status)
	}
	require.Equal(t, [][]any{{float64(truth.Packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets"), "nothing is left of them")
}
