package infiniband

import "encoding/binary"

// IETHLength is the size of the IETH in bytes.
const IETHLength = 4

// IETH is the invalidate extended transport header, 4 bytes (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------------------------------------------------------+
//	|                     R_Key to invalidate                       |
//	+---------------------------------------------------------------+
type IETH struct {
	RemoteKey uint32
}

// Decode reads the header from the start of b.
func (h *IETH) Decode(b []byte) (int, error) {
	if len(b) < IETHLength {
		*h = IETH{}
		return 0, ErrTruncated
	}
	*h = IETH{RemoteKey: binary.BigEndian.Uint32(b[0:4])}
	return IETHLength, nil
}

// AppendTo appends the header to b.
func (h IETH) AppendTo(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.RemoteKey) }
