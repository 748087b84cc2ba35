package store

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/blocks"
)

// FlowQuery asks for flows of a capture.
type FlowQuery struct {
	Sort      string // a key of flowSorts; empty: bytes
	Ascending bool
	Filter    string // words that must all match
	Offset    int
	Limit     int
}

// FlowPage is a part of the list of flows.
type FlowPage struct {
	Flows []Flow
	Total uint64 // flows that match
}

// Flow is a row of the table flows.
type Flow struct {
	flow.Record
	ThroughputBPS *float64  // bits per second on the wire, nil without times or span
	MetaRoCE      *MetaRoCE // nil for other protocols; stands for the record's own, whose paths and streams are rows elsewhere
}

// MetaRoCE is what a flow of MetaRoCE has beside the fields of every flow; see [flow.MetaRoCERecord].
type MetaRoCE struct {
	Profile                              string
	Handshake                            string // unseen, requested, accepted, rejected
	RejectReason                         string // empty when it was not rejected
	DisconnectReason                     string // empty without a DISCONNECT in this direction
	Requests                             uint64
	AcceptTime                           flow.Count // ns
	PathCount, PlaneCount, MTU, LinkRate flow.Count
	InitialPSN, StreamCount, MaxWindow   flow.Count
	Paths, Streams                       uint64 // rows of the tables paths and streams
	UntrackedStreams, Probes             uint64 // packets
	RateHint                             flow.Hint
}

// sortConnection sorts connections by their bytes, both directions together.
const sortConnection = "connection"

// flowSorts maps what flows can be sorted by to the expression that does it. Unknown values stand last.
var flowSorts = map[string]string{
	"bytes": "bytes", "packets": "packets", "messages": "messages", "throughput": "throughput_bps",
	"first_time": "first_time", "last_time": "last_time", "duration": "duration_ns",
	"retransmitted": "retransmitted", "out_of_order": "out_of_order", "missing_psns": "missing_psns",
	"acks": "acks", "naks": "naks", "rnr_naks": "rnr_naks", "cnps": "cnps", "ce_marked": "ce_marked",
	"icrc_bad": "icrc_bad", "source": "source", "destination": "destination", "destination_qp": "destination_qp",
	"source_qp": "source_qp", "first_number": "first_number", "service": "service",
	sortConnection: "sum(t.bytes) OVER (PARTITION BY t.connection_id)",
}

