package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	forms "github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server/api"
)

// metaRoCECaptures are the captures of MetaRoCE that come with the source.
func metaRoCECaptures(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..", "testdata")
	names, err := filepath.Glob(filepath.Join(root, "metaroce", "*.pcap"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return append(names, filepath.Join(root, "metaroce-spray.pcap"))
}

// documents are the flows of a capture as `analyze --json` has them.
type documents map[string]*forms.MetaRoCE

func (d documents) Flow(r *flow.Record) error {
	d[strconv.FormatUint(uint64(r.ID), 10)] = forms.NewMetaRoCE(r.MetaRoCE)
	return nil
}

func documentsOf(t *testing.T, name string) documents {
	t.Helper()
	source, err := pcapfile.Open(name, pcapfile.Options{})
	require.NoError(t, err)
	defer source.Close()
	found := documents{}
	_, err = analysis.Run(t.Context(), source, analysis.Config{}, found)
	require.NoError(t, err)
	return found
}

// object is a value as JSON has it.
func object(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	sameTimes(out)
	return out
}

// sameTimes writes all times below v alike, with as many digits as they need.
func sameTimes(v any) any {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.Format(time.RFC3339Nano)
		}
	case []any:
		for i := range v {
			v[i] = sameTimes(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = sameTimes(v[name])
		}
	}
	return v
}

// requireFields holds that got has all that want has, by the same names.
func requireFields(t *testing.T, want, got map[string]any, where string) {
	t.Helper()
	for name, value := range want {
		require.Equal(t, value, got[name], "%s: %s", where, name)
	}
}

func TestUploadedMetaRoCEIsWhatAnalyzeSays(t *testing.T) {
	s := web(t)
	for _, name := range metaRoCECaptures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			c, _ := s.upload(t, filepath.Base(name), content)
			require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)
			for id, want := range documentsOf(t, name) {
				var f api.Flow
				s.get(t, "/captures/"+c.Id.String()+"/flows/"+id).into(t, &f)
				require.NotNil(t, f.Metaroce)
				fields := object(t, want)
				delete(fields, "paths")
				delete(fields, "streams")
				requireFields(t, fields, object(t, f.Metaroce), "flow "+id)
				require.EqualValues(t, len(want.Paths), f.Metaroce.Paths)
				require.EqualValues(t, len(want.Streams), f.Metaroce.Streams)

				var paths api.PathList
				s.get(t, "/captures/"+c.Id.String()+"/paths?flow_id="+id).into(t, &paths)
				require.Len(t, paths.Paths, len(want.Paths))
				require.EqualValues(t, len(want.Paths), paths.Total)
				for i := range want.Paths {
					requireFields(t, object(t, &want.Paths[i]), object(t, &paths.Paths[i]), fmt.Sprintf("flow %s, path %d", id, i))
				}
				var streams api.StreamList
				s.get(t, "/captures/"+c.Id.String()+"/streams?flow_id="+id).into(t, &streams)
				require.Len(t, streams.Streams, len(want.Streams))
				for i := range want.Streams {
					requireFields(t, object(t, &want.Streams[i]), object(t, &streams.Streams[i]), fmt.Sprintf("flow %s, stream %d", id, i))
				}
			}
		})
	}
}

// uploaded is a capture of MetaRoCE in the shared service, and the flow of it that has the most packets.
func (r *running) metaRoCE(t *testing.T, name string) (api.Capture, api.Flow) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", name))
	require.NoError(t, err)
	c, _ := r.upload(t, filepath.Base(name), content)
	require.Equal(t, api.CaptureStatusDone, r.analysed(t, c.Id).Status)
	var flows api.FlowList
	r.get(t, "/captures/"+c.Id.String()+"/flows?sort=packets").into(t, &flows)
	return c, flows.Flows[0]
}

