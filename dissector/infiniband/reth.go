package infiniband

import "encoding/binary"

// RETHLength is the size of the RETH in bytes.
const RETHLength = 16

// RETH is the RDMA extended transport header, 16 bytes (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------------------------------------------------------+
//	|                   virtual address, high half                  |
//	+---------------------------------------------------------------+
//	|                   virtual address, low half                   |
//	+---------------------------------------------------------------+
//	|                             R_Key                             |
//	+---------------------------------------------------------------+
//	|                           DMA length                          |
//	+---------------------------------------------------------------+
type RETH struct {
	VirtualAddress uint64
	RemoteKey      uint32 // R_Key
	DMALength      uint32 // bytes of the whole message
}

// Decode reads the header from the start of b.
func (h *RETH) Decode(b []byte) (int, error) {
	if len(b) < RETHLength {
		*h = RETH{}
		return 0, ErrTruncated
	}
	*h = RETH{
		VirtualAddress: binary.BigEndian.Uint64(b[0:8]),
		RemoteKey:      binary.BigEndian.Uint32(b[8:12]),
		DMALength:      binary.BigEndian.Uint32(b[12:16]),
	}
	return RETHLength, nil
}

// AppendTo appends the header to b.
func (h RETH) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, h.RemoteKey)
	return binary.BigEndian.AppendUint32(b, h.DMALength)
}
