package simulation

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// Endpoint makes a node of a MetaRoCE endpoint.
type Endpoint struct {
	*metaroce.Endpoint
	// OnHandle, when set, is called after each datagram.
	OnHandle func(now time.Duration, d *metaroce.Datagram, v metaroce.Verdict)
}

// frameOverhead is what Ethernet, IPv4 and UDP add to a UDP payload: 14 + 4 + 20 + 8 bytes.
const frameOverhead = 46

// Handle gives a frame to the endpoint.
func (e *Endpoint) Handle(now time.Duration, f *Frame) {
	d := metaroce.Datagram{Source: f.Source, Destination: f.Destination, ECN: f.ECN, Payload: f.Payload}
	v := e.Endpoint.Handle(now, &d)
	if e.OnHandle != nil {
		e.OnHandle(now, &d, v)
	}
}

// Poll takes a datagram from the endpoint.
func (e *Endpoint) Poll(now time.Duration, scratch []byte) (Frame, bool) {
	d, ok := e.Endpoint.Poll(now, scratch)
	return Frame{
		Source: d.Source, Destination: d.Destination, Plane: d.Plane, ECN: d.ECN, Size: len(d.Payload) + frameOverhead, Payload: d.Payload,
	}, ok
}
