package mad

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// GID is a global identifier, which has the form of an IPv6 address. RoCE maps IPv4 addresses into it.
type GID [16]byte

// Addr is the GID in the form of the standard library, IPv4 unmapped.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// String is the text of the address.
func (g GID) String() string { return g.Addr().String() }

// Timeout is a time of 4.096 µs times two to the power of its value, 0 to 31. In fields of ACK timeouts 0
// means that there is none (IBTA volume 1, sections 12.7 and 9.9.2.1).
type Timeout uint8

// Duration is the timeout in nanoseconds, from 4.096 µs to 2.4 hours.
func (t Timeout) Duration() time.Duration {
	const unit = 4096 * time.Nanosecond
	return unit << (t & 0x1f)
}

// String is the duration, such as "4.294967296s".
func (t Timeout) String() string { return t.Duration().String() }

// MTU is a code of payload bytes a packet may have (IBTA volume 1, section 12.7.22).
type MTU uint8

// Bytes is 256 for code 1, and so on to 4,096 for code 5. It is not known for other codes.
func (m MTU) Bytes() (int, bool) {
	if m < 1 || m > 5 {
		return 0, false
	}
	return 128 << m, true
}

// String is the number of bytes, such as "4096 bytes".
func (m MTU) String() string {
	if n, ok := m.Bytes(); ok {
		return fmt.Sprintf("%d bytes", n)
	}
	return "reserved"
}

// Transport services of a connection that is asked for (IBTA volume 1, section 12.7.14).
const (
	TransportRC       TransportService = 0
	TransportUC       TransportService = 1
	TransportRD       TransportService = 2
	TransportExtended TransportService = 3 // XRC, when the extended transport type is 1
)

// TransportService is the kind of connection that is asked for, 2 bits.
type TransportService uint8

// String is the abbreviation of the service.
func (t TransportService) String() string {
	switch t {
	case TransportRC:
		return "RC"
	case TransportUC:
		return "UC"
	case TransportRD:
		return "RD"
	case TransportExtended:
	}
	return "extended"
}

// Rejected is the message that a REJ or MRA answers, 2 bits (IBTA volume 1, sections 12.6.6 and 12.6.7).
type Rejected uint8

// String is the name of the message; for REJ, 2 stands for none in particular, for MRA it is the LAP.
func (r Rejected) String() string {
	switch r {
	case 0:
		return "REQ"
	case 1:
		return "REP"
	}
	return "other"
}

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// append24 appends the low 24 bits of v and a byte.
func append24(b []byte, v uint32, last uint8) []byte {
	return binary.BigEndian.AppendUint32(b, v<<8|uint32(last))
}

// appendIDs appends the communication IDs with which most messages begin.
func appendIDs(b []byte, local, remote uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, local)
	return binary.BigEndian.AppendUint32(b, remote)
}

// private is the message's private data, which start at offset, as far as they are there.
func private(b []byte, offset int) []byte {
	end := min(len(b), DataLength)
	return b[offset:end:end]
}

// appendPrivate appends private data and fills the message, which starts at start, with zeros up to its length.
func appendPrivate(b []byte, start int, data []byte) []byte {
	room := DataLength - (len(b) - start)
	data = data[:min(len(data), room)]
	b = append(b, data...)
	for range room - len(data) {
		b = append(b, 0)
	}
	return b
}

// flag is bit when set holds, otherwise 0.
func flag(set bool, bit uint8) uint8 {
	if set {
		return bit
	}
	return 0
}
