package store

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/blocks"
)

// PacketQuery asks for packets of a capture, in their order.
type PacketQuery struct {
	Flow           flow.ID // 0: of all flows and none
	BothDirections bool    // with Flow: of the connection
	Only           string  // a key of findings; empty: all
	Opcode         *uint8
	After          uint64 // numbers above this
	Before         uint64 // numbers below this, the last of them; 0: no bound. Not together with After
	From           *time.Time
	To             *time.Time // exclusive; with either, packets without a time are left out
	Limit          int
}

// PacketPage is a run of packets.
type PacketPage struct {
	Packets    []Packet
	MoreBefore bool
	MoreAfter  bool
	Total      uint64 // packets that match
}

// Packet is a row of the table packets. Of a header that the packet does not have all fields are nil.
type Packet struct {
	Number           uint64     `ch:"number"`
	Time             *time.Time `ch:"time"`
	Interface        uint32     `ch:"interface"`
	Offset           int64      `ch:"file_offset"` // of its record in the decompressed file
	CapturedLength   uint32     `ch:"captured_length"`
	OriginalLength   uint32     `ch:"original_length"`
	Protocol         string     `ch:"protocol_name"`
	Verdict          string     `ch:"verdict_name"`
	Fault            string     `ch:"fault"`
	FaultLayer       string     `ch:"fault_layer"`
	FaultOffset      *uint16    `ch:"fault_offset"`
	Flow             *uint64    `ch:"flow_id"`
	Message          *uint32    `ch:"message"`
	Flags            uint16     `ch:"flags"` // flow.Flags
	SourceMAC        string     `ch:"source_mac"`
	DestinationMAC   string     `ch:"destination_mac"`
	VLAN             *uint16    `ch:"vlan"`
	VLANPriority     *uint8     `ch:"vlan_priority"`
	Tunnel           string     `ch:"tunnel"`
	TunnelID         *uint32    `ch:"tunnel_id"`
	OuterSource      *net.IP    `ch:"outer_source"`
	OuterDestination *net.IP    `ch:"outer_destination"`
	Source           *net.IP    `ch:"source"`
	Destination      *net.IP    `ch:"destination"`
	DSCP             *uint8     `ch:"dscp"`
	ECN              *string    `ch:"ecn_name"`
	TTL              *uint8     `ch:"ttl"`
	IPID             *uint16    `ch:"ip_id"`
	FlowLabel        *uint32    `ch:"flow_label"`
	SourcePort       *uint16    `ch:"source_port"`
	DestinationPort  *uint16    `ch:"destination_port"`
	Opcode           *uint8     `ch:"opcode"`
	OpcodeName       string     `ch:"opcode_name"`
	Solicited        *bool      `ch:"solicited"`
	Migration        *bool      `ch:"migration"`
	PadCount         *uint8     `ch:"pad_count"`
	TransportVersion *uint8     `ch:"transport_version"`
	PartitionKey     *uint16    `ch:"partition_key"`
	FECN             *bool      `ch:"fecn"`
	BECN             *bool      `ch:"becn"`
	DestinationQP    *uint32    `ch:"destination_qp"`
	AckRequest       *bool      `ch:"ack_request"`
	PSN              *uint32    `ch:"psn"`
	SourceQP         *uint32    `ch:"source_qp"`
	QueueKey         *uint32    `ch:"queue_key"`
	EEContext        *uint32    `ch:"ee_context"`
	XRCSRQ           *uint32    `ch:"xrc_srq"`
	VirtualAddress   *uint64    `ch:"virtual_address"`
	RemoteKey        *uint32    `ch:"remote_key"`
	DMALength        *uint32    `ch:"dma_length"`
	AtomicSwapOrAdd  *uint64    `ch:"atomic_swap_or_add"`
	AtomicCompare    *uint64    `ch:"atomic_compare"`
	AtomicOriginal   *uint64    `ch:"atomic_original"`
	Syndrome         *uint8     `ch:"syndrome"`
	NAK              string     `ch:"nak"` // NakRNR, or the name of the NAK code
	RNRTimer         *uint64    `ch:"rnr_timer_ns"`
	MSN              *uint32    `ch:"msn"`
	Immediate        *uint32    `ch:"immediate"`
	InvalidateKey    *uint32    `ch:"invalidate_key"`
	PayloadLength    *uint16    `ch:"payload_length"`
	ICRC             string     `ch:"icrc_name"`
	PauseClasses     *uint8     `ch:"pause_classes"`
	PauseQuanta      []uint16   `ch:"pause_quanta"`

	// Of MetaRoCE.
	PacketType    string   `ch:"packet_type"`
	Path          *uint8   `ch:"path_id"`
	Plane         *uint8   `ch:"plane_id"`
	RTX           *bool    `ch:"rtx"`
	Stream        *uint16  `ch:"stream_id"`
	MessageOffset *uint32  `ch:"message_offset"`
	MessageLength *uint32  `ch:"message_length"`
	Timestamp     *uint32  `ch:"sender_timestamp"`
	ReceiveIndex  *uint32  `ch:"receive_index"`
	ReadID        *uint32  `ch:"read_id"`
	AckNumber     *uint32  `ch:"ack_number"`
	AckTrigger    string   `ch:"ack_trigger"`
	CumulativePSN *uint32  `ch:"cumulative_psn"`
	SACKFirst     []uint32 `ch:"sack.first"`
	SACKLast      []uint32 `ch:"sack.last"`
	EchoTimestamp *uint32  `ch:"echo_timestamp"`
	AckDelay      *uint32  `ch:"ack_delay_ns"`
	RateHint      *uint32  `ch:"rate_hint_mbps"` // nil also where the ACK sets no limit
	CECount       *uint32  `ch:"ce_count"`
	PacketCount   *uint32  `ch:"packet_count"`
	RefusedPSN    *uint32  `ch:"refused_psn"`
	InFlight      *uint32  `ch:"in_flight"`
	RTT           *uint64  `ch:"rtt_ns"`
}

