package diff

// Group is what a figure is about.
type Group string

// Groups, in the order in which they are shown.
const (
	Traffic    Group = "traffic"
	Rate       Group = "rate"
	Loss       Group = "loss"
	Congestion Group = "congestion"
	Latency    Group = "latency"
	Waits      Group = "waits"
	Verdicts   Group = "verdicts"
)

// Unit of a figure.
type Unit string

// Units. A share is from 0 to 1.
const (
	Count        Unit = "count"
	Bytes        Unit = "bytes"
	Nanoseconds  Unit = "ns"
	BitPerSecond Unit = "bit/s"
	PerSecond    Unit = "1/s"
	Share        Unit = "share"
)

// Better says which of two values is the better one.
type Better string

// What is better.
const (
	Higher  Better = "higher"
	Lower   Better = "lower"
	Neither Better = "neither"
)

// kind is a figure: how it is read off a side, and why one may not have it.
type kind struct {
	name, title string
	group       Group
	unit        Unit
	better      Better
	read        func(s *Side) Value
	unknown     string
}

// Why a side may not have a figure.
const (
	noTimes     = "The capture has no times, or a single one."
	noSequence  = "None of its flows follows a sequence of which this could be told."
	noCause     = "Nothing of the other direction tells why packets came again, or none did follow a sequence."
	noMarks     = "None of its flows has an IP header with ECN."
	notJudged   = "Replay judged none of its connections."
	noRoundTrip = "No packet and its answer were seen that tell it."
	noWaits     = "Only RoCE requesters' waits are told, and none was seen."
	noStreams   = "Only MetaRoCE's messages have a completion that can be seen, and none was."
)

