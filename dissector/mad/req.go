package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const reqPrivate = 140

// REQ asks for a connection (IBTA volume 1, section 12.6.5). Local is the side that sends it, the active one.
type REQ struct {
	LocalID               uint32 // communication ID
	Reserved4             uint32
	ServiceID             ServiceID
	LocalCAGUID           uint64
	Reserved24            uint32
	LocalQueueKey         uint32
	LocalQPN              uint32 // 24 bits
	ResponderResources    uint8  // RDMA READs and atomics that the sender can answer at a time
	LocalEEContext        uint32 // 24 bits
	InitiatorDepth        uint8  // RDMA READs and atomics that the sender will have open at a time
	RemoteEEContext       uint32 // 24 bits
	RemoteResponseTimeout Timeout
	TransportService      TransportService
	EndToEndFlowControl   bool
	StartingPSN           uint32 // 24 bits, at which the receiver of the message is to begin (IBTA volume 1, section 12.7.31)
	LocalResponseTimeout  Timeout
	RetryCount            uint8 // 3 bits: times that a packet without an answer is sent again
	PartitionKey          uint16
	PathMTU               MTU
	RDCExists             bool
	RNRRetryCount         uint8 // 3 bits, 7 for no limit
	MaxCMRetries          uint8 // 4 bits: times that a message of the communication manager is sent again
	SharedReceiveQueue    bool
	ExtendedTransport     uint8 // 3 bits, 1 for XRC
	PrimaryPath           Path
	AlternatePath         Path
	PrivateData           []byte // up to 92 bytes; aliases what was decoded
}

// Decode reads the message from the start of b.
func (m *REQ) Decode(b []byte) (int, error) {
	if len(b) < reqPrivate {
		*m = REQ{}
		return 0, infiniband.ErrTruncated
	}
	*m = REQ{
		LocalID:               binary.BigEndian.Uint32(b),
		Reserved4:             binary.BigEndian.Uint32(b[4:]),
		ServiceID:             ServiceID(binary.BigEndian.Uint64(b[8:])),
		LocalCAGUID:           binary.BigEndian.Uint64(b[16:]),
		Reserved24:            binary.BigEndian.Uint32(b[24:]),
		LocalQueueKey:         binary.BigEndian.Uint32(b[28:]),
		LocalQPN:              uint24(b[32:]),
		ResponderResources:    b[35],
		LocalEEContext:        uint24(b[36:]),
		InitiatorDepth:        b[39],
		RemoteEEContext:       uint24(b[40:]),
		RemoteResponseTimeout: Timeout(b[43] >> 3),
		TransportService:      TransportService(b[43] >> 1 & 3),
		EndToEndFlowControl:   b[43]&1 != 0,
		StartingPSN:           uint24(b[44:]),
		LocalResponseTimeout:  Timeout(b[47] >> 3),
		RetryCount:            b[47] & 7,
		PartitionKey:          binary.BigEndian.Uint16(b[48:]),
		PathMTU:               MTU(b[50] >> 4),
		RDCExists:             b[50]&8 != 0,
		RNRRetryCount:         b[50] & 7,
		MaxCMRetries:          b[51] >> 4,
		SharedReceiveQueue:    b[51]&8 != 0,
		ExtendedTransport:     b[51] & 7,
		PrivateData:           private(b, reqPrivate),
	}
	m.PrimaryPath.decodeREQ(b[52:96])
	m.AlternatePath.decodeREQ(b[96:140])
	return reqPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b. Values too large for their field lose their
// high bits, private data what there is no room for.
func (m REQ) AppendTo(b []byte) []byte {
	start := len(b)
	b = appendIDs(b, m.LocalID, m.Reserved4)
	b = binary.BigEndian.AppendUint64(b, uint64(m.ServiceID))
	b = binary.BigEndian.AppendUint64(b, m.LocalCAGUID)
	b = binary.BigEndian.AppendUint32(b, m.Reserved24)
	b = binary.BigEndian.AppendUint32(b, m.LocalQueueKey)
	b = append24(b, m.LocalQPN, m.ResponderResources)
	b = append24(b, m.LocalEEContext, m.InitiatorDepth)
	b = append24(b, m.RemoteEEContext,
		uint8(m.RemoteResponseTimeout)<<3|uint8(m.TransportService&3)<<1|flag(m.EndToEndFlowControl, 1))
	b = append24(b, m.StartingPSN, uint8(m.LocalResponseTimeout)<<3|m.RetryCount&7)
	b = binary.BigEndian.AppendUint16(b, m.PartitionKey)
	b = append(b,
		uint8(m.PathMTU)<<4|flag(m.RDCExists, 8)|m.RNRRetryCount&7,
		m.MaxCMRetries<<4|flag(m.SharedReceiveQueue, 8)|m.ExtendedTransport&7)
	b = m.PrimaryPath.appendREQ(b)
	b = m.AlternatePath.appendREQ(b)
	return appendPrivate(b, start, m.PrivateData)
}

// IPCM is what the REQ's private data say of IP addresses. There is none when the service ID is not of the
// RDMA IP CM service, when the private data were cut, or when they are not of a version that is known.
func (m *REQ) IPCM() (IPCM, bool) { return ipcmOf(m.ServiceID, m.PrivateData) }
