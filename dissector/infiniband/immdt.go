package infiniband

import "encoding/binary"

// ImmDtLength is the size of the ImmDt in bytes.
const ImmDtLength = 4

// ImmDt is the immediate data, 4 opaque bytes read as big-endian (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------------------------------------------------------+
//	|                        immediate data                         |
//	+---------------------------------------------------------------+
type ImmDt struct {
	Data uint32
}

// Decode reads the header from the start of b.
func (h *ImmDt) Decode(b []byte) (int, error) {
	if len(b) < ImmDtLength {
		*h = ImmDt{}
		return 0, ErrTruncated
	}
	*h = ImmDt{Data: binary.BigEndian.Uint32(b[0:4])}
	return ImmDtLength, nil
}

// AppendTo appends the header to b.
func (h ImmDt) AppendTo(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.Data) }
