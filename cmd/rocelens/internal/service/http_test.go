package service_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store/shipping"
)

func TestHealthAndService(t *testing.T) {
	s := web(t)
	require.JSONEq(t, `{"status":"ok"}`, string(s.get(t, "/healthz").body))
	var about api.Service
	s.get(t, "/service").into(t, &about)
	require.True(t, about.Embedded)
	require.True(t, about.QueryEnabled, "%v", about.QueryDisabledReason)
	require.Equal(t, "v0.0.0-test", about.Version)
	require.NotEmpty(t, about.ClickhouseVersion)
	require.Positive(t, about.DiskFreeBytes)
	require.EqualValues(t, 64<<20, *about.MaxUploadBytes)
}

func TestProblems(t *testing.T) {
	s := web(t)
	const nobody = "00000000-0000-4000-8000-000000000000"
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		detail                   string
	}{
		{"no such route", "GET", "/api/v1/nothing", "", nil, 404, "/api/docs lists what there is"},
		{"no such route below the API", "GET", "/api/nothing", "", nil, 404, "Nothing is at /api/nothing"},
		{"no such method", "PUT", "/api/v1/captures", "", nil, 405, "PUT is not possible here"},
		{"page cannot be posted to", "POST", "/captures", "", nil, 405, "POST is not possible here"},
		{"no such capture", "GET", "/api/v1/captures/" + nobody, "", nil, 404, "There is no capture " + nobody},
		{"cancel of no capture", "POST", "/api/v1/captures/" + nobody + "/cancel", "", nil, 404, "There is no capture"},
		{"no id", "GET", "/api/v1/captures/7", "", nil, 400, `Parameter "capture_id"`},
		{"limit too high", "GET", "/api/v1/captures?limit=501", "", nil, 400, `Parameter "limit"`},
		{"limit is no number", "GET", "/api/v1/captures?limit=many", "", nil, 400, `Parameter "limit"`},
		{"misspelt parameter", "GET", "/api/v1/captures?limits=5", "", nil, 400, `There is no parameter "limits" here; there are cursor, limit.`},
		{"unknown order", "GET", "/api/v1/captures/" + nobody + "/flows?sort=colour", "", nil, 400, `Parameter "sort": value must be one of 'connection'`},
		{"flow id too large", "GET", "/api/v1/captures/" + nobody + "/flows/x", "", nil, 400, `Parameter "flow_id"`},
		{"packet zero", "GET", "/api/v1/captures/" + nobody + "/packets/0", "", nil, 400, `Parameter "number"`},
		{"name is missing", "POST", "/api/v1/captures", "x", []string{"Content-Type", "application/octet-stream"}, 400, `Parameter "name"`},
		{"query is no JSON", "POST", "/api/v1/query", "SELECT 1", []string{"Content-Type", "application/json"}, 400, "The body"},
		{"query of another type", "POST", "/api/v1/query", "SELECT 1", []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"query without sql", "POST", "/api/v1/query", `{"format":"csv"}`, []string{"Content-Type", "application/json"}, 400, "sql"},
		{"query of blanks", "POST", "/api/v1/query", `{"sql":"  "}`, []string{"Content-Type", "application/json"}, 400, "empty"},
		{"query without a body", "POST", "/api/v1/query", "", []string{"Content-Type", "application/json"}, 400, "The body"},
		{"body too large", "POST", "/api/v1/query", `{"sql":"` + strings.Repeat("x", 2<<20) + `"}`, []string{"Content-Type", "application/json"}, 413, "larger than 1 MiB"},
		{"foreign host", "GET", "/api/v1/captures", "", []string{"Host", "evil.example"}, 421, "--allow-host evil.example"},
		{"cross-site write by fetch metadata", "POST", "/api/v1/query", `{"sql":"SELECT 1"}`, []string{"Content-Type", "application/json", "Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"cross-site write by origin", "DELETE", "/api/v1/captures/" + nobody, "", []string{"Origin", "https://evil.example"}, 403, "another site"},
		{"cross-site upload", "POST", "/api/v1/uploads/", "", []string{"Origin", "https://evil.example", "Tus-Resumable", "1.0.0", "Upload-Length", "1"}, 403, "another site"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var body io.Reader
			if tc.body != "" {
				body = strings.NewReader(tc.body)
			}
			p := s.do(t, tc.method, tc.path, body, tc.header...).problem(t, tc.status)
			require.Contains(t, *p.Detail, tc.detail)
			require.NotContains(t, *p.Detail, "\n")
		})
	}
	allowed := s.do(t, http.MethodPut, "/api/v1/captures", nil).header.Get("Allow")
	require.Contains(t, allowed, "GET")
	require.Contains(t, allowed, "POST")
}

