package roce

import "github.com/rocelens/rocelens/dissector/infiniband"

// Operation is what a work request asks for.
type Operation uint8

// Operations (IBTA volume 1, section 9.4).
const (
	OperationSend Operation = iota
	OperationSendImmediate
	OperationSendInvalidate
	OperationWrite
	OperationWriteImmediate
	OperationRead
	OperationCompareSwap
	OperationFetchAdd
	operationCount
)

var operationNames = [operationCount]string{
	"SEND", "SEND with immediate", "SEND with invalidate", "RDMA WRITE", "RDMA WRITE with immediate", "RDMA READ",
	"COMPARE SWAP", "FETCH ADD",
}

// String is the operation's name in the specification.
func (o Operation) String() string {
	if o < operationCount {
		return operationNames[o]
	}
	return "unknown operation"
}

// receives tells whether the operation takes a receive buffer of the peer.
func (o Operation) receives() bool {
	return o <= OperationSendInvalidate || o == OperationWriteImmediate
}

func (o Operation) atomic() bool { return o == OperationCompareSwap || o == OperationFetchAdd }

// answered tells whether the operation has a response of its own instead of an ACK.
func (o Operation) answered() bool { return o >= OperationRead }

// WorkRequest is work for the send queue. Data must stay as it is until the work completes.
type WorkRequest struct {
	ID            uint64
	Operation     Operation
	Data          []byte // to be sent, or where a READ goes to; atomics have none
	RemoteAddress uint64
	RKey          uint32
	Immediate     uint32 // of the operations with immediate
	Invalidate    uint32 // R_Key of a SEND with invalidate
	SwapOrAdd     uint64
	Compare       uint64
	Solicited     bool // solicited event
}

// message is a work request with its place in the sequence of PSNs. Sequence numbers are PSNs that do not wrap: their
// low 24 bits are on the wire.
type message struct {
	WorkRequest
	first, last uint64
	ssn         uint64 // send sequence number, from 1 (section 9.7.7.2)
	received    uint64 // READ: response packets that have come
	original    uint64 // atomic: what was found
}

// position is the first PSN that is not answered.
func (m *message) position() uint64 { return m.first + m.received }

// packets is how many packets so many bytes need, at least one.
func packets(length, mtu int) uint64 { return uint64(max(1, (length+mtu-1)/mtu)) }

const psnMask = 1<<24 - 1

// wire is the PSN of a sequence number.
func wire(sequence uint64) uint32 { return uint32(sequence) & psnMask }

// near is the sequence number that a PSN stands for: the nearest to ref (section 9.7.2).
func near(ref uint64, psn uint32) uint64 {
	return uint64(int64(ref) + int64(infiniband.PSNDiff(psn, wire(ref))))
}

// firstSequence is the sequence number of an initial PSN. It leaves room below for what is old.
func firstSequence(psn uint32) uint64 { return 1<<24 + uint64(psn&psnMask) }
