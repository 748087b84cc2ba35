package compliance_test

import (
	"errors"
	"testing"

	"github.com/rocelens/rocelens/replay/compliance"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// A network that loses and doubles what the target sends makes no failure of it.
func TestLossIsNoFailure(t *testing.T) {
	t.Parallel()
	n := network()
	serve(t, host(n, 1), func(c *softmetaroce.Config) {
		c.Impairment = softmetaroce.Impairment{Loss: 0.01, Duplicate: 0.01}
	})
	report := examine(t, host(n, 1), host(n, 2), nil)
	for i := range report.Results {
		if r := &report.Results[i]; r.Verdict == compliance.Fail {
			t.Errorf("%s fails after %d runs: expected %s; seen: %s; %v", r.ID, r.Runs, r.Expected, r.Seen, r.Signs)
		}
	}
	if report.Passed < len(report.Results)*9/10 {
		t.Errorf("%d of %d scenarios pass", report.Passed, len(report.Results))
	}
}

// A silent address is told, and no scenario runs.
func TestSilentTargetIsUnreachable(t *testing.T) {
	t.Parallel()
	n := network()
	report, err := compliance.Run(t.Context(), config(host(n, 1), host(n, 2)))
	if !errors.Is(err, compliance.ErrUnreachable) || len(report.Results) > 0 {
		t.Errorf("%v, %d results", err, len(report.Results))
	}
}