func TestSameSiteWritesAreTaken(t *testing.T) {
	s := web(t)
	got := s.do(t, http.MethodPost, "/api/v1/query", strings.NewReader(`{"sql":"SELECT 1"}`),
		"Content-Type", "application/json", "Sec-Fetch-Site", "same-origin", "Origin", s.base)
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
}

func TestPagesAndTheirHeaders(t *testing.T) {
	s := web(t)
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/api/docs": "text/html; charset=utf-8",
		"/api/openapi.yaml": "application/yaml", "/api/openapi.json": "application/json",
	} {
		got := s.do(t, http.MethodGet, path, nil, "Accept", "text/html, */*")
		require.Equal(t, http.StatusOK, got.status, path)
		require.Equal(t, contentType, got.header.Get("Content-Type"), path)
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"), path)
		require.Contains(t, got.header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
	}
	zipped := s.do(t, http.MethodGet, "/api/openapi.yaml", nil, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", zipped.header.Get("Content-Encoding"))
	require.Less(t, len(zipped.body), len(api.YAML)/2)
}

func TestMetrics(t *testing.T) {
	s := web(t)
	s.get(t, "/captures")
	content, _ := generated(t, 100)
	c, _ := s.upload(t, "metrics.pcap", content)
	s.analysed(t, c.Id)
	text := string(s.do(t, http.MethodGet, "/metrics", nil).body)
	for _, line := range []string{
		`rocelens_http_requests_total{code="200",method="GET",route="/api/v1/captures"}`,
		`rocelens_captures{status="done"}`, "rocelens_analyses_total{status=", "rocelens_analyzed_packets_total", "rocelens_upload_bytes_total",
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, c.Id.String(), "no series of its own for each capture")
}

func TestQueries(t *testing.T) {
	s := web(t)
	content, _ := generated(t, 2000)
	c, _ := s.upload(t, "queries.pcap", content)
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)

	var result api.QueryResult
	s.query(t, map[string]any{"sql": "SELECT number AS n, toString(number) AS s, NULL AS nothing FROM numbers(5)", "max_rows": 3}).into(t, &result)
	require.Equal(t, 3, result.RowCount)
	require.True(t, result.Truncated)
	require.Len(t, result.Columns, 3)
	require.Equal(t, "n", result.Columns[0].Name)
	require.Equal(t, "UInt64", result.Columns[0].Type)
	require.Equal(t, "2", result.Rows[2][1])
	require.Nil(t, result.Rows[0][2])

	csv := s.query(t, map[string]any{"sql": "SELECT 1 AS a, 'x,y' AS b", "format": "csv"})
	require.Equal(t, "text/csv", csv.header.Get("Content-Type"))
	require.Contains(t, csv.header.Get("Content-Disposition"), "attachment")
	require.Equal(t, "\"a\",\"b\"\n1,\"x,y\"\n", string(csv.body))
	lines := s.query(t, map[string]any{"sql": "SELECT 1 AS a, 'x' AS b", "format": "json"})
	require.Equal(t, "application/x-ndjson", lines.header.Get("Content-Type"))
	require.JSONEq(t, `{"a":1,"b":"x"}`, string(lines.body))

	var tables []api.Table
	s.get(t, "/schema").into(t, &tables)
	names := map[string]int{}
	for _, table := range tables {
		names[table.Name] = len(table.Columns)
		require.NotEmpty(t, table.Comment, table.Name)
	}
	for _, name := range []string{"captures", "flows", "packets", "paths", "streams", "divergences", "verdicts", "replays"} {
		require.Positive(t, names[name], name)
	}
}

