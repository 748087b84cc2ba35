package compliance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Config is whom to test, and how.
type Config struct {
	Target       netip.AddrPort // the port is the profile's UDP destination port, at both ends
	Local        netip.Addr     // own address; on one host it must be another than the target's
	Timeout      time.Duration  // how long an answer is waited for that is due at once
	PartitionKey uint16         // the target's
	Seed         uint64         // of ids, nonces and sequence numbers
	Scenarios    []Scenario

	// Progress, when set, is told of each scenario that begins, and each that is done.
	Progress func(done, of int, s *Scenario, r *Result)
}

// DefaultTimeout is long enough for a busy host on the other side of the world.
const DefaultTimeout = 500 * time.Millisecond

// Limits of how often a scenario runs.
const (
	cleanFailures = 2  // without a sign of loss make a failure
	maxRuns       = 10 // that fail
)

// Verdict is what a scenario has come to.
type Verdict uint8

// Verdicts.
const (
	Pass Verdict = iota
	Fail
	Undetermined
)

var verdictNames = [...]string{"pass", "fail", "undetermined"}

// String is the verdict's name.
func (v Verdict) String() string { return verdictNames[v] }

// MarshalText makes the name the verdict's form in JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Result is what a scenario has come to, and what shows it.
type Result struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Clause   string        `json:"clause"`
	Checks   string        `json:"checks"`
	Verdict  Verdict       `json:"verdict"`
	Expected string        `json:"expected,omitempty"` // of a failure
	Seen     string        `json:"seen,omitempty"`     // of a failure; else why it is undetermined
	Runs     int           `json:"runs"`
	Took     time.Duration `json:"ns"`
	Signs    []string      `json:"signs,omitempty"` // of loss, in the last run
	Packets  []Packet      `json:"-"`               // of the run that decided
}

// Packet is one that was sent or has come.
type Packet struct {
	Time        time.Time
	Sent        bool
	Source      netip.AddrPort
	Destination netip.AddrPort
	ECN         uint8
	Data        []byte
	Text        string // the packet in a few words
	Comment     string // why it matters; empty when it does not
	Path        int    // -1: of none
}

// Report is what a run of the suite has come to.
type Report struct {
	Profile      string    `json:"profile"` // "mr0", which is this project's own encoding
	Target       string    `json:"target"`
	Local        string    `json:"local"`
	Began        time.Time `json:"began"`
	Took         int64     `json:"ns"`
	Passed       int       `json:"passed"`
	Failed       int       `json:"failed"`
	Undetermined int       `json:"undetermined"`
	Handshakes   int       `json:"handshakes"`          // begun, in all runs
	Repeated     int       `json:"handshakes_repeated"` // of which the first request was not answered
	Results      []Result  `json:"results"`
}

// Run runs the scenarios one after the other. [ErrUnreachable] says that the target did not answer at all, or that
// nothing could be sent to it; a context that ends leaves a report of what was done until then.
func Run(ctx context.Context, config Config) (*Report, error) {
	l, err := newLab(ctx, &config)
	if err != nil {
		return nil, errors.Join(err, closing(l))
	}
	report := &Report{Profile: "mr0", Target: config.Target.String(), Local: config.Local.String(), Began: l.start}
	err = l.reach(report)
	for i := range config.Scenarios {
		if err != nil {
			break
		}
		s := &config.Scenarios[i]
		if config.Progress != nil {
			config.Progress(i, len(config.Scenarios), s, nil)
		}
		var r Result
		if r, err = l.judge(s, report); err == nil {
			report.add(r)
			if config.Progress != nil {
				config.Progress(i+1, len(config.Scenarios), s, &r)
			}
		}
	}
	report.Took = int64(l.now())
	return report, errors.Join(err, closing(l))
}

func closing(l *lab) error {
	if l == nil {
		return nil
	}
	return l.close()
}

func (r *Report) add(result Result) {
	switch result.Verdict {
	case Pass:
		r.Passed++
	case Fail:
		r.Failed++
	case Undetermined:
		r.Undetermined++
	}
	r.Results = append(r.Results, result)
}

// reach finds out whether anything answers at the target, and how many of some handshakes the network loses.
func (l *lab) reach(report *Report) error {
	const handshakes = 12
	for i := range handshakes {
		x := newAttempt(l)
		var answer *packet
		o := x.guard(func() {
			c := x.newConn()
			if answer = c.knock(); answer != nil && answer.is(typeConnRep) {
				c.opened(answer)
			}
		})
		report.Handshakes += x.requests
		report.Repeated += x.repeated
		x.hangUp()
		switch {
		case o.err != nil && l.ctx.Err() == nil:
			return fmt.Errorf("%w from %s: %w", ErrUnreachable, l.config.Target, o.err)
		case o.err != nil:
			return o.err
		case answer == nil && i == 0:
			return fmt.Errorf("%w from %s to a CONN_REQ of MetaRoCE, profile mr0: is an implementation serving there?", ErrUnreachable, l.config.Target)
		}
	}
	return nil
}

// judge runs a scenario until it is decided.
func (l *lab) judge(s *Scenario, report *Report) (Result, error) {
	r := Result{ID: s.ID, Title: s.Title, Clause: s.Clause, Checks: s.Checks}
	began := l.now()
	clean, sign, busy := 0, "", false // sign: the last one of loss or delay
	for {
		x, o := runOnce(l, s)
		report.Handshakes += x.requests
		report.Repeated += x.repeated
		if o.err != nil {
			return r, o.err
		}
		r.Runs++
		r.Verdict, r.Expected, r.Seen, r.Signs = o.verdict, o.expected, o.seen, x.signs
		if len(x.signs) > 0 {
			sign, busy = x.signs[0], busy || x.busy
		} else if o.verdict == Fail {
			clean++
		}
		if o.verdict == Fail && clean < cleanFailures && r.Runs < maxRuns || o.verdict == Undetermined && r.Runs < cleanFailures || o.again && r.Runs < maxRuns {
			continue
		}
		if o.verdict == Fail && clean < cleanFailures && (report.Repeated > 0 || busy) {
			why := "the network loses packets"
			if busy {
				why = "one of both hosts was busy"
			}
			r.Verdict = Undetermined
			r.Seen = fmt.Sprintf("failed in %s (expected %s; seen: %s), but %s: %s", plural(r.Runs, "run"), o.expected, o.seen, why, sign)
			r.Expected = ""
		}
		r.Took = l.now() - began
		r.Packets = l.keep(x)
		return r, nil
	}
}

// keep makes the packets of an attempt those of a result.
func (l *lab) keep(x *attempt) []Packet {
	out := make([]Packet, 0, len(x.packets))
	for _, p := range x.packets {
		k := Packet{
			Time: l.start.Add(p.at), Sent: p.sent, Source: p.source, Destination: p.destination, ECN: uint8(p.ecn), Data: p.data,
			Text: p.text(), Comment: p.comment, Path: -1,
		}
		if !p.malformed && (p.CH.Type.Sequenced() || p.is(typeACK) || p.is(typeNAK)) {
			k.Path = int(p.CH.PathID)
		}
		out = append(out, k)
	}
	return out
}