// flowRow is a row of the table flows as clickhouse-go reads it.
type flowRow struct {
	ID               uint64            `ch:"flow_id"`
	Connection       uint64            `ch:"connection_id"`
	Reverse          *uint64           `ch:"reverse_flow_id"`
	Protocol         int8              `ch:"protocol"`
	Service          int8              `ch:"service"`
	Source           net.IP            `ch:"source"`
	Destination      net.IP            `ch:"destination"`
	SourceQP         *uint32           `ch:"source_qp"`
	DestinationQP    uint32            `ch:"destination_qp"`
	Pairing          int8              `ch:"pairing"`
	ServiceID        *uint64           `ch:"service_id"`
	Application      string            `ch:"application"`
	SourceMAC        string            `ch:"source_mac"`
	DestinationMAC   string            `ch:"destination_mac"`
	VLAN             *uint16           `ch:"vlan"`
	DSCP             *uint8            `ch:"dscp"`
	SourcePort       *uint16           `ch:"source_port"`
	SourcePorts      *uint64           `ch:"source_ports"`
	PortRewritten    *uint16           `ch:"port_rewritten_from"`
	Tunnel           string            `ch:"tunnel"`
	OuterSource      *net.IP           `ch:"outer_source"`
	OuterDestination *net.IP           `ch:"outer_destination"`
	FirstTime        *time.Time        `ch:"first_time"`
	LastTime         *time.Time        `ch:"last_time"`
	FirstNumber      uint64            `ch:"first_number"`
	LastNumber       uint64            `ch:"last_number"`
	Packets          uint64            `ch:"packets"`
	Bytes            uint64            `ch:"bytes"`
	PayloadBytes     uint64            `ch:"payload_bytes"`
	GoodputBytes     *uint64           `ch:"goodput_bytes"`
	Messages         *uint64           `ch:"messages"`
	Sends            uint64            `ch:"sends"`
	Writes           uint64            `ch:"writes"`
	ReadRequests     uint64            `ch:"read_requests"`
	Atomics          uint64            `ch:"atomics"`
	ReadResponses    uint64            `ch:"read_responses"`
	AtomicResponses  uint64            `ch:"atomic_responses"`
	AckPackets       uint64            `ch:"ack_packets"`
	Datagrams        uint64            `ch:"datagrams"`
	OtherOperations  uint64            `ch:"other_operations"`
	PathMTU          *uint32           `ch:"path_mtu"`
	FirstPSN         *uint32           `ch:"first_psn"`
	LastPSN          *uint32           `ch:"last_psn"`
	PSNGaps          *uint64           `ch:"psn_gaps"`
	MissingPSNs      *uint64           `ch:"missing_psns"`
	MissingAcked     *uint64           `ch:"missing_acknowledged"`
	Retransmitted    *uint64           `ch:"retransmitted"`
	AfterNAK         *uint64           `ch:"retransmitted_after_nak"`
	AfterRNR         *uint64           `ch:"retransmitted_after_rnr"`
	AfterTimeout     *uint64           `ch:"retransmitted_after_timeout"`
	OutOfOrder       *uint64           `ch:"out_of_order"`
	Duplicates       *uint64           `ch:"duplicates"`
	MirrorCopies     uint64            `ch:"mirror_copies"`
	Acks             uint64            `ch:"acks"`
	NaksByCode       map[string]uint64 `ch:"naks_by_code"`
	RNRNaks          uint64            `ch:"rnr_naks"`
	RNRTimerMax      *uint64           `ch:"rnr_timer_max_ns"`
	CNPs             uint64            `ch:"cnps"`
	CEMarked         *uint64           `ch:"ce_marked"`
	ECTMarked        *uint64           `ch:"ect_marked"` //nolint:misspell // ECN-capable transport
	ICRCGood         uint64            `ch:"icrc_good"`
	ICRCBad          uint64            `ch:"icrc_bad"`
	ICRCUndetermined uint64            `ch:"icrc_undetermined"`
	Truncated        uint64            `ch:"truncated"`
	Malformed        uint64            `ch:"malformed"`
	Throughput       *float64          `ch:"throughput_bps"`

	Profile          string  `ch:"profile"`
	Handshake        string  `ch:"handshake"`
	RejectReason     string  `ch:"reject_reason"`
	DisconnectReason string  `ch:"disconnect_reason"`
	Requests         *uint64 `ch:"connection_requests"`
	AcceptTime       *uint64 `ch:"accept_time_ns"`
	DeclaredPaths    *uint64 `ch:"declared_paths"`
	DeclaredPlanes   *uint64 `ch:"declared_planes"`
	DeclaredMTU      *uint64 `ch:"declared_mtu"`
	LinkRate         *uint64 `ch:"link_rate_mbps"`
	InitialPSN       *uint64 `ch:"initial_psn"`
	DeclaredStreams  *uint64 `ch:"declared_streams"`
	MaxWindow        *uint64 `ch:"max_window"`
	Paths            *uint64 `ch:"paths_seen"`
	Streams          *uint64 `ch:"streams_seen"`
	UntrackedStreams *uint64 `ch:"untracked_stream_packets"`
	Probes           *uint64 `ch:"probes"`
	HintLast         *uint64 `ch:"rate_hint_last_mbps"`
	HintMin          *uint64 `ch:"rate_hint_min_mbps"`
	HintMax          *uint64 `ch:"rate_hint_max_mbps"`
	HintUnlimited    *uint64 `ch:"rate_hint_unlimited"`
}

// enums are columns that are read as the number of their name.
var enums = map[string]bool{"protocol": true, "service": true, "pairing": true, "state": true, "verdict": true, "icrc": true}

// columnsOf lists the columns that a row struct reads.
func columnsOf(row any) string {
	structure := reflect.TypeOf(row)
	columns := make([]string, 0, structure.NumField())
	for f := range structure.Fields() {
		name := f.Tag.Get("ch")
		switch {
		case enums[name]:
			// The alias shadows the column in conditions: they have to say t. before it.
			columns = append(columns, "CAST(t."+name+", 'Int8') AS "+name)
		default:
			columns = append(columns, "t."+access.Identifier(name)+" AS "+access.Identifier(name))
		}
	}
	return strings.Join(columns, ", ")
}

var flowColumns = columnsOf(flowRow{})

func count[T uint8 | uint16 | uint32 | uint64](n *T) flow.Count {
	if n == nil {
		return flow.Count{}
	}
	return flow.Count{N: uint64(*n), Known: true}
}

