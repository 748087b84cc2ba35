package service_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/internal/capgen"
	"github.com/rocelens/rocelens/server/api"
)

func TestUploadedCaptureIsFullyThere(t *testing.T) {
	s := web(t)
	content := fixture(t, "base-cm-send-write-read.pcap")
	c := s.fresh(t, "life cycle.pcap", content)
	require.Equal(t, "life cycle.pcap", c.Name)
	require.EqualValues(t, len(content), c.Size)

	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.Nil(t, c.Message)
	require.True(t, c.Analyzed)
	require.Equal(t, "pcap", *c.Format)
	require.EqualValues(t, 17, c.Totals.Packets)
	require.EqualValues(t, 17, c.Totals.RdmaPackets)
	require.Zero(t, c.Totals.IcrcErrors)
	require.Len(t, c.Interfaces, 1)
	require.Equal(t, "ETHERNET", c.Interfaces[0].LinkType)
	require.NotNil(t, c.FirstPacketAt)
	require.Nil(t, c.Progress)

	var flows api.FlowList
	s.get(t, "/captures/"+c.Id.String()+"/flows").into(t, &flows)
	require.EqualValues(t, len(flows.Flows), flows.Total)
	require.Equal(t, c.Totals.Flows, flows.Total)
	var packets int64
	var data *api.Flow
	for i := range flows.Flows {
		packets += flows.Flows[i].Packets
		if flows.Flows[i].Service == "RC" && flows.Flows[i].Operations.Write > 0 {
			data = &flows.Flows[i]
		}
	}
	require.EqualValues(t, 17, packets)
	require.NotNil(t, data)
	require.Equal(t, 0x22, data.DestinationQp)
	require.NotNil(t, data.SourceQp)
	require.Equal(t, 0x11, *data.SourceQp)
	require.Equal(t, api.Cm, data.Pairing)
	require.Equal(t, "0x0000000001061d2f", *data.ServiceId)
	require.Nil(t, data.Application)
	require.Zero(t, *data.MissingPsns)
	require.Zero(t, *data.MissingAcknowledged)

	var one api.Flow
	s.get(t, "/captures/"+c.Id.String()+"/flows/"+data.Id).into(t, &one)
	require.Equal(t, *data, one)

	var throughput api.Throughput
	s.get(t, "/captures/"+c.Id.String()+"/throughput?buckets=10").into(t, &throughput)
	var sum int64
	for _, n := range throughput.Packets {
		sum += n
	}
	require.EqualValues(t, 17, sum)
	require.Len(t, throughput.StartNs, len(throughput.Packets))

	var list api.PacketList
	s.get(t, "/captures/"+c.Id.String()+"/packets").into(t, &list)
	all := list.Packets
	require.Len(t, all, 17)
	s.get(t, "/captures/"+c.Id.String()+"/packets?limit=10").into(t, &list)
	require.Len(t, list.Packets, 10)
	require.True(t, list.MoreAfter)
	require.False(t, list.MoreBefore)
	require.EqualValues(t, 1, list.Packets[0].Number)
	s.get(t, "/captures/"+c.Id.String()+"/packets?after=10").into(t, &list)
	require.Len(t, list.Packets, 7)
	require.True(t, list.MoreBefore)
	require.False(t, list.MoreAfter)
	s.get(t, "/captures/"+c.Id.String()+"/packets?both_directions=true&flow_id="+data.Id).into(t, &list)
	require.NotNil(t, data.ReverseFlowId)
	var back api.Flow
	s.get(t, "/captures/"+c.Id.String()+"/flows/"+*data.ReverseFlowId).into(t, &back)
	require.Len(t, list.Packets, int(data.Packets+back.Packets))
	for _, p := range list.Packets {
		require.Contains(t, []string{data.Id, back.Id}, *p.FlowId)
	}

	at := func(i int) string { return url.QueryEscape(all[i].Time.Format(time.RFC3339Nano)) }
	s.get(t, "/captures/"+c.Id.String()+"/packets?from="+at(3)+"&to="+at(6)).into(t, &list)
	require.Equal(t, all[3:6], list.Packets, "the end of a span is not in it")
	require.EqualValues(t, 3, *list.Total)
	s.get(t, "/captures/"+c.Id.String()+"/packets?from="+at(6)+"&to="+at(3)).problem(t, http.StatusBadRequest)

	s.get(t, "/captures/"+c.Id.String()+"/flows?sort=connection").into(t, &flows)
	require.Equal(t, data.Id, flows.Flows[0].Id, "the busiest connection first, and of it the busier direction")
	require.Equal(t, *data.ReverseFlowId, flows.Flows[1].Id)

	var detail api.PacketDetail
	s.get(t, fmt.Sprintf("/captures/%s/packets/%d", c.Id, data.FirstNumber)).into(t, &detail)
	require.Len(t, detail.Bytes, detail.Summary.CapturedLength)
	require.True(t, bytes.Contains(content, detail.Bytes), "the bytes are those of the file")
	require.NotNil(t, detail.Tree.Children)
	require.Equal(t, data.FirstNumber, detail.Summary.Number)

	file := s.get(t, "/captures/"+c.Id.String()+"/file")
	require.Equal(t, content, file.body)
	require.Equal(t, `attachment; filename="life cycle.pcap"`, file.header.Get("Content-Disposition"))
	part := s.do(t, http.MethodGet, "/api/v1/captures/"+c.Id.String()+"/file", nil, "Range", "bytes=4-7")
	require.Equal(t, http.StatusPartialContent, part.status)
	require.Equal(t, content[4:8], part.body)

	s.get(t, "/captures/"+c.Id.String()+"/packets/18").problem(t, http.StatusNotFound)
	s.get(t, "/captures/"+c.Id.String()+"/flows/1").problem(t, http.StatusNotFound)
}

