package ship

import (
	"slices"
	"strings"
	"time"

	"github.com/rocelens/rocelens/store/shipping"
)

// change is what Run is to take over.
type change struct {
	interval time.Duration
	target   shipping.ShipperConfig
}

// Reload takes over other interfaces, another interval and another database, or other credentials for it. Rows that are under
// way are looked for before they are sent again, as after a start.
func (a *Agent) Reload(interfaces []string, interval time.Duration, target shipping.ShipperConfig) {
	a.mutex.Lock()
	for _, name := range a.options.Interfaces {
		if slices.Contains(interfaces, name) {
			continue
		}
		for reason, n := range a.latest[name].total.Drops {
			if !strings.HasPrefix(reason, "decode: ") {
				a.gone[reason] += n
			}
		}
		delete(a.latest, name)
	}
	a.options.Interfaces, a.options.Interval = slices.Clone(interfaces), interval
	a.mutex.Unlock()
	select {
	case <-a.changes: // nobody has taken it over yet
	default:
	}
	a.changes <- change{interval, target}
}

// lasting is how often the agent reports.
func (a *Agent) lasting() time.Duration {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.options.Interval
}