// packetColumns names the enumerations' columns anew, since an alias of a column's own name would shadow
// it in conditions.
var packetColumns = strings.NewReplacer(
	"t.`protocol_name`", "toString(t.protocol)",
	"t.`verdict_name`", "toString(t.verdict)",
	"t.`ecn_name`", "toString(t.ecn)",
	"t.`icrc_name`", "toString(t.icrc)",
).Replace(columnsOf(Packet{}))

// findings are the conditions of packets with which something is the matter.
var findings = map[string]string{
	"retransmitted": flagSet(flow.FlagRetransmitted),
	"after_nak":     flagSet(flow.FlagAfterNAK),
	"after_rnr":     flagSet(flow.FlagAfterRNR),
	"after_timeout": flagSet(flow.FlagAfterTimeout),
	"out_of_order":  flagSet(flow.FlagOutOfOrder),
	"duplicate":     flagSet(flow.FlagDuplicate),
	"mirror_copy":   flagSet(flow.FlagMirrorCopy),
	"gap":           flagSet(flow.FlagGapBefore),
	"ack_unseen":    flagSet(flow.FlagAckUnseen),
	"nak":           "t.nak NOT IN ('', '" + blocks.NakRNR + "')",
	"rnr":           "t.nak = '" + blocks.NakRNR + "'",
	"cnp":           "t.opcode = 129",
	"ce":            "t.ecn = 'CE'",
	"icrc_bad":      "t.icrc = 'bad'",
	"malformed":     "t.verdict = 'malformed'",
	"truncated":     "t.verdict = 'truncated'",
	"unsupported":   "t.verdict = 'unsupported'",
	"pause":         "t.protocol = 'pause'",
	"not_rdma":      "t.verdict = 'not_rdma'",
}

// flagSet bounds the flags from below as well, so that the index on them can pass over quiet stretches.
func flagSet(f flow.Flags) string {
	bit := strconv.FormatUint(uint64(f), 10)
	return "(t.flags >= " + bit + " AND bitAnd(t.flags, " + bit + ") != 0)"
}

