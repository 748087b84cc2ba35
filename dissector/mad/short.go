package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	idsPrivate  = 8
	dreqPrivate = 12
	mraPrivate  = 10
)

// RTU confirms a REP: the connection is ready to use (IBTA volume 1, section 12.6.9).
type RTU struct {
	LocalID     uint32
	RemoteID    uint32
	PrivateData []byte // up to 224 bytes
}

// Decode reads the message from the start of b.
func (m *RTU) Decode(b []byte) (int, error) {
	if len(b) < idsPrivate {
		*m = RTU{}
		return 0, infiniband.ErrTruncated
	}
	*m = RTU{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), private(b, idsPrivate)}
	return idsPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m RTU) AppendTo(b []byte) []byte {
	return appendPrivate(appendIDs(b, m.LocalID, m.RemoteID), len(b), m.PrivateData)
}

// DREQ asks for the end of a connection (IBTA volume 1, section 12.6.10).
type DREQ struct {
	LocalID     uint32
	RemoteID    uint32
	RemoteQPN   uint32 // 24 bits; of a reliable datagram channel the EE context
	Reserved11  uint8
	PrivateData []byte // up to 220 bytes
}

// Decode reads the message from the start of b.
func (m *DREQ) Decode(b []byte) (int, error) {
	if len(b) < dreqPrivate {
		*m = DREQ{}
		return 0, infiniband.ErrTruncated
	}
	*m = DREQ{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), uint24(b[8:]), b[11], private(b, dreqPrivate)}
	return dreqPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m DREQ) AppendTo(b []byte) []byte {
	start := len(b)
	b = append24(appendIDs(b, m.LocalID, m.RemoteID), m.RemoteQPN, m.Reserved11)
	return appendPrivate(b, start, m.PrivateData)
}

// DREP confirms a DREQ (IBTA volume 1, section 12.6.11).
type DREP struct {
	LocalID     uint32
	RemoteID    uint32
	PrivateData []byte // up to 224 bytes
}

// Decode reads the message from the start of b.
func (m *DREP) Decode(b []byte) (int, error) {
	if len(b) < idsPrivate {
		*m = DREP{}
		return 0, infiniband.ErrTruncated
	}
	*m = DREP{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), private(b, idsPrivate)}
	return idsPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m DREP) AppendTo(b []byte) []byte {
	return appendPrivate(appendIDs(b, m.LocalID, m.RemoteID), len(b), m.PrivateData)
}

// MRA says that a message was received and its answer will take longer (IBTA volume 1, section 12.6.6).
type MRA struct {
	LocalID        uint32
	RemoteID       uint32
	Answered       Rejected // the message that was received
	Reserved8      uint8    // 6 bits
	ServiceTimeout Timeout  // longest time to the answer
	Reserved9      uint8    // 3 bits
	PrivateData    []byte   // up to 222 bytes
}

// Decode reads the message from the start of b.
func (m *MRA) Decode(b []byte) (int, error) {
	if len(b) < mraPrivate {
		*m = MRA{}
		return 0, infiniband.ErrTruncated
	}
	*m = MRA{
		LocalID:        binary.BigEndian.Uint32(b),
		RemoteID:       binary.BigEndian.Uint32(b[4:]),
		Answered:       Rejected(b[8] >> 6),
		Reserved8:      b[8] & 0x3f,
		ServiceTimeout: Timeout(b[9] >> 3),
		Reserved9:      b[9] & 7,
		PrivateData:    private(b, mraPrivate),
	}
	return mraPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m MRA) AppendTo(b []byte) []byte {
	start := len(b)
	b = appendIDs(b, m.LocalID, m.RemoteID)
	b = append(b, uint8(m.Answered)<<6|m.Reserved8&0x3f, uint8(m.ServiceTimeout)<<3|m.Reserved9&7)
	return appendPrivate(b, start, m.PrivateData)
}
