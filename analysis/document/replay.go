package document

import (
	"strconv"

	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
)

// Replay is what the connections of captures look like held against the reference transports.
type Replay struct {
	Version     int          `json:"version"`
	Files       []string     `json:"files"`
	Totals      ReplayTotals `json:"totals"`
	Rules       []RuleTally  `json:"rules"` // those that applied
	Findings    []Finding    `json:"findings"`
	Connections []Connection `json:"connections"`

	FailedAttempts []Attempt `json:"failed_attempts"`
}

// Attempt is an attempt to set a connection up that failed. Reason is null when nothing answered.
type Attempt struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Service string   `json:"service"`
	Tries   uint32   `json:"tries"`
	Packets []uint64 `json:"packets"` // the first and the last that belong to it
	Reason  *string  `json:"reject_reason"`
}

// NewAttempt is an attempt's document.
func NewAttempt(a *finding.Attempt) Attempt {
	out := Attempt{From: a.From.String(), To: a.To.String(), Service: a.Service, Tries: a.Tries, Packets: []uint64{a.First, a.Last}}
	if a.Rejected {
		reason := a.Reason
		out.Reason = &reason
	}
	return out
}

// ReplayTotals counts connections by their worst verdict.
type ReplayTotals struct {
	Packets      uint64 `json:"packets"`
	Connections  uint64 `json:"connections"`
	OneWay       uint64 `json:"one_way_connections"`
	Evicted      uint64 `json:"evicted_connections"`
	Diverging    uint64 `json:"diverging_connections"`
	Undetermined uint64 `json:"undetermined_connections"`
}

// RuleTally counts verdicts of one rule.
type RuleTally struct {
	Rule         string `json:"rule"`
	Title        string `json:"title,omitempty"`
	Severity     string `json:"severity"`
	Diverges     uint32 `json:"diverges"`
	Undetermined uint32 `json:"undetermined"`
	Conforms     uint32 `json:"conforms"`
}

// Endpoint is one end of a connection.
type Endpoint struct {
	Address string  `json:"address"`
	QP      *uint32 `json:"qp"`
}

// Finding is one place where the wire diverged, or may have.
type Finding struct {
	Rule         string   `json:"rule"`
	Verdict      string   `json:"verdict"`
	Severity     string   `json:"severity"`
	ConnectionID string   `json:"connection_id"`
	Endpoint     Endpoint `json:"endpoint"`
	Path         *int16   `json:"path"`
	Time         *string  `json:"time"`
	Packets      []uint64 `json:"packets"`
	Expected     string   `json:"expected"`
	Seen         string   `json:"seen"`
	Sentence     string   `json:"sentence"`
	Source       string   `json:"source"`
	Next         string   `json:"next"`
}

// Connection is what replay says of one connection.
type Connection struct {
	ConnectionID string            `json:"connection_id"`
	Transport    string            `json:"transport"`
	Verdict      string            `json:"verdict"`
	OneWay       bool              `json:"one_way"`
	Pairing      string            `json:"pairing"`
	Vantage      string            `json:"vantage"`
	Directions   []ReplayDirection `json:"directions"`
	Properties   map[string]string `json:"properties"`
	Rules        []RuleTally       `json:"rules"`
}

// ReplayDirection is one direction of it.
type ReplayDirection struct {
	Sender        Endpoint   `json:"sender"`
	Packets       uint64     `json:"packets"`
	MissedShare   *float64   `json:"missed_share"`
	LostBefore    uint64     `json:"lost_before"`
	LostAfter     uint64     `json:"lost_after"`
	ResentUnknown uint64     `json:"resent_unknown"`
	Missed        uint64     `json:"missed_by_capture"`
	ToReceiverNS  *RoundTrip `json:"to_receiver_ns"`
	ToSenderNS    *RoundTrip `json:"to_sender_ns"`
	Waits         *Waits     `json:"waits"`
}

