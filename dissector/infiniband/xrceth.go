package infiniband

// XRCETHLength is the size of the XRCETH in bytes.
const XRCETHLength = 4

// XRCETH is the extended reliable connection header, 4 bytes (IBTA volume 1, annex A14).
//
//	 0               1               2               3
//	+---------------+-----------------------------------------------+
//	|   reserved    |                   XRC SRQ                     |
//	+---------------+-----------------------------------------------+
type XRCETH struct {
	Reserved uint8
	SRQ      uint32 // 24 bits
}

// Decode reads the header from the start of b.
func (h *XRCETH) Decode(b []byte) (int, error) {
	if len(b) < XRCETHLength {
		*h = XRCETH{}
		return 0, ErrTruncated
	}
	*h = XRCETH{Reserved: b[0], SRQ: uint24(b[1:4])}
	return XRCETHLength, nil
}

// AppendTo appends the header to b. An SRQ number of more than 24 bits loses its high bits.
func (h XRCETH) AppendTo(b []byte) []byte { return appendByteUint24(b, h.Reserved, h.SRQ) }
