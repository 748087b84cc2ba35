package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	rejPrivate = 84

	// AdditionalLength is the room for additional information in a REJ, APR or SIDR_REP, in bytes.
	AdditionalLength = 72
)

// REJ refuses a connection, or gives an attempt up (IBTA volume 1, section 12.6.7).
type REJ struct {
	LocalID          uint32 // 0 when the sender had none yet
	RemoteID         uint32
	Rejected         Rejected
	Reserved8        uint8 // 6 bits
	AdditionalLength uint8 // 7 bits: valid bytes of Additional
	Reserved9        bool
	Reason           Reason
	Additional       [AdditionalLength]byte // what the reason needs: a GID, a path MTU ...
	PrivateData      []byte                 // up to 148 bytes
}

// Decode reads the message from the start of b.
func (m *REJ) Decode(b []byte) (int, error) {
	if len(b) < rejPrivate {
		*m = REJ{}
		return 0, infiniband.ErrTruncated
	}
	*m = REJ{
		LocalID:          binary.BigEndian.Uint32(b),
		RemoteID:         binary.BigEndian.Uint32(b[4:]),
		Rejected:         Rejected(b[8] >> 6),
		Reserved8:        b[8] & 0x3f,
		AdditionalLength: b[9] >> 1,
		Reserved9:        b[9]&1 != 0,
		Reason:           Reason(binary.BigEndian.Uint16(b[10:])),
		Additional:       [AdditionalLength]byte(b[12:rejPrivate]),
		PrivateData:      private(b, rejPrivate),
	}
	return rejPrivate + len(m.PrivateData), nil
}

// AppendTo appends the message, always of full length, to b.
func (m REJ) AppendTo(b []byte) []byte {
	start := len(b)
	b = appendIDs(b, m.LocalID, m.RemoteID)
	b = append(b, uint8(m.Rejected)<<6|m.Reserved8&0x3f, m.AdditionalLength<<1|flag(m.Reserved9, 1))
	b = binary.BigEndian.AppendUint16(b, uint16(m.Reason))
	b = append(b, m.Additional[:]...)
	return appendPrivate(b, start, m.PrivateData)
}

// Reason is why a connection is refused (IBTA volume 1, section 12.6.7.2).
type Reason uint16

// Reasons that a diagnosis asks for by name.
const (
	ReasonTimeout          Reason = 4
	ReasonInvalidServiceID Reason = 8
	ReasonStaleConnection  Reason = 10
	ReasonConsumer         Reason = 28 // the application refused
)

var reasonNames = [...]string{
	1:  "no QP available",
	2:  "no EE context available",
	3:  "no resources available",
	4:  "timeout",
	5:  "unsupported request",
	6:  "invalid communication ID",
	7:  "invalid communication instance",
	8:  "invalid service ID",
	9:  "invalid transport service type",
	10: "stale connection",
	11: "RDC does not exist",
	12: "primary remote port GID rejected",
	13: "primary remote port LID rejected",
	14: "invalid primary SL",
	15: "invalid primary traffic class",
	16: "invalid primary hop limit",
	17: "invalid primary packet rate",
	18: "alternate remote port GID rejected",
	19: "alternate remote port LID rejected",
	20: "invalid alternate SL",
	21: "invalid alternate traffic class",
	22: "invalid alternate hop limit",
	23: "invalid alternate packet rate",
	24: "port and CM redirection",
	25: "port redirection",
	26: "invalid path MTU",
	27: "insufficient responder resources",
	28: "consumer reject",
	29: "RNR retry count rejected",
	30: "duplicate local communication ID",
	31: "invalid class version",
	32: "invalid primary flow label",
	33: "invalid alternate flow label",
	35: "vendor option not supported",
}

// String says the reason in words; "reserved" when it has none.
func (r Reason) String() string {
	if int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return "reserved"
}
