package build

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector"
)

const (
	protocolGRE    = 47
	etherTypeTEB   = 0x6558
	etherTypeSPAN2 = 0x88be
)

// Ethernet appends an Ethernet header and its payload.
func Ethernet(b []byte, destination, source [6]byte, etherType uint16, payload []byte) []byte {
	b = append(b, destination[:]...)
	b = append(b, source[:]...)
	b = binary.BigEndian.AppendUint16(b, etherType)
	return append(b, payload...)
}

// VXLAN wraps an Ethernet frame; the result starts with the outer IP header.
func VXLAN(b []byte, outer IP, sourcePort uint16, vni uint32, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint32(nil, 0x08<<24)
	inner = binary.BigEndian.AppendUint32(inner, vni<<8)
	return outer.AppendUDP(b, sourcePort, dissector.PortVXLAN, append(inner, frame...))
}

// GENEVE wraps an Ethernet frame, with options of a multiple of four bytes.
func GENEVE(b []byte, outer IP, sourcePort uint16, vni uint32, options, frame []byte) []byte {
	inner := []byte{uint8(len(options)/4) & 0x3f, 0}
	inner = binary.BigEndian.AppendUint16(inner, etherTypeTEB)
	inner = binary.BigEndian.AppendUint32(inner, vni<<8)
	inner = append(inner, options...)
	return outer.AppendUDP(b, sourcePort, dissector.PortGENEVE, append(inner, frame...))
}

// GRE wraps an Ethernet frame with a key.
func GRE(b []byte, outer IP, key uint32, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint16(nil, 0x2000)
	inner = binary.BigEndian.AppendUint16(inner, etherTypeTEB)
	inner = binary.BigEndian.AppendUint32(inner, key)
	return outer.AppendIP(b, protocolGRE, append(inner, frame...))
}

// ERSPAN2 wraps a mirrored Ethernet frame (type II).
func ERSPAN2(b []byte, outer IP, sequence uint32, session, vlan uint16, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint16(nil, 0x1000)
	inner = binary.BigEndian.AppendUint16(inner, etherTypeSPAN2)
	inner = binary.BigEndian.AppendUint32(inner, sequence)
	inner = binary.BigEndian.AppendUint16(inner, 0x1000|vlan&0xfff)
	inner = binary.BigEndian.AppendUint16(inner, session&0x3ff)
	inner = binary.BigEndian.AppendUint32(inner, 0)
	return outer.AppendIP(b, protocolGRE, append(inner, frame...))
}

// MPLS puts a stack of labels, outermost first, before an IP packet.
func MPLS(b []byte, labels []uint32, packet []byte) []byte {
	for i, label := range labels {
		entry := label<<12 | defaultTTL
		if i == len(labels)-1 {
			entry |= 0x100
		}
		b = binary.BigEndian.AppendUint32(b, entry)
	}
	return append(b, packet...)
}

// Pause is an 802.3x pause frame of 60 bytes.
func Pause(b []byte, source [6]byte, quanta uint16) []byte {
	body := binary.BigEndian.AppendUint16([]byte{0x00, 0x01}, quanta)
	return macControl(b, source, body)
}

// PFC is a priority flow control frame of 60 bytes for the classes whose bit is set.
func PFC(b []byte, source [6]byte, classes uint8, quanta [8]uint16) []byte {
	body := []byte{0x01, 0x01, 0, classes}
	for _, q := range quanta {
		body = binary.BigEndian.AppendUint16(body, q)
	}
	return macControl(b, source, body)
}

func macControl(b []byte, source [6]byte, body []byte) []byte {
	body = append(body, make([]byte, minimumFrame-ethernetLength-len(body))...)
	return Ethernet(b, [6]byte{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}, source, dissector.EtherTypeMACControl, body)
}
