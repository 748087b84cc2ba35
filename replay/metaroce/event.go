package metaroce

import (
	"errors"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// EventKind is what happened to a connection.
type EventKind uint8

// Kinds of events.
const (
	EventConnected    EventKind = iota // CONN_REP came: streams can be used
	EventAccepted                      // a peer's request was taken: streams can be used
	EventRejected                      // CONN_REJ came, see Reject
	EventTimedOut                      // no answer to any CONN_REQ
	EventDisconnected                  // by either end, see Disconnect and Err
	EventPathFailed                    // path_failed_after timeouts in a row on Path
	EventPathRestored                  // a PROBE of Path was acknowledged
	EventRepath                        // Path has a new source port
)

var eventNames = [...]string{
	"connected", "accepted", "rejected", "timed out", "disconnected", "path failed", "path restored", "re-path",
}

// String is a phrase for people.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to a connection. The last of a connection is one of rejected, timed out and
// disconnected.
type Event struct {
	Kind       EventKind
	Connection *Connection
	Path       uint8                // of events about a path
	Reject     mr0.RejectReason     // of EventRejected
	Disconnect mr0.DisconnectReason // of EventDisconnected
	Err        error                // of EventDisconnected: the NAK that ended the connection; nil: none
}

// Errors of work requests and connections.
var (
	ErrReceiverNotReady = errors.New("receiver not ready")
	ErrRemoteAccess     = errors.New("remote access error")
	ErrInvalidRequest   = errors.New("invalid request")
	ErrRemoteOperation  = errors.New("remote operation error")
	ErrStreamUnknown    = errors.New("stream unknown to the peer")
	ErrFlushed          = errors.New("connection ended before the work was done")
	ErrNotOpen          = errors.New("connection is not open")
	ErrNoStream         = errors.New("stream is out of the range that was agreed upon")
	ErrTooLong          = errors.New("message longer than 4294967295 bytes")
	ErrTooMany          = errors.New("too many connections")
	ErrAddress          = errors.New("address missing, or not of the family of the own one")
	ErrOperation        = errors.New("unknown operation")
)

// nakError is the error that a NAK's reason stands for.
func nakError(r mr0.NAKReason) error {
	switch r {
	case mr0.NAKReasonReceiverNotReady:
		return ErrReceiverNotReady
	case mr0.NAKReasonRemoteAccessError:
		return ErrRemoteAccess
	case mr0.NAKReasonInvalidRequest:
		return ErrInvalidRequest
	case mr0.NAKReasonRemoteOperationError:
		return ErrRemoteOperation
	case mr0.NAKReasonStreamUnknown:
		return ErrStreamUnknown
	}
	return nil
}

// NextEvent takes the oldest event that was not taken.
func (e *Endpoint) NextEvent(out *Event) bool {
	if e.events.len() == 0 {
		return false
	}
	*out = e.events.pop()
	return true
}

// NextCompletion takes the oldest completion that was not taken.
func (e *Endpoint) NextCompletion(out *Completion) bool {
	if e.completions.len() == 0 {
		return false
	}
	*out = e.completions.pop()
	return true
}

// report queues an event. Those about paths are left out when nobody takes events.
func (e *Endpoint) report(ev Event) {
	if ev.Kind >= EventPathFailed && e.events.len() >= maxEvents {
		return
	}
	e.events.push(ev)
}