func TestWhatTheCaptureLostAndWasPausedIsTold(t *testing.T) {
	s := web(t)
	c := s.fresh(t, "interfaces.pcapng", fixture(t, "ct-multi-if.pcapng"))
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.Len(t, c.Interfaces, 3)
	var lost []*int64
	for _, i := range c.Interfaces {
		lost = append(lost, i.Dropped)
	}
	require.Contains(t, lost, new(int64(3)))

	c = s.fresh(t, "pfc.pcap", fixture(t, "pfc.pcap"))
	c = s.analysed(t, c.Id)
	require.Positive(t, c.Totals.PauseFrames)
	var list api.PacketList
	s.get(t, "/captures/"+c.Id.String()+"/packets?only=pause").into(t, &list)
	require.Equal(t, c.Totals.PauseFrames, *list.Total)
}

// TestMissingThatWasAcknowledgedIsToldApart leaves packets out of a capture whose network lost none.
func TestMissingThatWasAcknowledgedIsToldApart(t *testing.T) {
	s := web(t)
	content, truth := generate(t, 2000, capgen.Faults{CaptureMiss: 1})
	require.Positive(t, truth.MissingPSNs)
	c, _ := s.upload(t, "thin.pcap", content)
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.EqualValues(t, truth.MissingPSNs, c.Totals.MissingPsns)
	require.EqualValues(t, truth.MissingPSNs, c.Totals.MissingPsnsAcknowledged)
	rows := s.sql(t, "SELECT toUInt32(sum(missing_psns)), toUInt32(sum(missing_acknowledged)) FROM flows WHERE capture_id = '"+c.Id.String()+"'")
	require.EqualValues(t, c.Totals.MissingPsns, rows[0][0])
	require.EqualValues(t, c.Totals.MissingPsnsAcknowledged, rows[0][1])
}

func TestFiguresOfAGeneratedCapture(t *testing.T) {
	s := web(t)
	content, truth := generated(t, 20_000)
	c, _ := s.upload(t, "generated.pcap", content)
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.EqualValues(t, truth.Packets, c.Totals.Packets)
	require.EqualValues(t, truth.RDMAPackets, c.Totals.RdmaPackets)
	require.EqualValues(t, truth.Retransmitted, c.Totals.RetransmittedPackets)
	require.EqualValues(t, truth.Naks, c.Totals.NakPackets)
	require.EqualValues(t, truth.CNPs, c.Totals.CnpPackets)
	require.EqualValues(t, truth.CEMarked, c.Totals.CePackets)
	rows := s.sql(t, "SELECT toUInt32(count()), toUInt32(countIf(is_retransmitted)) FROM packets WHERE capture_id = '"+c.Id.String()+"'")
	require.EqualValues(t, truth.Packets, rows[0][0])
	require.EqualValues(t, truth.Retransmitted, rows[0][1])
}

