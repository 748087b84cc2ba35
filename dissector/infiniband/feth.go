package infiniband

import "encoding/binary"

// FETHLength is the size of the FETH in bytes.
const FETHLength = 4

// FETH is the flush extended transport header, 4 bytes (IBTA volume 1, annex A19).
//
//	 0               1               2               3
//	+---------------------------------------------------+---+-------+
//	|                    reserved                       |Sel|  PLT  |
//	+---------------------------------------------------+---+-------+
type FETH struct {
	Reserved    uint32 // 26 bits
	Selectivity uint8  // 2 bits
	Placement   uint8  // 4 bits
}

// Decode reads the header from the start of b.
func (h *FETH) Decode(b []byte) (int, error) {
	if len(b) < FETHLength {
		*h = FETH{}
		return 0, ErrTruncated
	}
	word := binary.BigEndian.Uint32(b[0:4])
	*h = FETH{Reserved: word >> 6, Selectivity: b[3] >> 4 & 0x3, Placement: b[3] & 0xf}
	return FETHLength, nil
}

// AppendTo appends the header to b. Values too large for their field lose their high bits.
func (h FETH) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, h.Reserved<<6|uint32(h.Selectivity&0x3)<<4|uint32(h.Placement&0xf))
}