func TestPathsAreSortedFilteredAndPaged(t *testing.T) {
	s := web(t)
	c, f := s.metaRoCE(t, "metaroce/path-failure.pcap")
	list := func(query string) api.PathList {
		var out api.PathList
		s.get(t, "/captures/"+c.Id.String()+"/paths?"+query).into(t, &out)
		return out
	}
	ids := func(l api.PathList) (out []int) {
		for i := range l.Paths {
			out = append(out, l.Paths[i].PathId)
		}
		return out
	}
	require.Equal(t, []int{0, 1, 2, 3}, ids(list("flow_id="+f.Id)))
	require.Equal(t, 2, list("flow_id=" + f.Id + "&sort=resent_share&order=desc").Paths[0].PathId)
	both := list("both_directions=true&flow_id=" + f.Id)
	require.EqualValues(t, 6, both.Total, "four paths there, two back")
	require.Equal(t, both.Total, list("").Total)

	for query, want := range map[string][]int{
		"filter=re-pathed": {2}, "filter=2": {2}, "filter=path2+re-pathed": {2}, "filter=port64750": {2},
		"filter=plane0+retransmitted+127.0.0.1": {0, 1, 2, 3}, "filter=plane1": nil, "filter=10.": nil,
		"offset=1&limit=2": {1, 2},
	} {
		got := list("flow_id=" + f.Id + "&" + query)
		require.Equal(t, want, ids(got), query)
	}
	p := list("flow_id=" + f.Id + "&filter=re-pathed").Paths[0]
	require.EqualValues(t, 2, p.RePaths)
	require.Len(t, p.SourcePorts, 3)
	require.Equal(t, []int{64209, 64750, 58655}, []int{p.SourcePorts[0].Port, p.SourcePorts[1].Port, p.SourcePorts[2].Port})
	require.Positive(t, p.Probes)
	require.Equal(t, api.PathStateFailed, p.State, "its PROBEs were not answered")
	require.NotNil(t, p.FirstProbeTime)
	moved, g := s.metaRoCE(t, "metaroce/re-path.pcap")
	var back api.PathList
	s.get(t, "/captures/"+moved.Id.String()+"/paths?flow_id="+g.Id+"&filter=recovered").into(t, &back)
	require.Equal(t, []int{1}, ids(back), "a PROBE was answered")

	for _, wrong := range []string{"filter=colour", "sort=colour", "flow_id=99999999999999999999"} {
		s.get(t, "/captures/"+c.Id.String()+"/paths?"+wrong).problem(t, http.StatusBadRequest)
		s.get(t, "/captures/"+c.Id.String()+"/streams?"+wrong).problem(t, http.StatusBadRequest)
	}
	require.Contains(t, *s.get(t, "/captures/"+c.Id.String()+"/paths?both_directions=true&flow_id=7").problem(t, http.StatusNotFound).Detail, "no flow 7")
	require.Empty(t, list("flow_id=7").Paths)
}

func TestStreamsAreSortedAndFiltered(t *testing.T) {
	s := web(t)
	c, f := s.metaRoCE(t, "metaroce-spray.pcap")
	list := func(query string) api.StreamList {
		var out api.StreamList
		s.get(t, "/captures/"+c.Id.String()+"/streams?flow_id="+f.Id+"&"+query).into(t, &out)
		return out
	}
	require.Equal(t, 7, list("sort=latency_p99&order=desc").Streams[0].StreamId)
	incomplete := list("filter=incomplete")
	require.EqualValues(t, 1, incomplete.Total)
	require.Equal(t, 7, incomplete.Streams[0].StreamId)
	require.Equal(t, 0, list("filter=0").Streams[0].StreamId)
	require.EqualValues(t, 2, list("filter=10.20.0.1").Total)
}

