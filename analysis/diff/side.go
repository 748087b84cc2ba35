package diff

import "github.com/rocelens/rocelens/replay/finding"

// Value is a figure that a side may not be able to tell. The zero value is unknown.
type Value struct {
	N     float64
	Known bool
}

// Of is a known value.
func Of[N ~int64 | ~uint64](n N) Value { return Value{float64(n), true} }

// share is v by what it is a part of; unknown when nothing can be a part of it.
func (v Value) share(whole float64) Value {
	if !v.Known || whole <= 0 {
		return Value{}
	}
	return Value{v.N / whole, true}
}

// Sum adds up a column over the flows that can tell it.
type Sum struct {
	N       uint64
	Packets uint64 // of the flows that can tell it
	Flows   uint64 // that can tell it; 0: none can, and N is unknown
}

func (s Sum) value() Value {
	if s.Flows == 0 {
		return Value{}
	}
	return Of(s.N)
}

// Side is what a capture, or a connection of it, shows.
type Side struct {
	Flows, Connections uint64

	// Lasting is from the first to the last packet of RDMA, ns; unknown without times.
	Lasting Value

	Packets, Bytes, Payload                         uint64
	Goodput, Messages                               Sum // bytes, operations
	Retransmitted, AfterNAK, AfterRNR, AfterTimeout Sum // packets
	Missing                                         Sum // PSNs
	OutOfOrder, Marked                              Sum // packets
	NAKs, RNRNAKs, CNPs, ICRCBad                    uint64

	Judged                  uint64 // connections that replay judged; 0: none, and all below is unknown
	Diverging               uint64 // of these
	LostBefore, LostAfter   uint64 // the vantage point, packets
	Missed                  uint64 // by the capture, packets
	Waiting                 uint64 // directions whose waits are known
	LastingNS               uint64 // of these directions, all together
	TimerWaits, TimerWaitNS uint64 // of these
	RNRWaits, RNRWaitNS     uint64 // of these
	RoundTrip               Spread // from the vantage point to the receiver and back, ns: quantiles over directions, of their means
	Completion              Spread // of MetaRoCE's messages, ns: quantiles over streams, of their median (P50), 90th and 99th percentile
	Rules                   map[finding.Rule]RuleTally
	CaptureDropped          Value // packets that the capture itself says it lost
	Partial                 bool  // the file ended early
	MetaRoCE, RoCE          bool  // what the flows are of
}

// Spread is how a time is spread.
type Spread struct {
	Known                   bool
	Min, P50, P90, P99, Max uint64
}

// RuleTally is what came of a rule.
type RuleTally struct {
	finding.Tally
	Connections uint64 // that it applied to
	Diverging   uint64 // of these
}

// Rate is so many a second, by the time that the side lasts.
func (s *Side) rate(v Value) Value {
	if !s.Lasting.Known {
		return Value{}
	}
	v.N *= 1e9
	return v.share(s.Lasting.N)
}

func (s *Side) judged(v Value) Value {
	if s.Judged == 0 {
		return Value{}
	}
	return v
}

func (s *Side) waited(v Value) Value {
	if s.Waiting == 0 {
		return Value{}
	}
	return v
}

func (s Spread) value(n uint64) Value {
	if !s.Known {
		return Value{}
	}
	return Of(n)
}