func addressOf(ip net.IP) (a dissector.Address) {
	copy(a[:], ip.To16())
	return a
}

func optionalAddress(ip *net.IP) dissector.Address {
	if ip == nil {
		return dissector.Address{}
	}
	return addressOf(*ip)
}

func macOf(text string) (mac [6]byte) {
	if parsed, err := net.ParseMAC(text); err == nil {
		copy(mac[:], parsed)
	}
	return mac
}

var layersByName = func() map[string]dissector.LayerType {
	layers := map[string]dissector.LayerType{"": dissector.LayerNone}
	for layer := dissector.LayerNone + 1; layer <= dissector.LayerUnknown; layer++ {
		layers[layer.String()] = layer
	}
	return layers
}()

var applicationsByName = func() map[string]mad.Application {
	applications := map[string]mad.Application{}
	for a := mad.ApplicationUnknown; a <= mad.ApplicationSMB; a++ {
		applications[a.String()] = a
	}
	return applications
}()

func (r *flowRow) flow() Flow {
	record := flow.Record{
		ID:           flow.ID(r.ID),
		ConnectionID: flow.ID(r.Connection),
		Key: flow.Key{
			Source:        addressOf(r.Source),
			Destination:   addressOf(r.Destination),
			DestinationQP: r.DestinationQP,
			Service:       infiniband.Service(r.Service),
			Protocol:      dissector.Protocol(r.Protocol),
		},
		SourceQP:             count(r.SourceQP),
		Pairing:              flow.Pairing(r.Pairing),
		ServiceID:            count(r.ServiceID),
		Application:          applicationsByName[r.Application],
		SourceMAC:            macOf(r.SourceMAC),
		DestinationMAC:       macOf(r.DestinationMAC),
		VLAN:                 count(r.VLAN),
		DSCP:                 count(r.DSCP),
		SourcePort:           count(r.SourcePort),
		SourcePorts:          count(r.SourcePorts),
		Tunnel:               layersByName[r.Tunnel],
		OuterSource:          optionalAddress(r.OuterSource),
		OuterDestination:     optionalAddress(r.OuterDestination),
		FirstNumber:          r.FirstNumber,
		LastNumber:           r.LastNumber,
		Packets:              r.Packets,
		Bytes:                r.Bytes,
		PayloadBytes:         r.PayloadBytes,
		GoodputBytes:         count(r.GoodputBytes),
		Messages:             count(r.Messages),
		PathMTU:              count(r.PathMTU),
		FirstPSN:             count(r.FirstPSN),
		LastPSN:              count(r.LastPSN),
		PSNGaps:              count(r.PSNGaps),
		MissingPSNs:          count(r.MissingPSNs),
		MissingAcknowledged:  count(r.MissingAcked),
		Retransmitted:        count(r.Retransmitted),
		RetransmittedNAK:     count(r.AfterNAK),
		RetransmittedRNR:     count(r.AfterRNR),
		RetransmittedTimeout: count(r.AfterTimeout),
		OutOfOrder:           count(r.OutOfOrder),
		Duplicates:           count(r.Duplicates),
		MirrorCopies:         r.MirrorCopies,
		Acks:                 r.Acks,
		RNRNaks:              r.RNRNaks,
		CNPs:                 r.CNPs,
		CEMarked:             count(r.CEMarked),
		ECTMarked:            count(r.ECTMarked),
		ICRCGood:             r.ICRCGood,
		ICRCBad:              r.ICRCBad,
		ICRCUndetermined:     r.ICRCUndetermined,
		PortRewritten:        count(r.PortRewritten),
		Truncated:            r.Truncated,
		Malformed:            r.Malformed,
	}
	record.Operations = flow.Operations{
		Send: r.Sends, Write: r.Writes, ReadRequest: r.ReadRequests, Atomic: r.Atomics, ReadResponse: r.ReadResponses,
		AtomicResponse: r.AtomicResponses, Ack: r.AckPackets, Datagram: r.Datagrams, Other: r.OtherOperations,
	}
	if r.Reverse != nil {
		record.ReverseID = flow.ID(*r.Reverse)
	}
	if record.Key.Service == infiniband.ServiceUD {
		record.Key.SourceQP = uint32(record.SourceQP.N)
	}
	if r.FirstTime != nil && r.LastTime != nil {
		record.HasTime, record.FirstTime, record.LastTime = true, r.FirstTime.UnixNano(), r.LastTime.UnixNano()
	}
	if r.RNRTimerMax != nil {
		record.RNRTimerMax = int64(*r.RNRTimerMax)
	}
	for code := range record.Naks {
		record.Naks[code] = r.NaksByCode[blocks.NakCodeName(uint8(blocks.NakBase(record.Key.Service)+code))]
	}
	return Flow{Record: record, ThroughputBPS: r.Throughput, MetaRoCE: r.metaRoCE()}
}

