package mad

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// ServiceID names what a connection is for (IBTA volume 1, section 12.7.3).
type ServiceID uint64

// IP protocols of the RDMA IP CM service.
const (
	protocolTCP = 6
	protocolUDP = 17
)

// IPPort is the IP protocol and the destination port that an ID of the RDMA IP CM service stands for; other
// IDs stand for none (annex A11.3).
func (s ServiceID) IPPort() (protocol uint8, port uint16, ok bool) {
	if s>>24 != 1 {
		return 0, 0, false
	}
	return uint8(s >> 16), uint16(s), true
}

// String is the port, such as "TCP port 4420 (NVMe-oF)", or the number in hexadecimal.
func (s ServiceID) String() string {
	protocol, port, ok := s.IPPort()
	if !ok {
		return fmt.Sprintf("0x%016x", uint64(s))
	}
	name := fmt.Sprintf("protocol %d", protocol)
	switch protocol {
	case protocolTCP:
		name = "TCP"
	case protocolUDP:
		name = "UDP"
	}
	if a := s.Application(); a != ApplicationUnknown {
		return fmt.Sprintf("%s port %d (%s)", name, port, a)
	}
	return fmt.Sprintf("%s port %d", name, port)
}

// Application is what speaks over a connection, as far as the port that it was set up for tells.
type Application uint8

// Applications with a port of their own in IANA's registry.
const (
	ApplicationUnknown Application = iota
	ApplicationNVMe                // NVM Express over Fabrics, RDMA transport
	ApplicationISER                // RFC 7145
	ApplicationNFS                 // RPC-over-RDMA, RFC 8166 and RFC 5667
	ApplicationSMB                 // SMB Direct, [MS-SMBD]
)

// String is the usual name, or "" when the application is unknown.
func (a Application) String() string {
	switch a {
	case ApplicationNVMe:
		return "NVMe-oF"
	case ApplicationISER:
		return "iSER"
	case ApplicationNFS:
		return "NFS/RDMA"
	case ApplicationSMB:
		return "SMB Direct"
	case ApplicationUnknown:
	}
	return ""
}

// Application is the application whose registered port the service ID is. The payload is never looked at:
// without the messages that set a connection up nothing is certain.
func (s ServiceID) Application() Application {
	protocol, port, ok := s.IPPort()
	if !ok || protocol != protocolTCP {
		return ApplicationUnknown
	}
	switch port {
	case 4420, 8009: // I/O and discovery controllers
		return ApplicationNVMe
	case 3260:
		return ApplicationISER
	case 20049:
		return ApplicationNFS
	case 445:
		return ApplicationSMB
	}
	return ApplicationUnknown
}

// IPCMLength is the size of the RDMA IP CM service's part of the private data, in bytes.
const IPCMLength = 36

// IPCM starts the private data of a REQ or SIDR_REQ of the RDMA IP CM service, 36 bytes (IBTA volume 1, annex
// A11.4). What the application has to say follows it.
type IPCM struct {
	MajorVersion uint8 // 4 bits, 0
	MinorVersion uint8 // 4 bits
	IPVersion    uint8 // 4 bits, 4 or 6
	Reserved1    uint8 // 4 bits
	SourcePort   uint16
	Source       [16]byte // of IPv4 the last four bytes
	Destination  [16]byte // likewise
}

// Decode reads the structure from the start of b.
func (c *IPCM) Decode(b []byte) (int, error) {
	if len(b) < IPCMLength {
		*c = IPCM{}
		return 0, infiniband.ErrTruncated
	}
	*c = IPCM{
		MajorVersion: b[0] >> 4,
		MinorVersion: b[0] & 0x0f,
		IPVersion:    b[1] >> 4,
		Reserved1:    b[1] & 0x0f,
		SourcePort:   binary.BigEndian.Uint16(b[2:]),
		Source:       [16]byte(b[4:20]),
		Destination:  [16]byte(b[20:36]),
	}
	return IPCMLength, nil
}

// AppendTo appends the structure to b.
func (c IPCM) AppendTo(b []byte) []byte {
	b = append(b, c.MajorVersion<<4|c.MinorVersion&0x0f, c.IPVersion<<4|c.Reserved1&0x0f)
	b = binary.BigEndian.AppendUint16(b, c.SourcePort)
	b = append(b, c.Source[:]...)
	return append(b, c.Destination[:]...)
}

// Addresses are the two IP addresses; ok is false when the IP version is neither 4 nor 6.
func (c *IPCM) Addresses() (source, destination netip.Addr, ok bool) {
	switch c.IPVersion {
	case 4:
		return netip.AddrFrom4([4]byte(c.Source[12:])), netip.AddrFrom4([4]byte(c.Destination[12:])), true
	case 6:
		return netip.AddrFrom16(c.Source), netip.AddrFrom16(c.Destination), true
	}
	return netip.Addr{}, netip.Addr{}, false
}

func ipcmOf(id ServiceID, data []byte) (IPCM, bool) {
	var c IPCM
	if _, _, ok := id.IPPort(); !ok {
		return IPCM{}, false
	}
	if _, err := c.Decode(data); err != nil || c.MajorVersion != 0 || (c.IPVersion != 4 && c.IPVersion != 6) {
		return IPCM{}, false
	}
	return c, true
}
