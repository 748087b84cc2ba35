package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/access"
)

func TestValuesAreReadyForJSON(t *testing.T) {
	s := open(t, "rocelens")
	for _, test := range []struct{ expression, want string }{
		{"NULL", `null`},
		{"toUInt64(9007199254740991)", `9007199254740991`},
		{"toUInt64(18446744073709551615)", `"18446744073709551615"`},
		{"toInt64(-9223372036854775808)", `"-9223372036854775808"`},
		{"toUInt128('340282366920938463463374607431768211455')", `"340282366920938463463374607431768211455"`},
		{"toInt8(-5)", `-5`},
		{"true", `true`},
		{"toFloat64(1.5)", `1.5`},
		{"toFloat64('nan')", `"NaN"`},
		{"toFloat32(0.1)", `0.1`},
		{"toDecimal64('12.340', 3)", `"12.34"`},
		{"'text'", `"text"`},
		{"unhex('ff')", `"�"`},
		{"toLowCardinality('x')", `"x"`},
		{"toIPv6('::ffff:192.0.2.1')", `"192.0.2.1"`},
		{"toIPv6('2001:db8::1')", `"2001:db8::1"`},
		{"toIPv4('192.0.2.1')", `"192.0.2.1"`},
		{"[toIPv6('::ffff:192.0.2.1')]", `["192.0.2.1"]`},
		{"toDateTime64('2026-01-02 03:04:05.123456789', 9, 'UTC')", `"2026-01-02T03:04:05.123456789Z"`},
		{"toDateTime('2026-01-02 03:04:05', 'UTC')", `"2026-01-02T03:04:05Z"`},
		{"toDate('2026-01-02')", `"2026-01-02"`},
		{"[toUInt8(1), 2]", `[1,2]`},
		{"[[toUInt64(18446744073709551615)], []]", `[["18446744073709551615"],[]]`},
		{"map('a', toUInt64(18446744073709551615))", `{"a":"18446744073709551615"}`},
		{"tuple(1, 'a', NULL)", `[1,"a",null]`},
		{"toUUID('00000000-0000-0000-0000-000000000001')", `"00000000-0000-0000-0000-000000000001"`},
		{"CAST('CE', 'Enum8(\\'CE\\' = 3)')", `"CE"`},
		{"toNullable(toIPv6('::1'))", `"::1"`},
	} {
		result, err := s.Query(t.Context(), "SELECT "+test.expression+" AS v", 10)
		if err != nil {
			t.Errorf("%s: %v", test.expression, err)
			continue
		}
		got, err := json.Marshal(result.Rows[0][0])
		if err != nil || string(got) != test.want {
			t.Errorf("%s = %s, %v, want %s", test.expression, got, err, test.want)
		}
		if result.Columns[0].Name != "v" || result.Columns[0].Type == "" {
			t.Errorf("%s: column = %v", test.expression, result.Columns[0])
		}
	}
}

func TestQueryIsCutAndCounted(t *testing.T) {
	s := open(t, "rocelens")
	result, err := s.Query(t.Context(), "SELECT number FROM numbers(1000000)", 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]any{{uint64(0)}, {uint64(1)}, {uint64(2)}}, result.Rows); diff != "" || !result.Truncated {
		t.Errorf("rows (-want +got):\n%s truncated %t", diff, result.Truncated)
	}
	result, err = s.Query(t.Context(), "SELECT sum(number) FROM numbers(1000000)", 1)
	if err != nil {
		t.Fatal(err)
	}
	if result.Truncated || result.RowsRead != 1_000_000 || result.BytesRead != 8_000_000 || result.Elapsed <= 0 {
		t.Errorf("result = %+v", result)
	}
	result, err = s.Query(t.Context(), "SELECT number FROM numbers(0) FORMAT CSV", 3)
	if err != nil || len(result.Rows) != 0 || len(result.Columns) != 1 {
		t.Errorf("empty result = %+v, %v", result, err)
	}
}

