package store

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
)

// Surroundings are the packets that prove something with those of the connection around them, in the order of the capture.
type Surroundings struct {
	Packets []Packet
	Gaps    []Gap
}

// Gap is a run of packets of the connection that was left out between two that are shown.
type Gap struct {
	After   uint64 // number of the packet before it
	Packets uint64 // of the connection, above 0
}

// ConnectionFlows lists the flows of a connection, the one with the smaller ID first. It is empty when the capture has none.
func (s *Store) ConnectionFlows(ctx context.Context, capture uuid.UUID, connection finding.ConnectionID) (flows []Flow, err error) {
	id := strconv.FormatUint(uint64(connection), 10)
	var ids []uint64
	err = s.conn.QueryRow(ctx, "SELECT arraySort(groupUniqArray(t.flow_id)) FROM "+s.table(flowsTable)+" AS t WHERE t.capture_id = {capture:UUID} AND (t.connection_id = "+
		id+" OR t.flow_id = "+id+" OR t.reverse_flow_id = "+id+")", clickhouse.Named("capture", capture.String())).Scan(&ids)
	if err != nil {
		return nil, fmt.Errorf("find the flows of a connection: %w", err)
	}
	for _, id := range ids[:min(len(ids), 2)] {
		one, err := s.Flow(ctx, capture, flow.ID(id))
		if err != nil {
			return nil, err
		}
		flows = append(flows, one)
	}
	return flows, nil
}

// Surroundings returns the packets of these numbers, and up to around packets of the flows before and after each.
func (s *Store) Surroundings(ctx context.Context, capture uuid.UUID, flows []Flow, numbers []uint64, around int) (Surroundings, error) {
	capturing := clickhouse.Named("capture", capture.String())
	inConnection := flowsIn(flows)
	shown, windows, err := s.windows(ctx, inConnection, capturing, numbers, around)
	if err != nil || len(shown) == 0 {
		return Surroundings{}, err
	}
	out := Surroundings{}
	if out.Packets, err = s.selectPackets(ctx, "t.capture_id = {capture:UUID} AND t.number IN ("+joined(shown)+") ORDER BY t.number", capturing); err != nil {
		return out, err
	}
	var counts []string
	for i := 1; i < len(windows); i++ {
		if before, next := windows[i-1][1], windows[i][0]; next > before+1 {
			counts = append(counts, fmt.Sprintf("countIf(t.number > %d AND t.number < %d)", before, next))
			out.Gaps = append(out.Gaps, Gap{After: before})
		}
	}
	if len(counts) == 0 {
		return out, nil
	}
	var found []uint64
	err = s.conn.QueryRow(ctx, "SELECT ["+strings.Join(counts, ", ")+"] FROM "+s.table(packetsTable)+" AS t WHERE t.capture_id = {capture:UUID} AND "+inConnection+
		fmt.Sprintf(" AND t.number BETWEEN %d AND %d", shown[0], shown[len(shown)-1]), capturing).Scan(&found)
	if err != nil {
		return out, fmt.Errorf("count what is left out: %w", err)
	}
	for i := range out.Gaps {
		out.Gaps[i].Packets = found[i]
	}
	out.Gaps = slices.DeleteFunc(out.Gaps, func(g Gap) bool { return g.Packets == 0 })
	return out, nil
}

// windows finds what is shown around each of the numbers: all numbers ascending, each once, and the runs between which
// something may have been left out.
func (s *Store) windows(ctx context.Context, inConnection string, capturing any, numbers []uint64, around int) (shown []uint64, windows [][2]uint64, err error) {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for _, number := range numbers {
		n, limit := strconv.FormatUint(number, 10), strconv.Itoa(around)
		from := "FROM " + s.table(packetsTable) + " AS t WHERE t.capture_id = {capture:UUID} AND " + inConnection
		var beside []uint64
		err := s.conn.QueryRow(ctx, "SELECT groupArray(number) FROM (SELECT * FROM (SELECT t.number AS number "+from+" AND t.number < "+n+" ORDER BY t.number DESC LIMIT "+limit+
			") UNION ALL SELECT * FROM (SELECT t.number AS number "+from+" AND t.number > "+n+" ORDER BY t.number LIMIT "+limit+"))", capturing).Scan(&beside)
		if err != nil {
			return nil, nil, fmt.Errorf("find the packets around packet %d: %w", number, err)
		}
		beside = append(beside, number)
		window := [2]uint64{slices.Min(beside), slices.Max(beside)}
		if last := len(windows) - 1; last >= 0 && window[0] <= windows[last][1] {
			windows[last][1] = max(windows[last][1], window[1])
		} else {
			windows = append(windows, window)
		}
		shown = append(shown, beside...)
	}
	slices.Sort(shown)
	return slices.Compact(shown), windows, nil
}

// flowsIn is the condition that a packet is of one of the flows.
func flowsIn(flows []Flow) string {
	if len(flows) == 0 {
		return "0"
	}
	ids := make([]uint64, 0, len(flows))
	for i := range flows {
		ids = append(ids, uint64(flows[i].ID))
	}
	return "t.flow_id IN (" + joined(ids) + ")"
}

func joined(numbers []uint64) string {
	texts := make([]string, 0, len(numbers))
	for _, n := range numbers {
		texts = append(texts, strconv.FormatUint(n, 10))
	}
	return strings.Join(texts, ", ")
}

// Vantage is where a connection was captured.
type Vantage struct {
	Place     string // unknown, near the requester, between the two, near the responder
	Requester net.IP // who sends more of the requests
}

// Vantage reads where a connection was captured; its Place is unknown when it was not replayed.
func (s *Store) Vantage(ctx context.Context, capture uuid.UUID, connection finding.ConnectionID) (Vantage, error) {
	var out struct {
		Place  string   `ch:"place"`
		Sender []net.IP `ch:"sender"`
	}
	err := s.conn.QueryRow(ctx, "SELECT toString(any(t.vantage)) AS place, arrayReverseSort(x -> x.1, groupArray((t.packets, t.sender))).2 AS sender FROM "+s.table(replaysTable)+
		" AS t WHERE t.capture_id = {capture:UUID} AND t.connection_id = "+strconv.FormatUint(uint64(connection), 10),
		clickhouse.Named("capture", capture.String())).ScanStruct(&out)
	if err != nil {
		return Vantage{}, fmt.Errorf("read the vantage of a connection: %w", err)
	}
	if len(out.Sender) == 0 {
		return Vantage{Place: finding.VantageUnknown.String()}, nil
	}
	return Vantage{Place: out.Place, Requester: out.Sender[0]}, nil
}