func TestPathOverTimeIsWhatThePathIs(t *testing.T) {
	s := web(t)
	for _, name := range []string{"metaroce-spray.pcap", "metaroce/path-failure.pcap", "metaroce/duplicate.pcap"} {
		c, f := s.metaRoCE(t, name)
		var paths api.PathList
		s.get(t, "/captures/"+c.Id.String()+"/paths?flow_id="+f.Id).into(t, &paths)
		for i := range paths.Paths {
			p := &paths.Paths[i]
			var series api.PathSeries
			s.get(t, fmt.Sprintf("/captures/%s/flows/%s/paths/%d/series?buckets=50", c.Id, f.Id, p.PathId)).into(t, &series)
			require.LessOrEqual(t, len(series.StartNs), 51)
			require.Equal(t, p.Packets, sum(series.Packets), "packets of path %d of %s", p.PathId, name)
			require.Equal(t, p.Bytes, sum(series.Bytes))
			require.Equal(t, p.Retransmitted, sum(series.Retransmitted))
			require.Equal(t, p.CeMarked, sum(series.Ce))
			require.Equal(t, *p.Acks, sum(series.Acks))
			require.Equal(t, p.RateHint.LastMbps, last(series.RateHintMbps))
			require.Equal(t, p.Rtt.MinNs, least(series.RttMinNs))
			require.LessOrEqual(t, *least(series.InFlight), *p.InFlightMax)
		}
	}
	c, f := s.metaRoCE(t, "metaroce-spray.pcap")
	var none api.PathSeries
	s.get(t, "/captures/"+c.Id.String()+"/flows/"+f.Id+"/paths/200/series").into(t, &none)
	require.Equal(t, "0", none.BucketNs)
	require.Empty(t, none.StartNs)
	s.get(t, "/captures/"+c.Id.String()+"/flows/7/paths/0/series").problem(t, http.StatusNotFound)
	s.get(t, "/captures/"+c.Id.String()+"/flows/"+f.Id+"/paths/256/series").problem(t, http.StatusBadRequest)
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

func last(list []*int64) (out *int64) {
	for _, v := range list {
		if v != nil {
			out = v
		}
	}
	return out
}

func least(list []*int64) (out *int64) {
	for _, v := range list {
		if v != nil && (out == nil || *v < *out) {
			out = v
		}
	}
	return out
}

func TestPacketsOfMetaRoCESayWhatTheyAre(t *testing.T) {
	s := web(t)
	c, _ := s.metaRoCE(t, "metaroce/nak.pcap")
	var list api.PacketList
	s.get(t, "/captures/"+c.Id.String()+"/packets?only=rnr").into(t, &list)
	require.Len(t, list.Packets, 16)
	require.Equal(t, "NAK", *list.Packets[0].Metaroce.Type)
	require.NotNil(t, list.Packets[0].Metaroce.RefusedPsn)
	require.NotNil(t, list.Packets[0].Metaroce.StreamId)
	require.Nil(t, list.Packets[0].Metaroce.CumulativePsn)

	// What the database has is what the field tree has.
	rows := s.sql(t, "SELECT packet_type, count(), countIf(path_id IS NULL), countIf(psn IS NULL), countIf(msn IS NULL), countIf(opcode IS NOT NULL) FROM packets WHERE capture_id = '"+
		c.Id.String()+"' GROUP BY packet_type ORDER BY packet_type")
	for _, row := range rows {
		switch row[0] {
		case "WRITE", "SEND", "READ_REQ", "READ_RESP", "ATOMIC_REQ", "ATOMIC_RESP":
			require.Equal(t, []any{0., 0., 0., 0.}, row[2:], "%v", row)
		case "ACK":
			require.Equal(t, []any{0., row[1], row[1], 0.}, row[2:], "%v", row)
		}
	}
	spray, f := s.metaRoCE(t, "metaroce-spray.pcap")
	in := "capture_id = '" + spray.Id.String() + "'"
	require.Equal(t, [][]any{{float64(f.Packets + 101)}}, s.sql(t, "SELECT count() FROM packets WHERE packet_type != '' AND "+in))
	require.Equal(t, [][]any{{0.}}, s.sql(t, `SELECT count() FROM packets WHERE packet_type = 'ACK' AND length(sack.first) != length(sack.last) AND `+in))
	got := s.sql(t, "SELECT number, cumulative_psn, arrayStringConcat(arrayMap((a, b) -> a = b ? toString(a) : concat(toString(a), '-', toString(b)), sack.first, sack.last), ', ') FROM packets WHERE notEmpty(sack.first) AND "+in+" ORDER BY number LIMIT 1")
	require.Len(t, got, 1)
	var detail api.PacketDetail
	s.get(t, fmt.Sprintf("/captures/%s/packets/%d", spray.Id, int64(got[0][0].(float64)))).into(t, &detail)
	require.Equal(t, got[0][2], *detail.Summary.Metaroce.Sack)
	text, err := json.Marshal(detail.Tree)
	require.NoError(t, err)
	require.Contains(t, string(text), ": "+*detail.Summary.Metaroce.Sack)
	require.Contains(t, string(text), "MetaRoCE, profile mr0")
}
