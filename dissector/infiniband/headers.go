// Package infiniband holds the transport headers of InfiniBand and RoCE: the base transport header, every
// extended header, opcodes, syndromes and PSN arithmetic (IBTA volume 1, chapter 9).
//
// A decoder looks at the start of the bytes it is given, overwrites the whole header and says how many
// bytes it used. When there are too few it leaves a zero header and answers [ErrTruncated]. Nothing here
// allocates. All multi-byte fields are big-endian; in the diagrams bit 0 is the first on the wire.
package infiniband

import (
	"encoding/binary"
	"errors"
)

// ErrTruncated is the answer of every decoder to fewer bytes than its header has.
var ErrTruncated = errors.New("truncated")

// Numbers with a fixed meaning (IBTA volume 1, sections 3.5.10, 10.9.1.2 and 16).
const (
	DefaultPartitionKey = 0xffff     // full member of the default partition
	GSIQueueKey         = 0x80010000 // Q_Key of QP1
	SubnetManagementQP  = 0          // QP0
	GeneralServicesQP   = 1          // QP1, carries the connection manager's messages
	MulticastQP         = 0xffffff   // destination of multicast datagrams
)

// ICRCLength is the size of the invariant CRC that ends a packet, in bytes.
const ICRCLength = 4

// CNPLength is the size of the reserved, all-zero field that follows the BTH of a congestion notification
// packet, in bytes (IBTA volume 1, annex A17.9.3).
const CNPLength = 16

// uint24 reads the first three bytes of b.
func uint24(b []byte) uint32 {
	_ = b[2]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

// appendByteUint24 appends a byte and the low 24 bits of v, the shape of most four-byte words here.
func appendByteUint24(b []byte, first uint8, v uint32) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(first)<<24|v&maxUint24)
}

const maxUint24 = 1<<24 - 1

// boolBit is bit when set holds, otherwise 0.
func boolBit(set bool, bit uint8) uint8 {
	if set {
		return bit
	}
	return 0
}
