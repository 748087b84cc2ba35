package scenario

import (
	"time"

	"github.com/rocelens/rocelens/replay/roce"
)

// Connection is what an injector may want to know about one.
type Connection struct {
	Index                  int
	Client, Server         *Host
	ClientQP, ServerQP     roce.QPConfig
	clientSide, serverSide *side
}

// Ends are the two QPs of a connection.
func (c *Connection) Ends() (client, server *roce.QP) { return c.clientSide.qp, c.serverSide.qp }

// side is one end of a connection: the work of its own, and that of the peer, for which it has receive buffers.
type side struct {
	qp      *roce.QP
	out, in *flow
}

// work does what an application does when it is awake.
func (s *side) work(now time.Duration) {
	s.in.offer(now, s.qp)
	s.out.post(now, s.qp)
}

// next is when the application wants to be woken.
func (s *side) next() time.Duration {
	at := roce.Never
	if s.out.drawn && s.out.err == nil {
		at = s.out.postAt
	}
	if s.in.late && s.in.err == nil {
		at = min(at, s.in.receiveAt)
	}
	return at
}

// work takes events and completions, and lets applications post. It tells whether there was something to take.
func (h *Host) work(now time.Duration) (took bool) {
	var ev roce.Event
	for h.Endpoint.NextEvent(&ev) {
		took = true
		if s := h.byQP[ev.QP]; s != nil && ev.Kind == roce.EventFailed {
			s.failed(ev.Err)
		}
	}
	var c roce.Completion
	for h.Endpoint.NextCompletion(&c) {
		took = true
		s := h.byQP[c.QP]
		switch {
		case s == nil:
		case c.Receive:
			s.in.receive(&c)
		default:
			s.out.complete(&c)
		}
	}
	for _, s := range h.sides {
		s.work(now)
	}
	return took
}

// failed ends the work of both ends: their QPs are of no use any more.
func (s *side) failed(err error) {
	for _, f := range [2]*flow{s.out, s.in} {
		if f.err == nil {
			f.err = err
		}
	}
}
