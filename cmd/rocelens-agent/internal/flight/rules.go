package flight

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/replay/finding"
)

// Rules say what is worth a record.
type Rules struct {
	Divergences   bool // of replay, of Severity and above
	Severity      finding.Severity
	Findings      map[finding.Rule]bool // of replay, whatever their severity
	NAKs          uint32                // of one direction of a connection in a second; 0: none are enough
	Retransmitted float64               // share of the packets of a direction in a second, 0 to 1; 0: none is enough
	CE            float64               // the same
	Throughput    float64               // share of what passed in a second before that has to pass in one; 0: none has to
	PathFailure   bool
}

// DefaultRules are what is recorded when nothing is asked for.
var DefaultRules = []string{"divergence=error", "naks=16", "retransmitted=5%", "path-failure"}

// ErrRule says that a rule cannot be read.
var ErrRule = errors.New("--trigger takes divergence=SEVERITY, rule=ID, naks=N, retransmitted=N%, ce=N%, throughput=N%, path-failure and none")

// ParseRules reads rules such as naks=16. none stands for none but those beside it.
func ParseRules(words []string) (Rules, error) {
	r := Rules{Findings: map[finding.Rule]bool{}}
	for _, word := range words {
		name, value, valued := strings.Cut(word, "=")
		if err := r.set(name, value, valued); err != nil {
			return r, fmt.Errorf("--trigger %s: %w", word, err)
		}
	}
	return r, nil
}

func (r *Rules) set(name, value string, valued bool) (err error) {
	switch name {
	case "none", "path-failure":
		if valued {
			return ErrRule
		}
		r.PathFailure = r.PathFailure || name == "path-failure"
	case "divergence":
		severity, ok := finding.ParseSeverity(value)
		if !ok {
			return errors.New("a severity is notice, warning or error")
		}
		r.Divergences, r.Severity = true, severity
	case "rule":
		rule, ok := finding.Find(value)
		if !ok {
			return errors.New("there is no such rule: docs/replay-rules.md lists them")
		}
		r.Findings[rule] = true
	case "naks":
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || n == 0 {
			return errors.New("a number of NAKs in a second is above 0")
		}
		r.NAKs = uint32(n)
	case "retransmitted":
		r.Retransmitted, err = share(value)
	case "ce":
		r.CE, err = share(value)
	case "throughput":
		r.Throughput, err = share(value)
	default:
		return ErrRule
	}
	return err
}

// NeedReplay tells whether one of the rules rests on replay.
func (r *Rules) NeedReplay() bool { return r.Divergences || len(r.Findings) > 0 }

func share(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(n > 0 && n <= 100) {
		return 0, errors.New("a share is above 0% and at most 100%")
	}
	return n / 100, nil
}
