package infiniband

import "encoding/binary"

// DETHLength is the size of the DETH in bytes.
const DETHLength = 8

// DETH is the datagram extended transport header, 8 bytes (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------------------------------------------------------+
//	|                             Q_Key                             |
//	+---------------+-----------------------------------------------+
//	|   reserved    |                   source QP                   |
//	+---------------+-----------------------------------------------+
type DETH struct {
	QueueKey uint32 // Q_Key
	Reserved uint8
	SourceQP uint32 // 24 bits
}

// Decode reads the header from the start of b.
func (h *DETH) Decode(b []byte) (int, error) {
	if len(b) < DETHLength {
		*h = DETH{}
		return 0, ErrTruncated
	}
	*h = DETH{QueueKey: binary.BigEndian.Uint32(b[0:4]), Reserved: b[4], SourceQP: uint24(b[5:8])}
	return DETHLength, nil
}

// AppendTo appends the header to b. A source QP of more than 24 bits loses its high bits.
func (h DETH) AppendTo(b []byte) []byte {
	return appendByteUint24(binary.BigEndian.AppendUint32(b, h.QueueKey), h.Reserved, h.SourceQP)
}