func TestRefusalsComeInTheDatabasesWords(t *testing.T) {
	s := open(t, "rocelens")
	for _, test := range []struct {
		statement string
		code      int
		name      string
		part      string
	}{
		{"SELEC 1", 62, "SYNTAX_ERROR", "Syntax error"},
		{"SELECT nothing FROM packets", 47, "UNKNOWN_IDENTIFIER", "nothing"},
		{"DROP TABLE packets", 497, "ACCESS_DENIED", "Not enough privileges"},
		{"INSERT INTO packets (number) VALUES (1)", 497, "ACCESS_DENIED", "Not enough privileges"},
		{"SELECT * FROM system.users", 497, "ACCESS_DENIED", "SELECT ON system.users"},
		{"SELECT * FROM rocelens_staging.packets", 497, "ACCESS_DENIED", "rocelens_staging"},
		{"SELECT file('/etc/passwd')", 1001, "STD_EXCEPTION", "gives SQL no files"},
		{"SELECT 1 SETTINGS max_execution_time = 0", 452, "SETTING_CONSTRAINT_VIOLATION", "max_execution_time"},
		{"SELECT 1; SELECT 2", 62, "SYNTAX_ERROR", "Multi-statements"},
		{"SELECT sleepEachRow(3) FROM numbers(100) SETTINGS max_execution_time = 1, max_block_size = 1", 159, "TIMEOUT_EXCEEDED", "imeout exceeded"},
	} {
		var refusal *store.QueryError
		_, err := s.Query(t.Context(), test.statement, 10)
		if !errors.As(err, &refusal) || refusal.Code != test.code || refusal.Name != test.name || !strings.Contains(refusal.Message, test.part) {
			t.Errorf("%s: %#v, want %d %s with %q", test.statement, err, test.code, test.name, test.part)
		}
		_, err = s.Download(t.Context(), test.statement, store.FormatCSV)
		if !errors.As(err, &refusal) || refusal.Code != test.code || refusal.Name != test.name || !strings.Contains(refusal.Message, test.part) {
			t.Errorf("download of %s: %#v, want %d %s with %q", test.statement, err, test.code, test.name, test.part)
		}
	}
}

func TestWhatAQueryChangesOfItsSessionIsGone(t *testing.T) {
	s := open(t, "rocelens")
	if _, err := s.Query(t.Context(), "SET max_result_rows = 1", 1); err != nil {
		t.Fatal(err)
	}
	result, err := s.Query(t.Context(), "SELECT number FROM numbers(5)", 10)
	if err != nil || len(result.Rows) != 5 {
		t.Errorf("rows = %d, %v, want 5", len(result.Rows), err)
	}
}

func TestACancelledQueryIsKilled(t *testing.T) {
	s := open(t, "rocelens")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Query(ctx, "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number), 'to be cancelled')", 1)
		ended <- err
	}()
	const running = "SELECT count() FROM system.processes WHERE query LIKE '%to be cancelled%' AND user = 'reader'"
	await(t, running, "1")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Query = %v, want context.Canceled", err)
	}
	await(t, running, "0")

	ctx, cancel = context.WithCancel(t.Context())
	download, err := s.Download(ctx, "SELECT number, 'to be cancelled' FROM numbers(1000000000000)", store.FormatCSV)
	if err != nil {
		t.Fatal(err)
	}
	await(t, running, "1")
	cancel()
	if _, err := io.Copy(io.Discard, download.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on = %v, want context.Canceled", err)
	}
	if err := download.Body.Close(); err != nil {
		t.Error(err)
	}
	await(t, running, "0")
}

// await asks until the answer is the one that is wanted, or the test's time is over.
func await(t *testing.T, query, want string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for got := ""; got != want; {
		select {
		case <-t.Context().Done():
			t.Fatalf("%s = %s, want %s", query, got, want)
		case <-ticker.C:
			got = ask(t, query)
		}
	}
}

