//go:build !race

package compliance_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/replay/compliance"
)

// A network that loses and doubles packets both ways makes no failure of it.
func TestLossIsNoFailure(t *testing.T) {
	n := network()
	serve(t, host(n, targetBehind), nil)
	interpose(t, n, losing(1), losing(2))
	report := examine(t, host(n, placeOfTarget), host(n, placeOfSuite), nil)
	expectNoFailure(t, report)
	t.Logf("%d of %d undetermined", report.Undetermined, len(report.Results))
}

// losing loses 1 % and doubles 1 %.
func losing(seed uint64) hook {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(d *datagram, pass func(*datagram)) {
		switch random.IntN(100) {
		case 0:
			return
		case 1:
			pass(d)
		}
		pass(d)
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
