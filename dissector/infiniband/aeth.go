package infiniband

// AETHLength is the size of the AETH in bytes.
const AETHLength = 4

// AETH is the acknowledgment extended transport header, 4 bytes (IBTA volume 1, sections 9.3 and 9.7.5).
//
//	 0               1               2               3
//	+---------------+-----------------------------------------------+
//	|   syndrome    |                     MSN                       |
//	+---------------+-----------------------------------------------+
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // 24 bits, messages completed by the responder
}

// Decode reads the header from the start of b.
func (h *AETH) Decode(b []byte) (int, error) {
	if len(b) < AETHLength {
		*h = AETH{}
		return 0, ErrTruncated
	}
	*h = AETH{Syndrome: Syndrome(b[0]), MSN: uint24(b[1:4])}
	return AETHLength, nil
}

// AppendTo appends the header to b. An MSN of more than 24 bits loses its high bits.
func (h AETH) AppendTo(b []byte) []byte { return appendByteUint24(b, uint8(h.Syndrome), h.MSN) }
