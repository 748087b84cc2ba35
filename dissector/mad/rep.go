package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const repPrivate = 36

// REP accepts a connection (IBTA volume 1, section 12.6.8). Local is the side that sends it, the passive one.
type REP struct {
	LocalID             uint32
	RemoteID            uint32
	LocalQueueKey       uint32
	LocalQPN            uint32 // 24 bits
	Reserved15          uint8
	LocalEEContext      uint32 // 24 bits
	Reserved19          uint8
	StartingPSN         uint32 // 24 bits, at which the receiver of the message is to begin (IBTA volume 1, section 12.7.31)
	Reserved23          uint8
	ResponderResources  uint8
	InitiatorDepth      uint8
	TargetAckDelay      Timeout // longest time to an ACK
	FailoverAccepted    uint8   // 2 bits: 0 accepted, 1 not supported, 2 not accepted
	EndToEndFlowControl bool
	RNRRetryCount       uint8 // 3 bits, 7 for no limit
	SharedReceiveQueue  bool
	Reserved27          uint8 // 4 bits
	LocalCAGUID         uint64
	PrivateData         []byte // up to 196 bytes
}

// Decode reads the message from the start of b.
func (m *REP) Decode(b []byte) (int, error) {
	if len(b) < repPrivate {
		*m = REP{}
		return 0, infiniband.ErrTruncated
	}
	*m = REP{
		LocalID:             binary.BigEndian.Uint32(b),
		RemoteID:            binary.BigEndian.Uint32(b[4:]),
		LocalQueueKey:       binary.BigEndian.Uint32(b[8:]),
		LocalQPN:            uint24(b[12:]),
		Reserved15:          b[15],
		LocalEEContext:      uint24(b[16:]),
		Reserved19:          b[19],
		StartingPSN:         uint24(b[20:]),
		Reserved23:          b[23],
		ResponderResources:  b[24],
		InitiatorDepth:      b[25],
		TargetAckDelay:      Timeout(b[26] >> 3),
		FailoverAccepted:    b[26] >> 1 & 3,
		EndToEndFlowControl: b[26]&1 != 0,
		RNRRetryCount:       b[27] >> 5,
		SharedReceiveQueue:  b[27]&0x10 != 0,
		Reserved27:          b[27] & 0x0f,
		LocalCAGUID:         binary.BigEndian.Uint64(b[28:]),
		PrivateData:         private(b, repPrivate),
	}
	return repPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m REP) AppendTo(b []byte) []byte {
	start := len(b)
	b = appendIDs(b, m.LocalID, m.RemoteID)
	b = binary.BigEndian.AppendUint32(b, m.LocalQueueKey)
	b = append24(b, m.LocalQPN, m.Reserved15)
	b = append24(b, m.LocalEEContext, m.Reserved19)
	b = append24(b, m.StartingPSN, m.Reserved23)
	b = append(b, m.ResponderResources, m.InitiatorDepth,
		uint8(m.TargetAckDelay)<<3|m.FailoverAccepted&3<<1|flag(m.EndToEndFlowControl, 1),
		m.RNRRetryCount<<5|flag(m.SharedReceiveQueue, 0x10)|m.Reserved27&0x0f)
	b = binary.BigEndian.AppendUint64(b, m.LocalCAGUID)
	return appendPrivate(b, start, m.PrivateData)
}