// Waits divides the time between the first and the last packet of a sender. What is neither Timer nor RNR is the rest.
type Waits struct {
	LastingNS int64  `json:"lasting_ns"`
	Timers    uint64 `json:"timers"` // times that it waited for its retransmission timer
	TimerNS   int64  `json:"timer_ns"`
	RNRs      uint64 `json:"rnrs"` // times that it waited because of an RNR NAK
	RNRNS     int64  `json:"rnr_ns"`
}

// RoundTrip is in ns.
type RoundTrip struct {
	Samples uint64 `json:"samples"`
	Minimum int64  `json:"min"`
	Mean    int64  `json:"mean"`
	Max     int64  `json:"max"`
}

// NewReplay has the totals; files, findings and connections are the caller's to add.
func NewReplay(t *replay.Totals) *Replay {
	return &Replay{
		Version: Version,
		Totals: ReplayTotals{
			Packets: t.Packets - t.Copies, Connections: t.Connections, OneWay: t.OneWay, Evicted: t.Evicted,
			Diverging: t.Diverging, Undetermined: t.Undecided,
		},
		Rules: tallies(&t.Tallies, true),
	}
}

func tallies(all *[finding.RuleCount]finding.Tally, titles bool) []RuleTally {
	out := []RuleTally{}
	for i, n := range all {
		if n == (finding.Tally{}) {
			continue
		}
		d := finding.Rule(i).Describe()
		r := RuleTally{Rule: d.ID, Severity: d.Severity.String(), Diverges: n.Diverges, Undetermined: n.Undetermined, Conforms: n.Conforms}
		if titles {
			r.Title = d.Title
		}
		out = append(out, r)
	}
	return out
}

func endpoint(e *finding.Endpoint) Endpoint {
	out := Endpoint{Address: e.Address.String()}
	if e.HasQP {
		out.QP = &e.QP
	}
	return out
}

// NewFinding is a finding's document.
func NewFinding(f *finding.Finding) Finding {
	d := f.Rule.Describe()
	e := f.Endpoint
	out := Finding{
		Rule: d.ID, Verdict: f.Verdict.String(), Severity: d.Severity.String(),
		ConnectionID: strconv.FormatUint(uint64(f.Connection), 10), Endpoint: endpoint(&e),
		Packets: append([]uint64{}, f.Packets()...), Expected: f.Expected, Seen: f.Seen, Sentence: f.Sentence, Source: d.Source, Next: d.Next,
	}
	if f.Path >= 0 {
		path := f.Path
		out.Path = &path
	}
	if f.HasTime {
		out.Time = Time(f.Time)
	}
	return out
}

// NewConnection is a connection's document.
func NewConnection(c *finding.Connection) Connection {
	out := Connection{
		ConnectionID: strconv.FormatUint(uint64(c.ID), 10), Transport: "RoCE", Verdict: c.Verdict().String(), OneWay: c.OneWay,
		Pairing: c.Pairing, Vantage: c.Vantage.String(), Properties: finding.Together(c.Properties), Rules: tallies(&c.Tallies, false),
	}
	if c.MetaRoCE {
		out.Transport = "MetaRoCE, profile mr0"
	}
	for i := range c.Directions {
		d := c.Directions[i]
		x := ReplayDirection{
			Sender: endpoint(&d.Sender), Packets: d.Packets,
			LostBefore: d.Losses.Before, LostAfter: d.Losses.After, ResentUnknown: d.Losses.Unknown, Missed: d.Losses.Capture,
			ToReceiverNS: roundTrip(&d.ToReceiver), ToSenderNS: roundTrip(&d.ToSender),
		}
		if w := d.Waits; w.Known {
			x.Waits = &Waits{LastingNS: w.Lasting, Timers: w.Timer.Times, TimerNS: w.Timer.NS, RNRs: w.RNR.Times, RNRNS: w.RNR.NS}
		}
		if d.MissedKnown {
			x.MissedShare = &d.Missed
		}
		out.Directions = append(out.Directions, x)
	}
	return out
}

func roundTrip(t *finding.RoundTrip) *RoundTrip {
	if !t.Known {
		return nil
	}
	return &RoundTrip{Samples: t.Samples, Minimum: t.Minimum, Mean: t.Mean, Max: t.Max}
}