// Packets lists packets of a capture. A finding that does not exist is ErrBadRequest.
func (s *Store) Packets(ctx context.Context, capture uuid.UUID, query PacketQuery) (PacketPage, error) {
	condition, arguments, err := s.packetCondition(ctx, capture, query)
	if err != nil {
		return PacketPage{}, err
	}
	page := PacketPage{}
	if err := s.conn.QueryRow(ctx, "SELECT count() FROM "+s.table(packetsTable)+" AS t WHERE "+condition, arguments...).Scan(&page.Total); err != nil {
		return PacketPage{}, fmt.Errorf("count packets: %w", err)
	}
	backwards := query.Before != 0
	bound, order := "t.number > "+strconv.FormatUint(query.After, 10), "ASC"
	if backwards {
		bound, order = "t.number < "+strconv.FormatUint(query.Before, 10), "DESC"
	}
	page.Packets, err = s.selectPackets(ctx, condition+" AND "+bound+" ORDER BY t.number "+order+" LIMIT "+strconv.Itoa(query.Limit+1), arguments...)
	if err != nil {
		return PacketPage{}, err
	}
	more := len(page.Packets) > query.Limit
	if more {
		page.Packets = page.Packets[:query.Limit]
	}
	page.MoreAfter = more
	if backwards {
		slices.Reverse(page.Packets)
		page.MoreBefore = more
	}
	return page, s.otherSide(ctx, &page, condition, arguments, query)
}

// otherSide finds out whether packets match on the side that the page was not read towards.
func (s *Store) otherSide(ctx context.Context, page *PacketPage, condition string, arguments []any, query PacketQuery) error {
	var found *bool
	var bound string
	switch {
	case query.Before != 0:
		found, bound = &page.MoreAfter, "t.number >= "+strconv.FormatUint(query.Before, 10)
	case query.After != 0:
		found, bound = &page.MoreBefore, "t.number <= "+strconv.FormatUint(query.After, 10)
	default:
		return nil
	}
	var n uint64
	err := s.conn.QueryRow(ctx, "SELECT count() FROM (SELECT 1 FROM "+s.table(packetsTable)+" AS t WHERE "+condition+" AND "+bound+" LIMIT 1)", arguments...).Scan(&n)
	if err != nil {
		return fmt.Errorf("look for packets beside the page: %w", err)
	}
	*found = n > 0
	return nil
}

func (s *Store) packetCondition(ctx context.Context, capture uuid.UUID, query PacketQuery) (string, []any, error) {
	conditions := []string{"t.capture_id = {capture:UUID}"}
	if query.Flow != 0 {
		flows, err := s.flowCondition(ctx, capture, query.Flow, query.BothDirections)
		if err != nil {
			return "", nil, err
		}
		conditions = append(conditions, flows)
	}
	if query.Only != "" {
		finding, known := findings[query.Only]
		if !known {
			return "", nil, fmt.Errorf("%w: there is no finding %q", ErrBadRequest, query.Only)
		}
		conditions = append(conditions, finding)
	}
	if query.Opcode != nil {
		conditions = append(conditions, "t.opcode = "+strconv.FormatUint(uint64(*query.Opcode), 10))
	}
	conditions = append(conditions, within("t.time", query.From, query.To)...)
	return strings.Join(conditions, " AND "), []any{clickhouse.Named("capture", capture.String())}, nil
}

// Packet returns one packet of a capture, or ErrNotFound.
func (s *Store) Packet(ctx context.Context, capture uuid.UUID, number uint64) (Packet, error) {
	packets, err := s.selectPackets(ctx, "t.capture_id = {capture:UUID} AND t.number = "+strconv.FormatUint(number, 10)+" LIMIT 1",
		clickhouse.Named("capture", capture.String()))
	if err != nil {
		return Packet{}, err
	}
	if len(packets) == 0 {
		return Packet{}, fmt.Errorf("packet %d: %w", number, ErrNotFound)
	}
	return packets[0], nil
}

func (s *Store) selectPackets(ctx context.Context, rest string, arguments ...any) (packets []Packet, err error) {
	rows, err := s.conn.Query(ctx, "SELECT "+packetColumns+" FROM "+s.table(packetsTable)+" AS t WHERE "+rest, arguments...)
	if err != nil {
		return nil, fmt.Errorf("read packets: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var packet Packet
		if err := rows.ScanStruct(&packet); err != nil {
			return nil, fmt.Errorf("read packets: %w", err)
		}
		packets = append(packets, packet)
	}
	return packets, rows.Err()
}
