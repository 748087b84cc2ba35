package blocks

import "github.com/rocelens/rocelens/flow"

// StreamRow is a row of the table streams before it is stored.
type StreamRow struct {
	Flow *flow.Record
	*flow.StreamRecord
}

// NewStreamBlock makes an empty block of the table streams.
func NewStreamBlock() *RecordBlock[StreamRow] {
	type row = StreamRow
	b := &RecordBlock[row]{}
	b.inFlow(func(r *row) *flow.Record { return r.Flow })
	b.uint16("stream_id", func(r *row) uint16 { return r.ID })
	b.uint64("messages", func(r *row) uint64 { return r.Messages })
	b.uint64("writes", func(r *row) uint64 { return r.Writes })
	b.uint64("sends", func(r *row) uint64 { return r.Sends })
	b.uint64("reads", func(r *row) uint64 { return r.Reads })
	b.uint64("atomics", func(r *row) uint64 { return r.Atomics })
	b.Count("complete", func(r *row) flow.Count { return r.Complete })
	b.count32("first_msn", func(r *row) flow.Count { return r.FirstMSN })
	b.count32("last_msn", func(r *row) flow.Count { return r.LastMSN })
	b.time("first_time", func(r *row) (int64, bool) { return r.FirstTime, r.HasTime })
	b.time("last_time", func(r *row) (int64, bool) { return r.LastTime, r.HasTime })
	b.uint64("first_number", func(r *row) uint64 { return r.FirstNumber })
	b.uint64("last_number", func(r *row) uint64 { return r.LastNumber })
	b.uint64("packets", func(r *row) uint64 { return r.Packets })
	b.uint64("payload_bytes", func(r *row) uint64 { return r.PayloadBytes })
	b.uint64("goodput_bytes", func(r *row) uint64 { return r.GoodputBytes })
	b.uint64("response_bytes", func(r *row) uint64 { return r.ResponseBytes })
	b.uint64("retransmitted", func(r *row) uint64 { return r.Retransmitted })
	b.uint64("naks", func(r *row) uint64 { return r.Naks })
	b.uint64("latency_samples", func(r *row) uint64 { return r.Latency.Samples })
	b.Count("latency_min_ns", func(r *row) flow.Count { return r.Latency.Min })
	b.Count("latency_mean_ns", func(r *row) flow.Count { return r.Latency.Mean })
	b.Count("latency_p50_ns", func(r *row) flow.Count { return r.Latency.P50 })
	b.Count("latency_p90_ns", func(r *row) flow.Count { return r.Latency.P90 })
	b.Count("latency_p99_ns", func(r *row) flow.Count { return r.Latency.P99 })
	b.Count("latency_max_ns", func(r *row) flow.Count { return r.Latency.Max })
	return b
}
