package blocks

import "github.com/rocelens/rocelens/flow"

const pathStateType = "Enum8('in use' = 0, 'failed' = 1, 'recovered' = 2)"

// PathState is what has become of a path by the end of the capture.
type PathState int8

// States of a path.
const (
	PathInUse PathState = iota
	PathFailed
	PathRecovered
)

// String is the name of the state, as in the column state.
func (s PathState) String() string { return [...]string{"in use", "failed", "recovered"}[s] }

func pathState(p *flow.PathRecord) PathState {
	switch {
	case !p.LastProbe.Known:
		return PathInUse
	case p.Failed:
		return PathFailed
	default:
		return PathRecovered
	}
}

// PathRow is a row of the table paths before it is stored.
type PathRow struct {
	Flow *flow.Record
	*flow.PathRecord
}

// NewPathBlock makes an empty block of the table paths.
func NewPathBlock() *RecordBlock[PathRow] {
	type row = PathRow
	b := &RecordBlock[row]{}
	b.inFlow(func(r *row) *flow.Record { return r.Flow })
	b.uint8("path_id", func(r *row) uint8 { return r.ID })
	b.count8("plane_id", func(r *row) flow.Count { return r.Plane })
	b.uint64("plane_changes", func(r *row) uint64 { return r.PlaneChanges })
	b.Enum("state", pathStateType, func(r *row) int8 { return int8(pathState(r.PathRecord)) })
	addSourcePorts(b)
	b.uint64("re_paths", func(r *row) uint64 { return r.RePaths })
	b.time("first_time", func(r *row) (int64, bool) { return r.FirstTime, r.HasTime })
	b.time("last_time", func(r *row) (int64, bool) { return r.LastTime, r.HasTime })
	b.uint64("first_number", func(r *row) uint64 { return r.FirstNumber })
	b.uint64("last_number", func(r *row) uint64 { return r.LastNumber })
	b.count32("first_psn", func(r *row) flow.Count { return r.FirstPSN })
	b.count32("last_psn", func(r *row) flow.Count { return r.LastPSN })
	b.uint64("packets", func(r *row) uint64 { return r.Packets })
	b.uint64("bytes", func(r *row) uint64 { return r.Bytes })
	b.uint64("payload_bytes", func(r *row) uint64 { return r.PayloadBytes })
	b.uint64("psn_gaps", func(r *row) uint64 { return r.PSNGaps })
	b.uint64("missing_psns", func(r *row) uint64 { return r.MissingPSNs })
	b.Count("missing_acknowledged", func(r *row) flow.Count { return r.MissingAcknowledged })
	b.uint64("retransmitted", func(r *row) uint64 { return r.Retransmitted })
	b.uint64("retransmitted_seen", func(r *row) uint64 { return r.RetransmittedSeen })
	b.Count("retransmitted_after_gap", func(r *row) flow.Count { return r.RetransmittedGap })
	b.Count("retransmitted_after_rnr", func(r *row) flow.Count { return r.RetransmittedRNR })
	b.uint64("retransmitted_moved", func(r *row) uint64 { return r.RetransmittedMoved })
	b.uint64("out_of_order", func(r *row) uint64 { return r.OutOfOrder })
	b.uint64("duplicates", func(r *row) uint64 { return r.Duplicates })
	b.uint64("probes", func(r *row) uint64 { return r.Probes })
	b.Count("first_probe_number", func(r *row) flow.Count { return r.FirstProbe })
	b.Count("last_probe_number", func(r *row) flow.Count { return r.LastProbe })
	b.time("first_probe_time", func(r *row) (int64, bool) { return int64(r.FirstProbeTime.N), r.FirstProbeTime.Known })
	b.uint64("ce_marked", func(r *row) uint64 { return r.CEMarked })
	b.uint64("ect_marked", func(r *row) uint64 { return r.ECTMarked }) //nolint:misspell // ECN-capable transport
	b.uint64("naks", func(r *row) uint64 { return r.Naks })
	b.Count("acks", func(r *row) flow.Count { return r.Acks })
	b.Count("received_packets", func(r *row) flow.Count { return r.ReceivedPackets })
	b.Count("received_ce", func(r *row) flow.Count { return r.ReceivedCE })
	b.Count("rate_hint_last_mbps", func(r *row) flow.Count { return r.RateHint.Last })
	b.Count("rate_hint_min_mbps", func(r *row) flow.Count { return r.RateHint.Min })
	b.Count("rate_hint_max_mbps", func(r *row) flow.Count { return r.RateHint.Max })
	b.uint64("rate_hint_unlimited", func(r *row) uint64 { return r.RateHint.Unlimited })
	b.uint64("rtt_samples", func(r *row) uint64 { return r.RTT.Samples })
	b.Count("rtt_smoothed_ns", func(r *row) flow.Count { return r.RTT.Smoothed })
	b.Count("rtt_variation_ns", func(r *row) flow.Count { return r.RTT.Variation })
	b.Count("rtt_min_ns", func(r *row) flow.Count { return r.RTT.Min })
	b.Count("rtt_max_ns", func(r *row) flow.Count { return r.RTT.Max })
	b.Count("in_flight_max", func(r *row) flow.Count { return r.InFlightMax })
	b.Count("in_flight_mean", func(r *row) flow.Count { return r.InFlightMean })
	return b
}

// addSourcePorts declares the history of source ports, as arrays of equal length.
func addSourcePorts(b *RecordBlock[PathRow]) {
	ports, packets, numbers, times := &uint16Arrays{}, &uint64Arrays{}, &uint64Arrays{}, &timeArrays{}
	b.add("source_ports.port", ports, func(r *PathRow) {
		ports.Append(eachPort(r, func(u *flow.PortUse) uint16 { return u.Port }))
	})
	b.add("source_ports.packets", packets, func(r *PathRow) {
		packets.Append(eachPort(r, func(u *flow.PortUse) uint64 { return u.Packets }))
	})
	b.add("source_ports.first_number", numbers, func(r *PathRow) {
		numbers.Append(eachPort(r, func(u *flow.PortUse) uint64 { return u.FirstNumber }))
	})
	b.add("source_ports.first_time", times, func(r *PathRow) {
		times.Append(eachPort(r, func(u *flow.PortUse) flow.Count { return u.FirstTime }))
	})
}

func eachPort[T any](r *PathRow, of func(*flow.PortUse) T) []T {
	out := make([]T, len(r.Ports))
	for i := range r.Ports {
		out[i] = of(&r.Ports[i])
	}
	return out
}