func TestDownloads(t *testing.T) {
	s := open(t, "rocelens")
	const statement = "SELECT number AS n, toDateTime64('2026-01-02 03:04:05.5', 9, 'UTC') AS t FROM numbers(2)"
	for format, want := range map[store.Format]string{
		store.FormatCSV:       "\"n\",\"t\"\n0,\"2026-01-02T03:04:05.500000000Z\"\n1,\"2026-01-02T03:04:05.500000000Z\"\n",
		store.FormatJSONLines: "{\"n\":0,\"t\":\"2026-01-02T03:04:05.500000000Z\"}\n{\"n\":1,\"t\":\"2026-01-02T03:04:05.500000000Z\"}\n",
	} {
		download, err := s.Download(t.Context(), statement, format)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(download.Body)
		if err = errors.Join(err, download.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if string(got) != want || download.ContentType == "" {
			t.Errorf("%s = %q as %q, want %q", format, got, download.ContentType, want)
		}
	}
}

func TestQueryIsDisabledWithAReason(t *testing.T) {
	c := config(t, "rocelens_disabled")
	c.QueryDisabled = "for a reason"
	wantDisabled(t, c, "for a reason")

	c = config(t, "rocelens_disabled")
	c.Reader = access.Account{} // the embedded database has no place to keep a user in
	wantDisabled(t, c, "SQL is switched off: this ClickHouse keeps no users but those of its configuration files")
}

func wantDisabled(t *testing.T, c store.Config, parts ...string) {
	t.Helper()
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var disabled *store.DisabledError
	if _, err := s.Query(t.Context(), "SELECT 1", 1); !errors.As(err, &disabled) {
		t.Fatalf("Query = %v, want that SQL is switched off", err)
	}
	for _, part := range parts {
		if !strings.Contains(disabled.Reason, part) || strings.Contains(disabled.Reason, "\n") {
			t.Errorf("reason = %s, want one line with %q", disabled.Reason, part)
		}
	}
	if _, err := s.Download(t.Context(), "SELECT 1", store.FormatCSV); !errors.As(err, &disabled) {
		t.Errorf("Download = %v", err)
	}
}

// eventful is an analysis in which something happens to each of a few packets.
func eventful(t *testing.T, s *store.Store) uuid.UUID {
	t.Helper()
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	packets := newStream(2)
	for i := range 100 {
		p, seen := packets.at(i)
		p.Meta.Time = start + int64(i)*int64(time.Millisecond)
		p.Network.ECN = dissector.ECNECT0
		var decodeErr error
		icrc := dissector.ICRCGood
		switch i {
		case 10:
			seen.Flags = flow.FlagRetransmitted | flow.FlagAfterNAK
		case 11:
			seen.Flags = flow.FlagOutOfOrder
		case 20:
			p.Network.ECN = dissector.ECNCE
		case 21:
			p.BTH.Opcode = infiniband.CNP
		case 22:
			icrc = dissector.ICRCBad
		case 23:
			decodeErr = dissector.ErrMalformed
		case 24:
			p.BTH.Opcode, p.Has, p.AETH.Syndrome = infiniband.RCAcknowledge, infiniband.HasBTH|infiniband.HasAETH, 0x60
		case 25:
			p.BTH.Opcode, p.Has, p.AETH.Syndrome = infiniband.RCAcknowledge, infiniband.HasBTH|infiniband.HasAETH, 0x20
		case 26:
			p.Protocol, decodeErr, seen = dissector.ProtocolOther, dissector.ErrNotRDMA, flow.Observation{}
			p.Has, p.LayerCount = 0, 0
		case 27:
			p.Protocol = dissector.ProtocolRoCEv2
			p.Meta.HasTime = false
		}
		if err := a.Packet(t.Context(), p, decodeErr, icrc, seen, -1); err != nil {
			t.Fatal(err)
		}
		if i == 26 {
			packets = newStream(2)
		}
	}
	first, second := fullFlow(), fullFlow()
	first.ID, first.ReverseID = 1, 0x9e3779b97f4a7c15+1
	second.ID, second.ReverseID = 0x9e3779b97f4a7c15+1, 1
	second.Key.Source, second.Key.Destination, second.Key.Service = v4a, v4b, infiniband.ServiceRC
	second.Key.DestinationQP, second.SourceQP = 17, flow.Count{}
	second.Application, second.MissingAcknowledged = mad.ApplicationUnknown, second.MissingPSNs
	second.Retransmitted, second.Naks, second.Bytes = flow.Count{}, [32]uint64{}, 5
	for _, r := range []flow.Record{first, second} {
		if err := a.Flow(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return capture
}

func numbers(packets []store.Packet) (numbers []uint64) {
	for i := range packets {
		numbers = append(numbers, packets[i].Number)
	}
	return numbers
}

func TestPacketsByFinding(t *testing.T) {
	s := open(t, "rocelens_findings")
	capture := eventful(t, s)
	for only, want := range map[string][]uint64{
		"retransmitted": {11}, "after_nak": {11}, "after_rnr": nil, "out_of_order": {12}, "ce": {21}, "cnp": {22}, "icrc_bad": {23},
		"malformed": {24}, "nak": {25}, "rnr": {26}, "not_rdma": {27},
	} {
		page, err := s.Packets(t.Context(), capture, store.PacketQuery{Only: only, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, numbers(page.Packets)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", only, diff)
		}
	}
	if _, err := s.Packets(t.Context(), capture, store.PacketQuery{Only: "nonsense", Limit: 10}); !errors.Is(err, store.ErrBadRequest) {
		t.Errorf("a finding of nonsense = %v, want ErrBadRequest", err)
	}
	if _, err := s.Packet(t.Context(), capture, 101); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("packet 101 = %v, want ErrNotFound", err)
	}
}

func TestPagesOfPackets(t *testing.T) {
	s := open(t, "rocelens_pages")
	capture := eventful(t, s)
	at := func(ms int64) *time.Time { return new(time.Unix(0, start+ms*int64(time.Millisecond))) }
	for _, test := range []struct {
		query         store.PacketQuery
		want          []uint64
		before, after bool
		total         uint64
	}{
		{store.PacketQuery{Limit: 2}, []uint64{1, 2}, false, true, 100},
		{store.PacketQuery{Limit: 2, After: 2}, []uint64{3, 4}, true, true, 100},
		{store.PacketQuery{Limit: 5, After: 98}, []uint64{99, 100}, true, false, 100},
		{store.PacketQuery{Limit: 2, Before: 4}, []uint64{2, 3}, true, true, 100},
		{store.PacketQuery{Limit: 2, Before: 3}, []uint64{1, 2}, false, true, 100},
		{store.PacketQuery{Limit: 2, Flow: 1}, []uint64{1, 3}, false, true, 49},
		{store.PacketQuery{Limit: 2, From: at(90)}, []uint64{91, 92}, false, true, 10},
		{store.PacketQuery{Limit: 3, From: at(26), To: at(30)}, []uint64{27, 29, 30}, false, false, 3}, // packet 28 has no time
		{store.PacketQuery{Limit: 9, To: at(3), After: 1}, []uint64{2, 3}, true, false, 3},
		{store.PacketQuery{Limit: 9, From: at(5), To: at(5)}, nil, false, false, 0},
		{store.PacketQuery{Limit: 3, Flow: 1, BothDirections: true, After: 1}, []uint64{2, 3, 4}, true, true, 99},
	} {
		page, err := s.Packets(t.Context(), capture, test.query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, numbers(page.Packets)); diff != "" || page.MoreBefore != test.before || page.MoreAfter != test.after || page.Total != test.total {
			t.Errorf("%+v (-want +got):\n%s before %t, after %t, total %d", test.query, diff, page.MoreBefore, page.MoreAfter, page.Total)
		}
	}
}

func TestFlowsAreFilteredAndSorted(t *testing.T) {
	s := open(t, "rocelens_filter")
	capture := eventful(t, s)
	const first, second = flow.ID(1), flow.ID(0x9e3779b97f4a7c15 + 1)
	for filter, want := range map[string][]flow.ID{
		"": {first, second}, "192.0.2.1": {second}, "192.0.": {second}, "192.0.2.0/24": {second}, "2001:db8::1": {first}, "2001:": {first},
		"2001:db8::/32": {first}, "17": {second}, "0x11": {second}, "0xabcdef": {first}, "RC": {second}, "ud": {first}, "rocev2": {first, second},
		"nak": {first}, "retransmitted": {first}, "RC nak": nil, "rc 192.0.2.2": {second}, "ce": {first, second}, "02:01:01:01:01:01": {first, second}, "nvme": {first}, "smb": nil, "lost": {first},
	} {
		page, err := s.Flows(t.Context(), capture, store.FlowQuery{Filter: filter, Limit: 10})
		if err != nil {
			t.Errorf("%q: %v", filter, err)
			continue
		}
		var got []flow.ID
		for _, f := range page.Flows {
			got = append(got, f.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" || page.Total != uint64(len(want)) {
			t.Errorf("%q (-want +got):\n%s total %d", filter, diff, page.Total)
		}
	}
	for _, sort := range []string{"bytes", "retransmitted", "throughput", "source", "duration", "destination_qp"} {
		for _, ascending := range []bool{false, true} {
			page, err := s.Flows(t.Context(), capture, store.FlowQuery{Sort: sort, Ascending: ascending, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			want := second
			if !ascending || sort == "retransmitted" { // unknown stands last either way
				want = first
			}
			if sort != "duration" && page.Flows[0].ID != want {
				t.Errorf("sorted by %s, ascending %t: %d stands first, want %d", sort, ascending, page.Flows[0].ID, want)
			}
		}
	}
	page, err := s.Flows(t.Context(), capture, store.FlowQuery{Limit: 1, Offset: 1})
	if err != nil || len(page.Flows) != 1 || page.Total != 2 {
		t.Errorf("second page = %+v, %v", page, err)
	}
	for _, query := range []store.FlowQuery{{Sort: "1; DROP", Limit: 1}, {Filter: "no'such", Limit: 1}} {
		if _, err := s.Flows(t.Context(), capture, query); !errors.Is(err, store.ErrBadRequest) {
			t.Errorf("%+v = %v, want ErrBadRequest", query, err)
		}
	}
	if _, err := s.Flow(t.Context(), capture, 99); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("flow 99 = %v, want ErrNotFound", err)
	}
}

// TestConnectionsStandTogether has four connections, two of them with both directions, and one flow more often than once.
func TestConnectionsStandTogether(t *testing.T) {
	s := open(t, "rocelens_filter")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []flow.Record{
		{ID: 10, ConnectionID: 10, Bytes: 100},
		{ID: 20, ConnectionID: 5, ReverseID: 5, Bytes: 90},
		{ID: 5, ConnectionID: 5, ReverseID: 20, Bytes: 20},
		{ID: 30, ConnectionID: 30, Bytes: 1},
		{ID: 40, ConnectionID: 7, ReverseID: 7, Bytes: 4},
		{ID: 7, ConnectionID: 7, ReverseID: 40, Bytes: 96},
		{ID: 30, ConnectionID: 30, Bytes: 2, FirstNumber: 9},
	} {
		if err := a.Flow(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		query store.FlowQuery
		want  []flow.ID
	}{
		{store.FlowQuery{Limit: 10}, []flow.ID{20, 5, 7, 40, 10, 30, 30}},
		{store.FlowQuery{Limit: 10, Ascending: true}, []flow.ID{30, 30, 7, 40, 10, 20, 5}},
		{store.FlowQuery{Limit: 2, Offset: 1}, []flow.ID{5, 7}},
	} {
		test.query.Sort = "connection"
		page, err := s.Flows(t.Context(), capture, test.query)
		if err != nil {
			t.Fatal(err)
		}
		var got []flow.ID
		for _, f := range page.Flows {
			got = append(got, f.ID)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || page.Total != 7 {
			t.Errorf("%+v (-want +got):\n%s total %d", test.query, diff, page.Total)
		}
	}
}

func TestThroughput(t *testing.T) {
	s := open(t, "rocelens_series")
	capture := eventful(t, s)
	series, err := s.Throughput(t.Context(), capture, store.ThroughputQuery{Buckets: 12})
	if err != nil {
		t.Fatal(err)
	}
	if series.Width != int64(10*time.Millisecond) || series.Start%series.Width != 0 || series.Start > start {
		t.Fatalf("start %d, width %d", series.Start, series.Width)
	}
	sum := func(column []uint64) (n uint64) {
		for _, v := range column {
			n += v
		}
		return n
	}
	got := []uint64{sum(series.Packets), sum(series.Bytes), sum(series.Retransmitted), sum(series.CE), sum(series.CNPs)}
	// One packet is not RDMA and one has no time.
	if diff := cmp.Diff([]uint64{98, 98 * 4174, 1, 1, 1}, got); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	one, err := s.Throughput(t.Context(), capture, store.ThroughputQuery{Flow: 1, Buckets: 12, From: new(time.Unix(0, start)), To: new(time.Unix(0, start+int64(20*time.Millisecond)))})
	if err != nil {
		t.Fatal(err)
	}
	if sum(one.Packets) != 10 || sum(one.Retransmitted) != 1 {
		t.Errorf("packets of one flow in 20 ms = %d, retransmitted %d, want 10 and 1", sum(one.Packets), sum(one.Retransmitted))
	}
	none, err := s.Throughput(t.Context(), uuid.New(), store.ThroughputQuery{Buckets: 12})
	if err != nil || len(none.Packets) != 0 || none.Width != 0 {
		t.Errorf("series of nothing = %+v, %v", none, err)
	}
}
