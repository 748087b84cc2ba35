package roce

import (
	"errors"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// EventKind is what happened to a queue pair.
type EventKind uint8

// Kinds of events.
const (
	EventConnected    EventKind = iota // REP came: work can be posted
	EventAccepted                      // a peer's REQ was taken; its RTU or first request came
	EventRejected                      // REJ came, or nothing at all (see Err)
	EventDisconnected                  // by DREQ of either end
	EventFailed                        // the QP went to the error state, see Err
)

var eventNames = [...]string{"connected", "accepted", "rejected", "disconnected", "failed"}

// String is a phrase for people.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to a queue pair.
type Event struct {
	Kind EventKind
	QP   *QP
	Err  error // of EventFailed and EventRejected
}

// Completion is the end of a work request, or a message that came into a receive buffer.
type Completion struct {
	QP           *QP
	ID           uint64 // of the work request, or of the receive buffer
	Receive      bool   // a message of the peer
	Operation    Operation
	Err          error  // nil: done
	Length       int    // bytes of the message
	Immediate    uint32 // meaningful when HasImmediate
	HasImmediate bool
	Invalidated  uint32 // R_Key that a SEND with invalidate named
	Original     uint64 // what an atomic found
}

// Errors of work requests and queue pairs (IBTA volume 1, sections 9.9.2 and 10.10.3).
var (
	ErrRetryExceeded    = errors.New("transport retry counter exceeded")
	ErrRNRRetryExceeded = errors.New("RNR retry counter exceeded")
	ErrInvalidRequest   = errors.New("remote invalid request error")
	ErrRemoteAccess     = errors.New("remote access error")
	ErrRemoteOperation  = errors.New("remote operational error")
	ErrBadResponse      = errors.New("bad response")
	ErrRefused          = errors.New("a request of the peer was refused")
	ErrFlushed          = errors.New("work request flushed")
	ErrNotReady         = errors.New("queue pair is not ready to send")
	ErrOperation        = errors.New("unknown operation")
	ErrTooLong          = errors.New("message longer than 2^31 bytes")
	ErrInUse            = errors.New("queue pair number in use")
	ErrAlignment        = errors.New("address of an atomic operation is no multiple of 8")
)

// nakError is the error that a NAK code stands for.
func nakError(c infiniband.NAKCode) error {
	switch c {
	case infiniband.NAKInvalidRequest:
		return ErrInvalidRequest
	case infiniband.NAKRemoteAccessError:
		return ErrRemoteAccess
	case infiniband.NAKRemoteOperationalError:
		return ErrRemoteOperation
	case infiniband.NAKPSNSequenceError, infiniband.NAKInvalidRDRequest, infiniband.NAKOperationInProgress:
	}
	return ErrBadResponse
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
