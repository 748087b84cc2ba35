package service_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/diff"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server/api"
)

// sideOf is what an analysis without a database finds.
func sideOf(t *testing.T, data []byte, connection flow.ID) *diff.Side {
	t.Helper()
	found := &diff.Collector{Only: connection}
	a := analysis.New(analysis.Config{Replay: found}, found)
	source, err := pcapfile.New(bytes.NewReader(data), "capture", pcapfile.Options{})
	require.NoError(t, err)
	require.NoError(t, a.Add(t.Context(), "capture", source))
	result, err := a.Finish()
	require.NoError(t, err)
	return found.Side(&result)
}

// TestDiffByAPI: stored captures and connections differ in what the same files differ in without a database.
func TestDiffByAPI(t *testing.T) {
	s := web(t)
	files := [][]byte{fixture(t, "sit-nak-all.pcap"), fixture(t, "sit-timeout-repeat.pcap")}
	for _, name := range []string{"allreduce-loss.pcapng", filepath.Join("metaroce", "loss.pcap")} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", name))
		require.NoError(t, err)
		files = append(files, data)
	}
	ids, flows := make([]string, len(files)), make([]api.FlowList, len(files))
	for i, data := range files {
		c, _ := s.upload(t, "diff-"+strconv.Itoa(i)+".pcap", data)
		require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)
		ids[i] = c.Id.String()
		s.get(t, "/captures/"+ids[i]+"/flows").into(t, &flows[i])
	}
	same := func(query string, a, b *diff.Side) {
		t.Helper()
		var got api.Diff
		s.get(t, "/diff?"+query).into(t, &got)
		result := diff.Compare(a, b)
		want := result.Document(a, b)
		require.Equal(t, want.Notes, got.Notes, query)
		require.Len(t, got.Figures, len(want.Figures))
		for i := range got.Figures {
			f := &got.Figures[i]
			have := diff.DocumentFigure{
				Figure: f.Figure, Title: f.Title, Group: diff.Group(f.Group), Unit: diff.Unit(f.Unit), Better: diff.Better(f.Better),
				A: f.A, B: f.B, Change: f.Change, ChangeShare: f.ChangeShare, Unknown: f.Unknown,
			}
			require.Equal(t, want.Figures[i], have, query)
		}
		require.Len(t, got.Rules, len(want.Rules), query)
		for i, r := range want.Rules {
			require.Equal(t, r.Rule, got.Rules[i].Rule)
			require.Equal(t, r.A == nil, got.Rules[i].A == nil, r.Rule)
			if r.A != nil {
				require.EqualValues(t, r.A.Diverges, got.Rules[i].A.Diverges, r.Rule)
				require.EqualValues(t, r.A.Conforms, got.Rules[i].A.Conforms, r.Rule)
				require.EqualValues(t, r.A.DivergingConnections, got.Rules[i].A.DivergingConnections, r.Rule)
			}
		}
		require.EqualValues(t, want.A.Connections, got.A.Connections, query)
		require.EqualValues(t, want.B.Flows, got.B.Flows, query)
	}
	for i := range files {
		k := (i + 1) % len(files)
		same("a="+ids[i]+"&b="+ids[k], sideOf(t, files[i], 0), sideOf(t, files[k], 0))
		f := &flows[k].Flows[0]
		connection, err := strconv.ParseUint(f.ConnectionId, 10, 64)
		require.NoError(t, err)
		same("a="+ids[i]+"&b="+ids[k]+"&flow_b="+f.Id, sideOf(t, files[i], 0), sideOf(t, files[k], flow.ID(connection)))
	}

	one := &flows[2].Flows[0]
	for query, status := range map[string]int{
		"a=" + ids[0] + "&b=" + ids[0]:                                             http.StatusBadRequest,
		"a=" + ids[2] + "&b=" + ids[2] + "&flow_a=" + one.Id + "&flow_b=" + one.Id: http.StatusBadRequest,
		"a=" + ids[0] + "&b=" + ids[1] + "&flow_a=1":                               http.StatusNotFound,
		"a=" + ids[0] + "&b=" + ids[1] + "&flow_a=99999999999999999999":            http.StatusBadRequest,
		"a=" + ids[0] + "&b=00000000-0000-4000-8000-000000000000":                  http.StatusNotFound,
		"a=" + ids[0]: http.StatusBadRequest,
	} {
		s.get(t, "/diff?"+query).problem(t, status)
	}
}
