package ship

import (
	"strings"

	"github.com/rocelens/rocelens/capture/portstat"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/shipping"
)

// Counters puts what is counted beside the packets of one interface into the spool. It implements Companion.
type Counters struct {
	agent  *Agent
	reader *portstat.Reader
}

// NewCounters begins to count.
func (a *Agent) NewCounters(name string, reader *portstat.Reader) *Counters {
	_, ports := reader.Read()
	a.note(name, ports)
	return &Counters{a, reader}
}

// note keeps which RDMA ports an interface has, for the heartbeat.
func (a *Agent) note(name string, ports []portstat.RDMA) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.rdma[name] = ports
}

// Rows implements Companion.
func (c *Counters) Rows(span shipping.AgentSpan, _ *shipping.AgentInterval) []shipping.AgentBatch {
	values, ports := c.reader.Read()
	c.agent.note(span.Interface, ports)
	rows := make([]shipping.PortCounter, len(values))
	for i := range values {
		v := &values[i]
		rows[i] = shipping.PortCounter{
			Source: uint8(v.Source), Device: v.Device, Port: v.Port, Name: v.Name, Setting: v.Text,
			Value: flow.Count{N: v.Number, Known: v.HasNumber}, Delta: flow.Count{N: v.Delta, Known: v.HasDelta},
		}
	}
	return shipping.PortCountersBatch(span, rows)
}

// noRDMA stands in the heartbeat for an interface without an RDMA port.
const noRDMA = "no RDMA device"

// rdmaOf is what the heartbeat says of an interface.
func rdmaOf(ports []portstat.RDMA) (text string, bypassed bool) {
	if len(ports) == 0 {
		return noRDMA, false
	}
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.String()
		bypassed = bypassed || !p.Soft
	}
	return strings.Join(names, ", "), bypassed
}
