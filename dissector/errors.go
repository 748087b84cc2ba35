package dissector

import "errors"

// The ways in which Decode can fail. All are preallocated; Packet.Fault says where.
var (
	// ErrTruncated: a header goes on past the captured bytes while the wire had them.
	ErrTruncated = errors.New("cut by the capture")
	// ErrMalformed: a header contradicts its protocol or the lengths around it.
	ErrMalformed = errors.New("malformed")
	// ErrUnsupported: recognised, named, and not decoded.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotRDMA: a whole packet of some other kind.
	ErrNotRDMA = errors.New("not RDMA")
)

// Fault is the place and reason of a decode error.
type Fault struct {
	Layer  LayerType
	Reason Reason
	Offset uint16 // bytes from the start of the frame
}