func (r *flowRow) metaRoCE() *MetaRoCE {
	if r.Profile == "" {
		return nil
	}
	return &MetaRoCE{
		Profile: r.Profile, Handshake: r.Handshake, RejectReason: r.RejectReason, DisconnectReason: r.DisconnectReason,
		Requests: count(r.Requests).N, AcceptTime: count(r.AcceptTime),
		PathCount: count(r.DeclaredPaths), PlaneCount: count(r.DeclaredPlanes), MTU: count(r.DeclaredMTU), LinkRate: count(r.LinkRate),
		InitialPSN: count(r.InitialPSN), StreamCount: count(r.DeclaredStreams), MaxWindow: count(r.MaxWindow),
		Paths: count(r.Paths).N, Streams: count(r.Streams).N, UntrackedStreams: count(r.UntrackedStreams).N, Probes: count(r.Probes).N,
		RateHint: flow.Hint{Last: count(r.HintLast), Min: count(r.HintMin), Max: count(r.HintMax), Unlimited: count(r.HintUnlimited).N},
	}
}

// Flows lists flows of a capture. A sort order or filter that makes no sense is ErrBadRequest.
func (s *Store) Flows(ctx context.Context, capture uuid.UUID, query FlowQuery) (FlowPage, error) {
	if query.Sort == "" {
		query.Sort = "bytes"
	}
	sort, known := flowSorts[query.Sort]
	if !known {
		return FlowPage{}, fmt.Errorf("%w: flows cannot be sorted by %q", ErrBadRequest, query.Sort)
	}
	filter, arguments, err := flowFilter(query.Filter)
	if err != nil {
		return FlowPage{}, err
	}
	arguments = append(arguments, clickhouse.Named("capture", capture.String()))
	condition := "capture_id = {capture:UUID} AND " + filter
	var page FlowPage
	if err := s.conn.QueryRow(ctx, "SELECT count() FROM "+s.table(flowsTable)+" AS t WHERE "+condition, arguments...).Scan(&page.Total); err != nil {
		return FlowPage{}, fmt.Errorf("count flows: %w", err)
	}
	direction := " DESC"
	if query.Ascending {
		direction = " ASC"
	}
	order := "t." + sort + direction + " NULLS LAST"
	if query.Sort == sortConnection {
		// The directions stand together, the busier one first, whichever way the connections are sorted.
		order = sort + direction + ", t.connection_id, t.bytes DESC"
	}
	rest := condition + " ORDER BY " + order + ", t.flow_id, t.first_number LIMIT " + strconv.Itoa(query.Limit) +
		" OFFSET " + strconv.Itoa(query.Offset)
	page.Flows, err = s.selectFlows(ctx, rest, arguments...)
	return page, err
}

// Flow returns one flow of a capture, or ErrNotFound. Of a flow that the tracker closed for want of memory
// and saw again there are several records; it is the first.
func (s *Store) Flow(ctx context.Context, capture uuid.UUID, id flow.ID) (Flow, error) {
	flows, err := s.selectFlows(ctx, "capture_id = {capture:UUID} AND t.flow_id = {flow:UInt64} ORDER BY t.first_number LIMIT 1",
		clickhouse.Named("capture", capture.String()), clickhouse.Named("flow", strconv.FormatUint(uint64(id), 10)))
	if err != nil {
		return Flow{}, err
	}
	if len(flows) == 0 {
		return Flow{}, fmt.Errorf("flow %d: %w", id, ErrNotFound)
	}
	return flows[0], nil
}

func (s *Store) selectFlows(ctx context.Context, rest string, arguments ...any) (flows []Flow, err error) {
	rows, err := s.conn.Query(ctx, "SELECT "+flowColumns+" FROM "+s.table(flowsTable)+" AS t WHERE "+rest, arguments...)
	if err != nil {
		return nil, fmt.Errorf("read flows: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var row flowRow
		if err := rows.ScanStruct(&row); err != nil {
			return nil, fmt.Errorf("read flows: %w", err)
		}
		flows = append(flows, row.flow())
	}
	return flows, rows.Err()
}
