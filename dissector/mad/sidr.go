package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	sidrReqPrivate = 16
	sidrRepPrivate = 96
)

// SIDRREQ is the SIDR_REQ, which asks for the QPN of a datagram service (IBTA volume 1, section 12.11.1).
type SIDRREQ struct {
	RequestID    uint32
	PartitionKey uint16
	Reserved6    uint16
	ServiceID    ServiceID
	PrivateData  []byte // up to 216 bytes
}

// Decode reads the message from the start of b.
func (m *SIDRREQ) Decode(b []byte) (int, error) {
	if len(b) < sidrReqPrivate {
		*m = SIDRREQ{}
		return 0, infiniband.ErrTruncated
	}
	*m = SIDRREQ{
		RequestID:    binary.BigEndian.Uint32(b),
		PartitionKey: binary.BigEndian.Uint16(b[4:]),
		Reserved6:    binary.BigEndian.Uint16(b[6:]),
		ServiceID:    ServiceID(binary.BigEndian.Uint64(b[8:])),
		PrivateData:  private(b, sidrReqPrivate),
	}
	return sidrReqPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m SIDRREQ) AppendTo(b []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, m.RequestID)
	b = binary.BigEndian.AppendUint16(b, m.PartitionKey)
	b = binary.BigEndian.AppendUint16(b, m.Reserved6)
	b = binary.BigEndian.AppendUint64(b, uint64(m.ServiceID))
	return appendPrivate(b, start, m.PrivateData)
}

// IPCM is what the message's private data say of IP addresses; see [REQ.IPCM].
func (m *SIDRREQ) IPCM() (IPCM, bool) { return ipcmOf(m.ServiceID, m.PrivateData) }

// SIDRREP is the SIDR_REP, which answers with a QPN and its Q_Key (IBTA volume 1, section 12.11.2).
type SIDRREP struct {
	RequestID        uint32
	Status           SIDRStatus
	AdditionalLength uint8 // valid bytes of Additional
	Reserved6        uint16
	QPN              uint32 // 24 bits, meaningful when Status is 0
	Reserved11       uint8
	ServiceID        ServiceID
	QueueKey         uint32
	Additional       [AdditionalLength]byte
	PrivateData      []byte // up to 136 bytes
}

// Decode reads the message from the start of b.
func (m *SIDRREP) Decode(b []byte) (int, error) {
	if len(b) < sidrRepPrivate {
		*m = SIDRREP{}
		return 0, infiniband.ErrTruncated
	}
	*m = SIDRREP{
		RequestID:        binary.BigEndian.Uint32(b),
		Status:           SIDRStatus(b[4]),
		AdditionalLength: b[5],
		Reserved6:        binary.BigEndian.Uint16(b[6:]),
		QPN:              uint24(b[8:]),
		Reserved11:       b[11],
		ServiceID:        ServiceID(binary.BigEndian.Uint64(b[12:])),
		QueueKey:         binary.BigEndian.Uint32(b[20:]),
		Additional:       [AdditionalLength]byte(b[24:sidrRepPrivate]),
		PrivateData:      private(b, sidrRepPrivate),
	}
	return sidrRepPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m SIDRREP) AppendTo(b []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, m.RequestID)
	b = append(b, uint8(m.Status), m.AdditionalLength)
	b = binary.BigEndian.AppendUint16(b, m.Reserved6)
	b = append24(b, m.QPN, m.Reserved11)
	b = binary.BigEndian.AppendUint64(b, uint64(m.ServiceID))
	b = binary.BigEndian.AppendUint32(b, m.QueueKey)
	b = append(b, m.Additional[:]...)
	return appendPrivate(b, start, m.PrivateData)
}

// SIDRStatus is the answer to a SIDR_REQ (IBTA volume 1, section 12.11.2.1).
type SIDRStatus uint8

var sidrNames = [...]string{
	"QPN is valid",
	"service ID is not supported",
	"rejected by the service",
	"no QP available",
	"redirection",
	"version is not supported",
}

// String says the status in words; "reserved" when it has none.
func (s SIDRStatus) String() string {
	if int(s) < len(sidrNames) {
		return sidrNames[s]
	}
	return "reserved"
}