func TestExampleQueriesRun(t *testing.T) {
	s := newFleet(t)
	agent := simulate("node7")
	span := shipping.AgentSpan{Agent: agent.id, Host: agent.host, Interface: "eth0", Start: agent.at.Add(-time.Second), End: agent.at}
	event := shipping.AgentTrigger{Event: uuid.New(), Time: span.Start, Kind: "signal", Sentence: "SIGUSR1"}
	s.ship(t, slices.Concat(agent.report(3, ""), repeatedNaks(t, span), []shipping.AgentBatch{event.Batch(span)})...)
	content, _ := generated(t, 3000)
	c, _ := s.upload(t, "examples.pcap", content)
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)
	for _, name := range []string{"sit-rnr.pcap", "sit-nak-all.pcap", "sit-icrc-bad.pcap", "base-cm-send-write-read.pcap", "sit-ecn-cnp.pcap", "pfc.pcap"} {
		c, _ := s.upload(t, name, fixture(t, name))
		s.analysed(t, c.Id)
	}
	for _, name := range metaRoCECaptures(t) {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		c, _ := s.upload(t, filepath.Base(name), content)
		s.analysed(t, c.Id)
	}
	// The newest capture is the one that is asked about, and it is to have everything.
	content, _ = generated(t, 3000)
	c, _ = s.upload(t, "newest.pcap", content)
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)

	var examples []api.QueryExample
	s.get(t, "/query/examples").into(t, &examples)
	require.Equal(t, server.QueryExamples(), examples)
	require.GreaterOrEqual(t, len(examples), 10)
	for _, example := range examples {
		t.Run(example.Title, func(t *testing.T) {
			require.NotEmpty(t, *example.Description)
			got := s.query(t, map[string]any{"sql": example.Sql})
			require.Equal(t, http.StatusOK, got.status, "%s", got.body)
			var result api.QueryResult
			got.into(t, &result)
			require.NotEmpty(t, result.Rows, "an example shows something")
		})
	}
}