func TestCompressedCapturesAreKeptDecompressed(t *testing.T) {
	s := web(t)
	content, truth := generated(t, 300)
	for _, compression := range []struct {
		name string
		pack func([]byte) []byte
	}{
		{"gzip", gzipped},
		{"zstd", func(b []byte) []byte {
			e, err := zstd.NewWriter(nil)
			require.NoError(t, err)
			return e.EncodeAll(b, nil)
		}},
	} {
		t.Run(compression.name, func(t *testing.T) {
			packed := compression.pack(content)
			c, _ := s.upload(t, "a.pcap.gz", packed)
			c = s.analysed(t, c.Id)
			require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
			require.Equal(t, compression.name, *c.Compression)
			require.EqualValues(t, truth.Packets, c.Totals.Packets)
			require.EqualValues(t, len(packed), c.Size)
			file := s.get(t, "/captures/"+c.Id.String()+"/file")
			require.Equal(t, content, file.body)
			require.Equal(t, "attachment; filename=a.pcap", file.header.Get("Content-Disposition"))

			again := s.do(t, http.MethodPost, "/api/v1/captures/"+c.Id.String()+"/analyze", nil)
			require.Equal(t, http.StatusAccepted, again.status, "%s", again.body)
			c = s.analysed(t, c.Id)
			require.Equal(t, api.CaptureStatusDone, c.Status)
			require.Equal(t, compression.name, *c.Compression)
			require.Equal(t, [][]any{{float64(truth.Packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets WHERE capture_id = '"+c.Id.String()+"'"))
		})
	}
}

// wholeRecords counts the records of a little-endian pcap.
func wholeRecords(b []byte) (n int64) {
	for b = b[24:]; len(b) >= 16; n++ {
		size := 16 + int(binary.LittleEndian.Uint32(b[8:]))
		if len(b) < size {
			break
		}
		b = b[size:]
	}
	return n
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// withoutRDMA is a capture of ARP and TCP alone.
func withoutRDMA(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pcapfile.NewWriter(&out, pcapfile.FormatPcap, pcapfile.WriterOptions{})
	require.NoError(t, err)
	arp := make([]byte, 42)
	binary.BigEndian.PutUint16(arp[12:], 0x0806)
	copy(arp[14:], []byte{0, 1, 8, 0, 6, 4, 0, 1})
	tcp := make([]byte, 54)
	binary.BigEndian.PutUint16(tcp[12:], 0x0800)
	copy(tcp[14:], []byte{0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	tcp[46] = 0x50
	for i, frame := range [][]byte{arp, tcp, tcp, tcp} {
		require.NoError(t, w.WriteFrame(&capture.Frame{Data: frame, Time: int64(i) * 1e6, HasTime: true}))
	}
	return out.Bytes()
}

func TestBadFilesSaySoAndHarmNothing(t *testing.T) {
	s := web(t)
	before, truth := generated(t, 500)
	good, _ := s.upload(t, "good.pcap", before)
	good = s.analysed(t, good.Id)
	require.EqualValues(t, truth.Packets, good.Totals.Packets)
	whole, _ := generated(t, 400)
	base := fixture(t, "base-cm-send-write-read.pcap")
	bomb := bytes.Join([][]byte{base[:24], bytes.Repeat(base[24:], 8*bombLimit/len(base))}, nil)
	kept := wholeRecords(bomb[:bombLimit])
	bomb = gzipped(bomb)
	require.Less(t, len(bomb), bombLimit/5)

	for _, tc := range []struct {
		name    string
		content []byte
		status  api.CaptureStatus
		message string // a regular expression
		packets int64
	}{
		{"empty", nil, api.CaptureStatusFailed, `^The file is empty: check that the capture ran and that the copy finished\.$`, 0},
		{"text", []byte("11:02:03 IP 10.0.0.1 > 10.0.0.2: UDP\n"), api.CaptureStatusFailed, `^Not a capture that can be read: it looks like text; .*\.$`, 0},
		{"web page", []byte("<!DOCTYPE html><html><body>Log in</body></html>"), api.CaptureStatusFailed, `it looks like an HTML page`, 0},
		{"noise", bytes.Repeat([]byte{0x93, 0x07, 0xc8, 0x55}, 64), api.CaptureStatusFailed, `^Not a capture that can be read`, 0},
		{"header alone is cut", whole[:10], api.CaptureStatusFailed, `^The file ends inside its header`, 0},
		{"text in gzip", gzipped([]byte("hello, this is no capture at all\n")), api.CaptureStatusFailed, `it looks like text`, 0},
		{"cut in a packet", fixture(t, "ct-cut.pcap"), api.CaptureStatusPartial, `4 packets before it were kept`, 4},
		{"cut in a block", fixture(t, "ct-cut.pcapng"), api.CaptureStatusPartial, `were kept`, 17},
		{"cut gzip", fixture(t, "ct-gzip-cut.pcap.gz"), api.CaptureStatusPartial, `^The gzip data ends before its end\. .*kept`, 240},
		{"gzip's magic alone", []byte{0x1f, 0x8b}, api.CaptureStatusFailed, `^The gzip data ends before its end\. No packet could be read before it: copy or capture it again\.$`, 0},
		{"zstd's magic alone", []byte{0x28, 0xb5, 0x2f, 0xfd}, api.CaptureStatusFailed, `^The zstd data ends before its end\. No packet`, 0},
		{"xz's magic alone", []byte("\xfd7zXZ\x00"), api.CaptureStatusFailed, `^The xz data ends before its end\. No packet`, 0},
		{"half a gzip magic", []byte{0x1f}, api.CaptureStatusFailed, `^The file ends inside its header`, 0},
		{"gzip cut in the file header", gzipped(whole)[:20], api.CaptureStatusFailed, `^The gzip data ends before its end\. No packet`, 0},
		{"nothing in gzip", gzipped(nil), api.CaptureStatusFailed, `^The file is empty: .*\. That is what came out of the gzip data\.$`, 0},
		{"bomb", bomb, api.CaptureStatusPartial, `^More than 1048576 bytes come out of the gzip data, and no more are taken\. .*were kept\.$`, kept},
		{"no packets", whole[:24], api.CaptureStatusDone, `^The capture holds no packets\.$`, 0},
		{"no RDMA", withoutRDMA(t), api.CaptureStatusDone, `^4 packets, none of them RDMA: 3 TCP, 1 ARP\.$`, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := s.fresh(t, tc.name+".pcap", tc.content)
			c = s.analysed(t, c.Id)
			require.NotNil(t, c.Message)
			require.Equal(t, tc.status, c.Status, *c.Message)
			require.Regexp(t, tc.message, *c.Message)
			if tc.status == api.CaptureStatusFailed {
				require.False(t, c.Analyzed)
				require.Nil(t, c.Totals)
			} else {
				require.Equal(t, tc.packets, c.Totals.Packets)
			}
			require.Equal(t, [][]any{{float64(tc.packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets WHERE capture_id = '"+c.Id.String()+"'"))
			got := s.capture(t, good.Id)
			require.Equal(t, good, got, "what was there before is as it was")
			require.Equal(t, [][]any{{float64(truth.Packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets WHERE capture_id = '"+good.Id.String()+"'"))
		})
	}
}

func TestTheSameFileIsOneCapture(t *testing.T) {
	s := web(t)
	content, _ := generated(t, 200)
	first, status := s.upload(t, "a.pcap", content)
	require.Equal(t, http.StatusCreated, status)
	second, status := s.upload(t, "b.pcap", content)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, first.Id, second.Id)
	require.Equal(t, "a.pcap", second.Name)

	other, _ := generated(t, 200)
	var mu sync.Mutex
	created := map[int]int{}
	ids := map[uuid.UUID]bool{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c, status := s.upload(t, fmt.Sprintf("%d.pcap", i), other)
			mu.Lock()
			defer mu.Unlock()
			created[status]++
			ids[c.Id] = true
		})
	}
	all.Wait()
	require.Equal(t, map[int]int{http.StatusCreated: 1, http.StatusOK: 7}, created)
	require.Len(t, ids, 1)
	for id := range ids {
		require.Equal(t, api.CaptureStatusDone, s.analysed(t, id).Status)
	}
}

func TestDeletedCaptureIsGoneAndOthersAreNot(t *testing.T) {
	s := web(t)
	a, _ := generated(t, 300)
	b, truth := generated(t, 300)
	goes, _ := s.upload(t, "goes.pcap", a)
	stays, _ := s.upload(t, "stays.pcap", b)
	s.analysed(t, goes.Id)
	kept := s.analysed(t, stays.Id)

	gone := s.do(t, http.MethodDelete, "/api/v1/captures/"+goes.Id.String(), nil)
	require.Equal(t, http.StatusNoContent, gone.status)
	s.get(t, "/captures/"+goes.Id.String()).problem(t, http.StatusNotFound)
	s.get(t, "/captures/"+goes.Id.String()+"/flows").problem(t, http.StatusNotFound)
	s.get(t, "/captures/"+goes.Id.String()+"/packets/1").problem(t, http.StatusNotFound)
	s.do(t, http.MethodDelete, "/api/v1/captures/"+goes.Id.String(), nil).problem(t, http.StatusNotFound)
	require.Equal(t, [][]any{{0.0, 0.0, 0.0}}, s.sql(t, fmt.Sprintf(`SELECT
		(SELECT toUInt32(count()) FROM packets WHERE capture_id = '%[1]s'),
		(SELECT toUInt32(count()) FROM flows WHERE capture_id = '%[1]s'),
		(SELECT toUInt32(count()) FROM captures WHERE id = '%[1]s')`, goes.Id)))
	require.Equal(t, kept, s.capture(t, stays.Id))
	require.Equal(t, [][]any{{float64(truth.Packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets WHERE capture_id = '"+stays.Id.String()+"'"))

	again, status := s.upload(t, "goes.pcap", a)
	require.Equal(t, http.StatusCreated, status, "a deleted file can be uploaded again")
	require.NotEqual(t, goes.Id, again.Id)
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, again.Id).Status)
}

func TestListOfCaptures(t *testing.T) {
	s := web(t)
	var ids []uuid.UUID
	for i := range 3 {
		content, _ := generated(t, 100)
		c, _ := s.upload(t, fmt.Sprintf("page %d.pcap", i), content)
		s.analysed(t, c.Id)
		ids = append(ids, c.Id)
	}
	var page api.CaptureList
	s.get(t, "/captures?limit=2").into(t, &page)
	require.Len(t, page.Captures, 2)
	require.NotNil(t, page.NextCursor)
	seen := map[uuid.UUID]bool{}
	last := time.Now().Add(time.Hour)
	for {
		for _, c := range page.Captures {
			require.False(t, seen[c.Id], "a capture is on one page only")
			seen[c.Id] = true
			require.False(t, c.UploadedAt.After(last), "newest first")
			last = c.UploadedAt
		}
		if page.NextCursor == nil {
			break
		}
		cursor := *page.NextCursor
		page = api.CaptureList{}
		s.get(t, "/captures?limit=2&cursor="+cursor).into(t, &page)
	}
	for _, id := range ids {
		require.True(t, seen[id])
	}
	s.get(t, "/captures?cursor=nonsense").problem(t, http.StatusBadRequest)
}

func TestCancelAndDeleteWhileAnalysing(t *testing.T) {
	s := start(t, service.Config{Workers: 1})
	large, truth := generated(t, 400_000)
	busy, _ := s.upload(t, "busy.pcap", large)
	waiting, _ := s.upload(t, "waiting.pcap", bulky(t))

	c := s.until(t, busy.Id, func(c api.Capture) bool { return c.Progress != nil && c.Progress.Packets > 0 || c.Analyzed })
	require.Equal(t, api.CaptureStatusAnalyzing, c.Status, "the analysis is slower than two requests")
	require.Positive(t, c.Progress.BytesTotal)
	require.Equal(t, api.CaptureStatusQueued, s.capture(t, waiting.Id).Status)
	s.do(t, http.MethodPost, "/api/v1/captures/"+busy.Id.String()+"/analyze", nil).problem(t, http.StatusConflict)

	got := s.do(t, http.MethodPost, "/api/v1/captures/"+waiting.Id.String()+"/cancel", nil)
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	require.Equal(t, api.CaptureStatusCancelled, s.capture(t, waiting.Id).Status, "what waits is cancelled without waiting")

	got = s.do(t, http.MethodPost, "/api/v1/captures/"+busy.Id.String()+"/cancel", nil)
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	got.into(t, &c)
	require.Equal(t, api.CaptureStatusCancelled, c.Status)
	require.False(t, c.Analyzed)
	require.Equal(t, [][]any{{0.0}}, s.sql(t, "SELECT toUInt32(count()) FROM packets"), "nothing is left of it")
	s.do(t, http.MethodPost, "/api/v1/captures/"+busy.Id.String()+"/cancel", nil).problem(t, http.StatusConflict)

	// While it is analysed again, it is deleted.
	got = s.do(t, http.MethodPost, "/api/v1/captures/"+busy.Id.String()+"/analyze", nil)
	require.Equal(t, http.StatusAccepted, got.status, "%s", got.body)
	s.until(t, busy.Id, func(c api.Capture) bool { return c.Progress != nil && c.Progress.Packets > 0 || c.Analyzed })
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodDelete, "/api/v1/captures/"+busy.Id.String(), nil).status)
	s.get(t, "/captures/"+busy.Id.String()).problem(t, http.StatusNotFound)
	require.Equal(t, [][]any{{0.0}}, s.sql(t, "SELECT toUInt32(count()) FROM packets"))

	got = s.do(t, http.MethodPost, "/api/v1/captures/"+waiting.Id.String()+"/analyze", nil)
	require.Equal(t, http.StatusAccepted, got.status, "%s", got.body)
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, waiting.Id).Status)
	require.Positive(t, truth.Packets)
}
