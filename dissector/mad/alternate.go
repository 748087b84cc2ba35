package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	lapPrivate = 64
	aprPrivate = 84
)

// LAP offers an alternate path for a connection (IBTA volume 1, section 12.6.13). RoCE does not use it.
type LAP struct {
	LocalID               uint32
	RemoteID              uint32
	Reserved8             uint32
	RemoteQPN             uint32 // 24 bits; of a reliable datagram channel the EE context
	RemoteResponseTimeout Timeout
	Reserved15            uint8 // 3 bits
	Reserved16            uint32
	AlternatePath         Path
	PrivateData           []byte // up to 168 bytes
}

// Decode reads the message from the start of b.
func (m *LAP) Decode(b []byte) (int, error) {
	if len(b) < lapPrivate {
		*m = LAP{}
		return 0, infiniband.ErrTruncated
	}
	*m = LAP{
		LocalID:               binary.BigEndian.Uint32(b),
		RemoteID:              binary.BigEndian.Uint32(b[4:]),
		Reserved8:             binary.BigEndian.Uint32(b[8:]),
		RemoteQPN:             uint24(b[12:]),
		RemoteResponseTimeout: Timeout(b[15] >> 3),
		Reserved15:            b[15] & 7,
		Reserved16:            binary.BigEndian.Uint32(b[16:]),
		PrivateData:           private(b, lapPrivate),
	}
	m.AlternatePath.decodeLAP(b[20:lapPrivate])
	return lapPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m LAP) AppendTo(b []byte) []byte {
	start := len(b)
	b = appendIDs(b, m.LocalID, m.RemoteID)
	b = binary.BigEndian.AppendUint32(b, m.Reserved8)
	b = append24(b, m.RemoteQPN, uint8(m.RemoteResponseTimeout)<<3|m.Reserved15&7)
	b = binary.BigEndian.AppendUint32(b, m.Reserved16)
	b = m.AlternatePath.appendLAP(b)
	return appendPrivate(b, start, m.PrivateData)
}

// APR answers a LAP (IBTA volume 1, section 12.6.14).
type APR struct {
	LocalID          uint32
	RemoteID         uint32
	AdditionalLength uint8 // valid bytes of Additional
	Status           APRStatus
	Reserved10       uint16
	Additional       [AdditionalLength]byte
	PrivateData      []byte // up to 148 bytes
}

// Decode reads the message from the start of b.
func (m *APR) Decode(b []byte) (int, error) {
	if len(b) < aprPrivate {
		*m = APR{}
		return 0, infiniband.ErrTruncated
	}
	*m = APR{
		LocalID:          binary.BigEndian.Uint32(b),
		RemoteID:         binary.BigEndian.Uint32(b[4:]),
		AdditionalLength: b[8],
		Status:           APRStatus(b[9]),
		Reserved10:       binary.BigEndian.Uint16(b[10:]),
		Additional:       [AdditionalLength]byte(b[12:aprPrivate]),
		PrivateData:      private(b, aprPrivate),
	}
	return aprPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m APR) AppendTo(b []byte) []byte {
	start := len(b)
	b = append(appendIDs(b, m.LocalID, m.RemoteID), m.AdditionalLength, uint8(m.Status))
	b = binary.BigEndian.AppendUint16(b, m.Reserved10)
	b = append(b, m.Additional[:]...)
	return appendPrivate(b, start, m.PrivateData)
}

// APRStatus is the answer to a LAP (IBTA volume 1, section 12.6.14.1).
type APRStatus uint8

var aprNames = [...]string{
	"alternate path loaded",
	"invalid communication ID",
	"alternate paths are not supported",
	"alternate path rejected",
	"redirection",
	"the path is the current one",
	"QPN or EE context does not fit the communication ID",
	"LID rejected",
	"GID rejected",
	"flow label rejected",
	"traffic class rejected",
	"hop limit rejected",
	"packet rate rejected",
	"SL rejected",
}

// String says the status in words; "reserved" when it has none.
func (s APRStatus) String() string {
	if int(s) < len(aprNames) {
		return aprNames[s]
	}
	return "reserved"
}
