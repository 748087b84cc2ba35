package scenario

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/mad"

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
	open    bool // may post work
	out, in *flow
}

// work does what an application does when it is awake.
func (s *side) work(now time.Duration) {
	if s.qp == nil {
		return
	}
	s.in.offer(now, s.qp)
	if s.open {
		s.out.post(now, s.qp)
	}
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
	for number, s := range h.accepted {
		h.attach(s, h.Endpoint.QP(number))
	}
	clear(h.accepted)
	var ev roce.Event
	for h.Endpoint.NextEvent(&ev) {
		took = true
		s := h.byQP[ev.QP]
		switch {
		case s == nil:
		case ev.Kind == roce.EventConnected, ev.Kind == roce.EventAccepted:
			s.open = true
		case ev.Kind == roce.EventFailed, ev.Kind == roce.EventRejected:
			s.failed(ev.Err)
		case !s.out.done() || !s.in.done():
			s.failed(errDisconnected)
		default:
			s.open = false
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

var errDisconnected = errors.New("disconnected before the work was done")

// service is what clients ask the connection manager for: TCP port 4791 of the RDMA IP CM service.
const service mad.ServiceID = 1<<24 | 6<<16 | 4791

// start opens the QPs of a connection, or lets the client's connection manager ask for it.
func (c *Connection) start(now time.Duration, handshake bool) error {
	if handshake {
		c.Server.expected[c.ClientQP.QPN] = c
		qp, err := c.Client.Endpoint.Connect(now, c.ClientQP, service)
		if err != nil {
			return fmt.Errorf("connection %d: %w", c.Index, err)
		}
		c.Client.attach(c.clientSide, qp)
		return nil
	}
	client, err := c.Client.Endpoint.Open(c.ClientQP)
	if err != nil {
		return fmt.Errorf("connection %d: %w", c.Index, err)
	}
	server, err := c.Server.Endpoint.Open(c.ServerQP)
	if err != nil {
		return fmt.Errorf("connection %d: %w", c.Index, err)
	}
	c.Client.attach(c.clientSide, client)
	c.Server.attach(c.serverSide, server)
	c.clientSide.open, c.serverSide.open = true, true
	return nil
}

// attach gives a side its QP.
func (h *Host) attach(s *side, qp *roce.QP) {
	s.qp = qp
	h.byQP[qp] = s
}

// accept decides about a peer's REQ: it is one of the scenario's connections.
func (h *Host) accept(r *roce.ConnectRequest) (roce.QPConfig, mad.Reason) {
	c := h.expected[r.LocalQPN]
	if c == nil || r.ServiceID != service {
		return roce.QPConfig{}, mad.ReasonInvalidServiceID
	}
	h.accepted[c.ServerQP.QPN] = c.serverSide
	return c.ServerQP, 0
}
