package infiniband

import "encoding/binary"

// AtomicETHLength is the size of the AtomicETH in bytes.
const AtomicETHLength = 28

// AtomicETH is the atomic extended transport header, 28 bytes (IBTA volume 1, section 9.3).
//
//	 0               1               2               3
//	+---------------------------------------------------------------+
//	|                   virtual address (8 bytes)                   |
//	+---------------------------------------------------------------+
//	|                             R_Key                             |
//	+---------------------------------------------------------------+
//	|                  swap or add data (8 bytes)                   |
//	+---------------------------------------------------------------+
//	|                     compare data (8 bytes)                    |
//	+---------------------------------------------------------------+
type AtomicETH struct {
	VirtualAddress uint64
	RemoteKey      uint32
	SwapOrAdd      uint64
	Compare        uint64
}

// Decode reads the header from the start of b.
func (h *AtomicETH) Decode(b []byte) (int, error) {
	if len(b) < AtomicETHLength {
		*h = AtomicETH{}
		return 0, ErrTruncated
	}
	*h = AtomicETH{
		VirtualAddress: binary.BigEndian.Uint64(b[0:8]),
		RemoteKey:      binary.BigEndian.Uint32(b[8:12]),
		SwapOrAdd:      binary.BigEndian.Uint64(b[12:20]),
		Compare:        binary.BigEndian.Uint64(b[20:28]),
	}
	return AtomicETHLength, nil
}

// AppendTo appends the header to b.
func (h AtomicETH) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, h.RemoteKey)
	b = binary.BigEndian.AppendUint64(b, h.SwapOrAdd)
	return binary.BigEndian.AppendUint64(b, h.Compare)
}
