package diff

import (
	"slices"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
)

// Collector makes a side of what an analysis finds. It takes flows as a sink of the analysis, and what replay finds.
type Collector struct {
	// Only is the connection to be looked at; 0: all.
	Only flow.ID

	side        Side
	connections map[flow.ID]struct{}
	timed       bool
	first, last int64
	least, most int64
	means       []uint64
	p50s        []uint64
	p90s, p99s  []uint64
	quick, slow uint64
	tallied     [finding.RuleCount]RuleTally
}

// Flow takes a record.
func (c *Collector) Flow(r *flow.Record) error {
	if c.Only != 0 && r.ConnectionID != c.Only {
		return nil
	}
	s := &c.side
	s.Flows++
	if c.connections == nil {
		c.connections = map[flow.ID]struct{}{}
	}
	c.connections[r.ConnectionID] = struct{}{}
	if r.HasTime {
		if !c.timed {
			c.timed, c.first, c.last = true, r.FirstTime, r.LastTime
		}
		c.first, c.last = min(c.first, r.FirstTime), max(c.last, r.LastTime)
	}
	s.Packets += r.Packets
	s.Bytes += r.Bytes
	s.Payload += r.PayloadBytes
	for _, column := range []struct {
		sum   *Sum
		count flow.Count
	}{
		{&s.Goodput, r.GoodputBytes},
		{&s.Messages, r.Messages},
		{&s.Retransmitted, r.Retransmitted},
		{&s.AfterNAK, r.RetransmittedNAK},
		{&s.AfterRNR, r.RetransmittedRNR},
		{&s.AfterTimeout, r.RetransmittedTimeout},
		{&s.Missing, r.MissingPSNs},
		{&s.OutOfOrder, r.OutOfOrder},
		{&s.Marked, r.CEMarked},
	} {
		if column.count.Known {
			column.sum.N += column.count.N
			column.sum.Packets += r.Packets
			column.sum.Flows++
		}
	}
	s.NAKs += document.Naks(r)
	s.RNRNAKs += r.RNRNaks
	s.CNPs += r.CNPs
	s.ICRCBad += r.ICRCBad
	if r.Key.Protocol == dissector.ProtocolMetaRoCE {
		s.MetaRoCE = true
	} else {
		s.RoCE = true
	}
	if r.MetaRoCE != nil {
		for i := range r.MetaRoCE.Streams {
			c.stream(&r.MetaRoCE.Streams[i].Latency)
		}
	}
	return nil
}

func (c *Collector) stream(l *flow.Latency) {
	if l.Samples == 0 {
		return
	}
	if len(c.p50s) == 0 {
		c.quick = l.Min.N
	}
	c.quick, c.slow = min(c.quick, l.Min.N), max(c.slow, l.Max.N)
	c.p50s, c.p90s, c.p99s = append(c.p50s, l.P50.N), append(c.p90s, l.P90.N), append(c.p99s, l.P99.N)
}

// Finding takes nothing of it: what came of the rules is in the connection.
func (c *Collector) Finding(*finding.Finding) {}

// Attempt takes nothing of it.
func (c *Collector) Attempt(*finding.Attempt) {}

// Connection takes what replay found about a connection.
func (c *Collector) Connection(f *finding.Connection) {
	if c.Only != 0 && f.ID != finding.ConnectionID(c.Only) {
		return
	}
	s := &c.side
	s.Judged++
	if f.Verdict() == finding.Diverges {
		s.Diverging++
	}
	for i := range f.Tallies {
		if t := &f.Tallies[i]; *t != (finding.Tally{}) {
			all := &c.tallied[i]
			all.Merge(*t)
			all.Connections++
			if t.Diverges > 0 {
				all.Diverging++
			}
		}
	}
	for i := range f.Directions {
		c.direction(&f.Directions[i])
	}
}

func (c *Collector) direction(d *finding.Direction) {
	s := &c.side
	s.LostBefore += d.Losses.Before
	s.LostAfter += d.Losses.After
	s.Missed += d.Losses.Capture
	if d.Waits.Known {
		s.Waiting++
		s.LastingNS += uint64(d.Waits.Lasting)
		s.TimerWaits += d.Waits.Timer.Times
		s.TimerWaitNS += uint64(d.Waits.Timer.NS)
		s.RNRWaits += d.Waits.RNR.Times
		s.RNRWaitNS += uint64(d.Waits.RNR.NS)
	}
	if t := &d.ToReceiver; t.Known {
		if len(c.means) == 0 {
			c.least = t.Minimum
		}
		c.least, c.most = min(c.least, t.Minimum), max(c.most, t.Max)
		c.means = append(c.means, uint64(t.Mean))
	}
}

// Side is what was collected, with what the analysis says of the capture as a whole.
func (c *Collector) Side(result *analysis.Result) *Side {
	s := c.side
	s.Connections = uint64(len(c.connections))
	if c.timed && c.last > c.first {
		s.Lasting = Of(c.last - c.first)
	}
	if len(c.means) > 0 {
		s.RoundTrip = Spread{
			Known: true, Min: uint64(c.least), P50: quantile(c.means, 0.5), P90: quantile(c.means, 0.9), P99: quantile(c.means, 0.99), Max: uint64(c.most),
		}
	}
	if len(c.p50s) > 0 {
		s.Completion = Spread{Known: true, Min: c.quick, P50: quantile(c.p50s, 0.5), P90: quantile(c.p90s, 0.5), P99: quantile(c.p99s, 0.5), Max: c.slow}
	}
	s.Rules = map[finding.Rule]RuleTally{}
	for i := range c.tallied {
		if c.tallied[i].Connections > 0 {
			s.Rules[finding.Rule(i)] = c.tallied[i]
		}
	}
	if dropped := result.Dropped(); dropped.Known {
		s.CaptureDropped = Of(dropped.N)
	}
	s.Partial = result.Partial()
	return &s
}

// quantile is an element, as ClickHouse's quantileExact chooses it, so that files and stored captures say the same.
func quantile(all []uint64, level float64) uint64 {
	slices.Sort(all)
	return all[min(int(level*float64(len(all))), len(all)-1)]
}