func TestQueriesThatTheDatabaseRefuses(t *testing.T) {
	s := web(t)
	content, truth := generated(t, 200)
	c, _ := s.upload(t, "refused.pcap", content)
	s.analysed(t, c.Id)
	for _, tc := range []struct {
		name, sql string
		status    int
		code      int
		detail    string
	}{
		{"syntax", "SELEC 1", 400, 62, "Syntax error"},
		{"unknown table", "SELECT * FROM nothing", 400, 60, "nothing"},
		{"drop", "DROP TABLE packets", 403, 0, ""},
		{"insert", "INSERT INTO captures (id) VALUES (generateUUIDv4())", 403, 0, ""},
		{"truncate", "TRUNCATE TABLE flows", 403, 0, ""},
		{"alter", "ALTER TABLE flows DELETE WHERE 1", 403, 0, ""},
		{"create", "CREATE TABLE t (a UInt8) ENGINE = Memory", 403, 0, ""},
		{"file", "SELECT * FROM file('/etc/passwd', 'LineAsString')", 403, 0, ""},
		{"url", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", 403, 0, ""},
		{"another server", "SELECT * FROM remote('127.0.0.2:9000', system.one)", 403, 0, ""},
		{"raised limit", "SELECT 1 SETTINGS max_execution_time = 100000", 400, 452, ""},
		{"two statements", "SELECT 1; SELECT 2", 400, 62, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, format := range []string{"result", "csv"} {
				p := s.query(t, map[string]any{"sql": tc.sql, "format": format}).problem(t, tc.status)
				require.NotNil(t, p.Code)
				if tc.code != 0 {
					require.Equal(t, tc.code, *p.Code)
				}
				require.Contains(t, *p.Detail, tc.detail)
				require.NotContains(t, *p.Detail, "Stack trace")
			}
		})
	}
	require.Equal(t, [][]any{{float64(truth.Packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets WHERE capture_id = '"+c.Id.String()+"'"))
}

// TestReplayByAPI: the rules and divergences of an upload are those that the command line finds.
func TestReplayByAPI(t *testing.T) {
	s := web(t)
	c, _ := s.upload(t, "sit-nak-all.pcap", fixture(t, "sit-nak-all.pcap"))
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)
	base := "/captures/" + c.Id.String()
	var rules api.RuleList
	s.get(t, base+"/rules").into(t, &rules)
	require.NotEmpty(t, rules.Rules)
	first := rules.Rules[0]
	require.Equal(t, "roce.syndrome", first.Rule)
	require.Equal(t, []int64{3, 0, 6, 1, 1}, []int64{first.Diverges, first.Undetermined, *first.Conforms, first.Connections, first.DivergingConnections})
	require.Equal(t, api.SeverityError, first.Severity)

	var found api.DivergenceList
	s.get(t, base+"/divergences?verdict=diverges&limit=2").into(t, &found)
	require.EqualValues(t, 3, found.Total)
	require.Len(t, found.Divergences, 2)
	require.Equal(t, []int64{7}, found.Divergences[0].Packets)
	require.Equal(t, "10.0.0.2", found.Divergences[0].Address)
	require.Contains(t, found.Divergences[0].Sentence, "0x7f")
	s.get(t, base+"/divergences?rule=roce.icrc").into(t, &found)
	require.Zero(t, found.Total)
	s.get(t, base+"/divergences?connection_id=1").into(t, &found)
	require.Zero(t, found.Total)
	require.Equal(t, http.StatusBadRequest, s.get(t, base+"/divergences?rule=roce.none").status)
	require.Equal(t, http.StatusBadRequest, s.get(t, base+"/divergences?connection_id=99999999999999999999").status)
	require.Equal(t, http.StatusNotFound, s.get(t, "/captures/00000000-0000-4000-8000-000000000000/rules").status)
}

// TestReplayOfAFlowByAPI: where a connection was captured, where its packets were lost, how long it took, and how it behaves.
func TestReplayOfAFlowByAPI(t *testing.T) {
	s := web(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "allreduce-loss.pcapng"))
	require.NoError(t, err)
	c, _ := s.upload(t, "allreduce-loss.pcapng", data)
	require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)
	base := "/captures/" + c.Id.String() + "/flows"
	var flows api.FlowList
	s.get(t, base).into(t, &flows)
	lossy := slices.IndexFunc(flows.Flows, func(f api.Flow) bool { return f.Source == "10.16.0.3" && f.DestinationQp == 261 })
	require.GreaterOrEqual(t, lossy, 0)
	var got api.Replay
	s.get(t, base+"/"+flows.Flows[lossy].Id+"/replay").into(t, &got)
	require.Equal(t, api.Verdict("conforms"), got.Verdict)
	require.Equal(t, api.VantageBetweenTheTwo, got.Vantage)
	require.Equal(t, "10.16.0.3: go-back-N (3 of 3 times after a NAK)", got.Properties["retransmission"])
	require.Len(t, got.Directions, 2)
	data0, answers := got.Directions[0], got.Directions[1]
	require.Equal(t, "10.16.0.3", data0.Sender.Address)
	require.EqualValues(t, 140, data0.Packets)
	require.Equal(t, []int64{3, 0, 0, 0}, []int64{data0.LostBefore, data0.LostAfter, data0.ResentUnknown, data0.Missed})
	require.EqualValues(t, 2155, data0.ToReceiver.MinNs)
	require.NotNil(t, data0.Waits)
	require.Zero(t, data0.Waits.Timers)
	require.Positive(t, data0.Waits.LastingNs)
	require.Nil(t, answers.MissedShare, "of answers it is not known")
	require.Nil(t, answers.ToReceiver)
	require.Nil(t, answers.Waits)

	require.Equal(t, http.StatusNotFound, s.get(t, base+"/1/replay").status)
	require.Equal(t, http.StatusBadRequest, s.get(t, base+"/99999999999999999999/replay").status)
}
