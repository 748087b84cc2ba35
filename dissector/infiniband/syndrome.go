package infiniband

import (
	"strconv"
	"time"
)

// Syndrome is byte 0 of the AETH (IBTA volume 1, section 9.7.5.2): bit 7 is zero, bits 6 and 5 are the
// type, bits 4 to 0 a value whose meaning depends on the type.
type Syndrome uint8

// SyndromeType is the upper three bits of a syndrome. Values that are not named here are reserved, those
// with the top bit among them.
type SyndromeType uint8

// Syndrome types.
const (
	SyndromeACK      SyndromeType = 0
	SyndromeRNR      SyndromeType = 1
	SyndromeReserved SyndromeType = 2
	SyndromeNAK      SyndromeType = 3
)

// String is the name of the type.
func (t SyndromeType) String() string {
	switch t {
	case SyndromeACK:
		return "ACK"
	case SyndromeRNR:
		return "RNR NAK"
	case SyndromeNAK:
		return "NAK"
	case SyndromeReserved:
	}
	return "reserved"
}

// Type is the type of acknowledgment.
func (s Syndrome) Type() SyndromeType { return SyndromeType(s >> 5) }

// Value is the lower five bits: credit code of an ACK, timer code of an RNR NAK, code of a NAK.
func (s Syndrome) Value() uint8 { return uint8(s & 0x1f) }

// IsACK tells whether the syndrome is a positive acknowledgment.
func (s Syndrome) IsACK() bool { return s.Type() == SyndromeACK }

// IsRNR tells whether the responder was not ready.
func (s Syndrome) IsRNR() bool { return s.Type() == SyndromeRNR }

// IsNAK tells whether the syndrome is a negative acknowledgment other than receiver-not-ready.
func (s Syndrome) IsNAK() bool { return s.Type() == SyndromeNAK }

// NAKCode is the reason of a negative acknowledgment. It means something only when IsNAK holds.
func (s Syndrome) NAKCode() NAKCode { return NAKCode(s.Value()) }

// rnrTimers has the RNR NAK timer field's encoding, in units of ten microseconds
// (IBTA volume 1, section 9.7.5.2, table of RNR NAK timer values).
var rnrTimers = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRTimer is the least time that the requester has to wait before it tries again, 10 µs to 655.36 ms. It
// is 0 when the syndrome is no RNR NAK.
func (s Syndrome) RNRTimer() time.Duration {
	if !s.IsRNR() {
		return 0
	}
	return time.Duration(rnrTimers[s.Value()]) * 10 * time.Microsecond
}

// TimerText writes an RNR timer as the IBTA's table does, in milliseconds with two decimals.
func TimerText(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + " ms"
}

// creditCounts has the encoding of the ACK's credit count (IBTA volume 1, section 9.7.7.2). Code 31 is
// absent: it means that the responder does not limit the requester.
var creditCounts = [31]uint16{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
}

// CreditCount is the number of receive requests that the responder has posted, 0 to 32768. limited is
// false, and n 0, when the responder does not take part in end-to-end flow control or the syndrome is no ACK.
func (s Syndrome) CreditCount() (n int, limited bool) {
	if !s.IsACK() || int(s.Value()) >= len(creditCounts) {
		return 0, false
	}
	return int(creditCounts[s.Value()]), true
}

// String is a phrase such as "ACK, credit count 31 (unlimited)", "RNR NAK, timer 1.28 ms" or "NAK, PSN sequence error".
func (s Syndrome) String() string {
	switch s.Type() {
	case SyndromeACK:
		code := "ACK, credit count " + strconv.Itoa(int(s.Value()))
		n, limited := s.CreditCount()
		if !limited {
			return code + " (unlimited)"
		}
		return code + " (" + strconv.Itoa(n) + " credits)"
	case SyndromeRNR:
		return "RNR NAK, timer " + TimerText(s.RNRTimer())
	case SyndromeNAK:
		return "NAK, " + s.NAKCode().String()
	case SyndromeReserved:
	}
	return "reserved syndrome 0x" + strconv.FormatUint(uint64(s), 16)
}

// NAKCode is the reason of a negative acknowledgment, 5 bits (IBTA volume 1, section 9.7.5.2).
type NAKCode uint8

// NAK codes; all others are reserved.
const (
	NAKPSNSequenceError       NAKCode = 0
	NAKInvalidRequest         NAKCode = 1
	NAKRemoteAccessError      NAKCode = 2
	NAKRemoteOperationalError NAKCode = 3
	NAKInvalidRDRequest       NAKCode = 4
	NAKOperationInProgress    NAKCode = 5
)

// String is the IBTA's name of the code in lower case.
func (c NAKCode) String() string {
	switch c {
	case NAKPSNSequenceError:
		return "PSN sequence error"
	case NAKInvalidRequest:
		return "invalid request"
	case NAKRemoteAccessError:
		return "remote access error"
	case NAKRemoteOperationalError:
		return "remote operational error"
	case NAKInvalidRDRequest:
		return "invalid RD request"
	case NAKOperationInProgress:
		return "operation in progress"
	}
	return "reserved code " + strconv.Itoa(int(c))
}
