package infiniband

import "encoding/binary"

// AtomicAckETHLength is the size of the AtomicAckETH in bytes.
const AtomicAckETHLength = 8

// AtomicAckETH is the atomic acknowledgment extended transport header, 8 bytes (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------------------------------------------------------+
//	|                original remote data (8 bytes)                 |
//	+---------------------------------------------------------------+
type AtomicAckETH struct {
	OriginalData uint64
}

// Decode reads the header from the start of b.
func (h *AtomicAckETH) Decode(b []byte) (int, error) {
	if len(b) < AtomicAckETHLength {
		*h = AtomicAckETH{}
		return 0, ErrTruncated
	}
	*h = AtomicAckETH{OriginalData: binary.BigEndian.Uint64(b[0:8])}
	return AtomicAckETHLength, nil
}

// AppendTo appends the header to b.
func (h AtomicAckETH) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(b, h.OriginalData)
}