// kinds are all figures, in the order in which they are shown.
var kinds = []kind{
	{"packets", "Packets", Traffic, Count, Neither, func(s *Side) Value { return Of(s.Packets) }, ""},
	{"bytes", "Bytes on the wire", Traffic, Bytes, Neither, func(s *Side) Value { return Of(s.Bytes) }, ""},
	{"messages", "RDMA operations", Traffic, Count, Neither, func(s *Side) Value { return s.Messages.value() }, noSequence},
	{"lasting_ns", "From first to last packet", Traffic, Nanoseconds, Neither, func(s *Side) Value { return s.Lasting }, noTimes},

	{"throughput_bps", "Throughput on the wire", Rate, BitPerSecond, Higher, func(s *Side) Value { return s.rate(Of(8 * s.Bytes)) }, noTimes},
	{"goodput_bps", "Goodput: payload, each byte once", Rate, BitPerSecond, Higher, func(s *Side) Value {
		v := s.Goodput.value()
		v.N *= 8
		return s.rate(v)
	}, noTimes + " Or: " + noSequence},
	{"messages_per_second", "RDMA operations a second", Rate, PerSecond, Higher, func(s *Side) Value { return s.rate(s.Messages.value()) }, noTimes + " Or: " + noSequence},

	{"retransmitted", "Packets sent again", Loss, Count, Lower, func(s *Side) Value { return s.Retransmitted.value() }, noSequence},
	{"retransmitted_share", "Share of packets sent again", Loss, Share, Lower, func(s *Side) Value {
		return s.Retransmitted.value().share(float64(s.Retransmitted.Packets))
	}, noSequence},
	{"retransmitted_after_nak", "Sent again after a NAK or gap", Loss, Count, Lower, func(s *Side) Value { return s.AfterNAK.value() }, noCause},
	{"retransmitted_after_rnr", "Sent again after an RNR NAK", Loss, Count, Lower, func(s *Side) Value { return s.AfterRNR.value() }, noCause},
	{"retransmitted_after_timeout", "Sent again after silence", Loss, Count, Lower, func(s *Side) Value { return s.AfterTimeout.value() }, noCause},
	{"missing_psns", "PSNs never seen", Loss, Count, Lower, func(s *Side) Value { return s.Missing.value() }, noSequence},
	{"out_of_order_share", "Share of packets out of order", Loss, Share, Lower, func(s *Side) Value {
		return s.OutOfOrder.value().share(float64(s.OutOfOrder.Packets))
	}, noSequence},
	{"lost_before", "Lost before the vantage point", Loss, Count, Lower, func(s *Side) Value { return s.judged(Of(s.LostBefore)) }, notJudged},
	{"lost_after", "Lost after the vantage point", Loss, Count, Lower, func(s *Side) Value { return s.judged(Of(s.LostAfter)) }, notJudged},
	{"missed", "Missed by the capture alone", Loss, Count, Neither, func(s *Side) Value { return s.judged(Of(s.Missed)) }, notJudged},
	{"naks", "NAKs, RNR aside", Loss, Count, Lower, func(s *Side) Value { return Of(s.NAKs) }, ""},
	{"rnr_naks", "RNR NAKs", Loss, Count, Lower, func(s *Side) Value { return Of(s.RNRNAKs) }, ""},
	{"icrc_bad", "Packets with a wrong ICRC", Loss, Count, Lower, func(s *Side) Value { return Of(s.ICRCBad) }, ""},

	{"ce_share", "Share of packets marked CE", Congestion, Share, Lower, func(s *Side) Value {
		return s.Marked.value().share(float64(s.Marked.Packets))
	}, noMarks},
	{"cnps", "CNPs", Congestion, Count, Lower, func(s *Side) Value { return Of(s.CNPs) }, ""},

	{"round_trip_min_ns", "Round trip behind the vantage point, least", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.RoundTrip.value(s.RoundTrip.Min) }, noRoundTrip},
	{"round_trip_p50_ns", "Mean round trip, median over senders", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.RoundTrip.value(s.RoundTrip.P50) }, noRoundTrip},
	{"round_trip_p90_ns", "Mean round trip, 90th percentile over senders", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.RoundTrip.value(s.RoundTrip.P90) }, noRoundTrip},
	{"round_trip_p99_ns", "Mean round trip, 99th percentile over senders", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.RoundTrip.value(s.RoundTrip.P99) }, noRoundTrip},
	{"round_trip_max_ns", "Round trip behind the vantage point, longest", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.RoundTrip.value(s.RoundTrip.Max) }, noRoundTrip},
	{"completion_p50_ns", "Completion, median over streams of their medians", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.Completion.value(s.Completion.P50) }, noStreams},
	{"completion_p90_ns", "Completion, the same of their 90th percentiles", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.Completion.value(s.Completion.P90) }, noStreams},
	{"completion_p99_ns", "Completion, the same of their 99th percentiles", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.Completion.value(s.Completion.P99) }, noStreams},
	{"completion_max_ns", "Completion, longest", Latency, Nanoseconds, Lower, func(s *Side) Value { return s.Completion.value(s.Completion.Max) }, noStreams},

	{"timer_waits", "Waits for the retransmission timer", Waits, Count, Lower, func(s *Side) Value { return s.waited(Of(s.TimerWaits)) }, noWaits},
	{"timer_wait_share", "Share of the senders' time, timer", Waits, Share, Lower, func(s *Side) Value {
		return s.waited(Of(s.TimerWaitNS)).share(float64(s.LastingNS))
	}, noWaits},
	{"rnr_waits", "Waits that an RNR NAK asked for", Waits, Count, Lower, func(s *Side) Value { return s.waited(Of(s.RNRWaits)) }, noWaits},
	{"rnr_wait_share", "Share of the senders' time, RNR", Waits, Share, Lower, func(s *Side) Value {
		return s.waited(Of(s.RNRWaitNS)).share(float64(s.LastingNS))
	}, noWaits},

	{"diverging_connections", "Connections that diverge", Verdicts, Count, Lower, func(s *Side) Value { return s.judged(Of(s.Diverging)) }, notJudged},
	{"divergences", "Divergences", Verdicts, Count, Lower, func(s *Side) Value { return s.judged(s.total(diverging)) }, notJudged},
	{"undetermined", "Places that the capture cannot tell about", Verdicts, Count, Neither, func(s *Side) Value { return s.judged(s.total(undetermined)) }, notJudged},
}

func diverging(t *RuleTally) uint64    { return uint64(t.Diverges) }
func undetermined(t *RuleTally) uint64 { return uint64(t.Undetermined) }

// total adds up over the rules.
func (s *Side) total(of func(*RuleTally) uint64) Value {
	var n uint64
	for _, t := range s.Rules {
		n += of(&t)
	}
	return Of(n)
}
