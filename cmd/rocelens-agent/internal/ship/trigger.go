package ship

import (
	"time"

	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// Triggers is how the flight recorder is, for heartbeats.
type Triggers struct {
	Events    uint64
	Last      time.Time
	LastEvent string
	Waiting   uint64
	Lost      uint64
	Problem   string
}

// TellTriggers lets heartbeats tell how the flight recorder is, as ask says.
func (a *Agent) TellTriggers(ask func() Triggers) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.triggers = ask
}

// asked is how the flight recorder is, nothing without one.
func (a *Agent) asked() Triggers {
	a.mutex.Lock()
	ask := a.triggers
	a.mutex.Unlock()
	if ask == nil {
		return Triggers{}
	}
	return ask()
}

// Trigger ships what has become of an event on an interface. The row is safe on disk when it returns nil.
func (a *Agent) Trigger(t *shipping.AgentTrigger, interfaceName string, at time.Time) error {
	b := t.Batch(shipping.AgentSpan{Agent: a.id, Host: a.options.Host, Interface: interfaceName, Start: t.Time, End: at.UTC()})
	a.adding.Lock()
	defer a.adding.Unlock()
	if err := a.spool.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: at.UnixNano(), Urgent: true}); err != nil {
		return err
	}
	return a.spool.Sync()
}
