package infiniband

// RDETHLength is the size of the RDETH in bytes.
const RDETHLength = 4

// RDETH is the reliable datagram extended transport header, 4 bytes (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------+-----------------------------------------------+
//	|   reserved    |                  EE context                   |
//	+---------------+-----------------------------------------------+
type RDETH struct {
	Reserved  uint8
	EEContext uint32 // 24 bits
}

// Decode reads the header from the start of b.
func (h *RDETH) Decode(b []byte) (int, error) {
	if len(b) < RDETHLength {
		*h = RDETH{}
		return 0, ErrTruncated
	}
	*h = RDETH{Reserved: b[0], EEContext: uint24(b[1:4])}
	return RDETHLength, nil
}

// AppendTo appends the header to b. An EE context of more than 24 bits loses its high bits.
func (h RDETH) AppendTo(b []byte) []byte { return appendByteUint24(b, h.Reserved, h.EEContext) }
