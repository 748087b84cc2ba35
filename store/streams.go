package store

import (
	"context"
	"net"
	"time"

	"github.com/google/uuid"
)

// Stream is a row of the table streams.
type Stream struct {
	Flow           uint64     `ch:"flow_id"`
	Connection     uint64     `ch:"connection_id"`
	Source         net.IP     `ch:"source"`
	Destination    net.IP     `ch:"destination"`
	DestinationQP  uint32     `ch:"destination_qp"`
	ID             uint16     `ch:"stream_id"`
	Messages       uint64     `ch:"messages"`
	Writes         uint64     `ch:"writes"`
	Sends          uint64     `ch:"sends"`
	Reads          uint64     `ch:"reads"`
	Atomics        uint64     `ch:"atomics"`
	Complete       *uint64    `ch:"complete"`
	FirstMSN       *uint32    `ch:"first_msn"`
	LastMSN        *uint32    `ch:"last_msn"`
	FirstTime      *time.Time `ch:"first_time"`
	LastTime       *time.Time `ch:"last_time"`
	FirstNumber    uint64     `ch:"first_number"`
	LastNumber     uint64     `ch:"last_number"`
	Packets        uint64     `ch:"packets"`
	PayloadBytes   uint64     `ch:"payload_bytes"`
	GoodputBytes   uint64     `ch:"goodput_bytes"`
	ResponseBytes  uint64     `ch:"response_bytes"`
	Retransmitted  uint64     `ch:"retransmitted"`
	Naks           uint64     `ch:"naks"`
	LatencySamples uint64     `ch:"latency_samples"`
	LatencyMin     *uint64    `ch:"latency_min_ns"`
	LatencyMean    *uint64    `ch:"latency_mean_ns"`
	LatencyP50     *uint64    `ch:"latency_p50_ns"`
	LatencyP90     *uint64    `ch:"latency_p90_ns"`
	LatencyP99     *uint64    `ch:"latency_p99_ns"`
	LatencyMax     *uint64    `ch:"latency_max_ns"`
}

// StreamPage is a part of the list of streams.
type StreamPage struct {
	Streams []Stream
	Total   uint64 // streams that match
}

var streamList = list{
	table: streamsTable, columns: columnsOf(Stream{}), key: "stream_id", noun: "streams",
	sorts: map[string]string{
		"stream_id": "stream_id", "messages": "messages", "complete": "complete", "packets": "packets", "payload_bytes": "payload_bytes",
		"goodput_bytes": "goodput_bytes", "retransmitted": "retransmitted", "naks": "naks", "latency_min": "latency_min_ns",
		"latency_mean": "latency_mean_ns", "latency_p50": "latency_p50_ns", "latency_p90": "latency_p90_ns", "latency_p99": "latency_p99_ns",
		"latency_max": "latency_max_ns", "first_time": "first_time", "last_time": "last_time", "source": "source", "destination": "destination",
	},
	words: map[string]string{
		"write": "t.writes > 0", "send": "t.sends > 0", "read": "t.reads > 0", "atomic": "t.atomics > 0",
		"retransmitted": "t.retransmitted > 0", "nak": "t.naks > 0", "incomplete": "t.complete < t.messages",
	},
	counted: map[string]string{"": "t.stream_id = %d", "stream": "t.stream_id = %d"},
}

// Streams lists streams of a capture.
func (s *Store) Streams(ctx context.Context, capture uuid.UUID, query ListQuery) (page StreamPage, err error) {
	page.Streams, page.Total, err = rowsOf[Stream](ctx, s, &streamList, capture, query)
	return page, err
}
