package store

import "github.com/rocelens/rocelens/flow"

// streamRow is a row of the table streams before it is stored.
type streamRow struct {
	flow *flow.Record
	*flow.StreamRecord
}

func newStreamBlock() *recordBlock[streamRow] {
	type row = streamRow
	b := &recordBlock[row]{}
	b.inFlow(func(r *row) *flow.Record { return r.flow })
	b.uint16("stream_id", func(r *row) uint16 { return r.ID })
	b.uint64("messages", func(r *row) uint64 { return r.Messages })
	b.uint64("writes", func(r *row) uint64 { return r.Writes })
	b.uint64("sends", func(r *row) uint64 { return r.Sends })
	b.uint64("reads", func(r *row) uint64 { return r.Reads })
	b.uint64("atomics", func(r *row) uint64 { return r.Atomics })
	b.count("complete", func(r *row) flow.Count { return r.Complete })
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
	b.count("latency_min_ns", func(r *row) flow.Count { return r.Latency.Min })
	b.count("latency_mean_ns", func(r *row) flow.Count { return r.Latency.Mean })
	b.count("latency_p50_ns", func(r *row) flow.Count { return r.Latency.P50 })
	b.count("latency_p90_ns", func(r *row) flow.Count { return r.Latency.P90 })
	b.count("latency_p99_ns", func(r *row) flow.Count { return r.Latency.P99 })
	b.count("latency_max_ns", func(r *row) flow.Count { return r.Latency.Max })
	return b
}
