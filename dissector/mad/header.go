package mad

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Sizes in bytes (IBTA volume 1, section 13.4.2). A datagram is always of full length.
const (
	HeaderLength = 24
	Length       = 256                   // of the datagram
	DataLength   = Length - HeaderLength // of a message of the communication manager
)

// Class is a management class (IBTA volume 1, section 13.4.4).
type Class uint8

// Management classes.
const (
	ClassSubnetManagementLID    Class = 0x01 // routed by LID
	ClassSubnetAdministration   Class = 0x03
	ClassPerformance            Class = 0x04
	ClassBaseboard              Class = 0x05
	ClassDevice                 Class = 0x06
	ClassCommunication          Class = 0x07
	ClassSNMP                   Class = 0x08
	ClassSubnetManagementDirect Class = 0x81 // directed route
)

// String is what the class manages, or "" when it is none of the IBTA's.
func (c Class) String() string {
	switch c {
	case ClassSubnetManagementLID, ClassSubnetManagementDirect:
		return "subnet management"
	case ClassSubnetAdministration:
		return "subnet administration"
	case ClassPerformance:
		return "performance management"
	case ClassBaseboard:
		return "baseboard management"
	case ClassDevice:
		return "device management"
	case ClassCommunication:
		return "communication management"
	case ClassSNMP:
		return "SNMP tunneling"
	}
	return ""
}

// Header is the management datagram's common header, 24 bytes (IBTA volume 1, section 13.4.2).
//
//	 0               1               2               3
//	+---------------+---------------+---------------+---------------+
//	| base version  |     class     | class version |    method     |
//	+---------------+---------------+---------------+---------------+
//	|            status             |        class specific         |
//	+-------------------------------+-------------------------------+
//	|                        transaction ID                         |
//	|                                                               |
//	+-------------------------------+-------------------------------+
//	|         attribute ID          |           reserved            |
//	+-------------------------------+-------------------------------+
//	|                      attribute modifier                       |
//	+---------------------------------------------------------------+
type Header struct {
	BaseVersion       uint8 // 1
	Class             Class
	ClassVersion      uint8 // 2 for communication management
	Method            uint8 // 3, Send, for communication management
	Status            uint16
	ClassSpecific     uint16
	TransactionID     uint64
	AttributeID       uint16
	Reserved18        uint16
	AttributeModifier uint32
}

// Decode reads the header from the start of b.
func (h *Header) Decode(b []byte) (int, error) {
	if len(b) < HeaderLength {
		*h = Header{}
		return 0, infiniband.ErrTruncated
	}
	*h = Header{
		BaseVersion:       b[0],
		Class:             Class(b[1]),
		ClassVersion:      b[2],
		Method:            b[3],
		Status:            binary.BigEndian.Uint16(b[4:]),
		ClassSpecific:     binary.BigEndian.Uint16(b[6:]),
		TransactionID:     binary.BigEndian.Uint64(b[8:]),
		AttributeID:       binary.BigEndian.Uint16(b[16:]),
		Reserved18:        binary.BigEndian.Uint16(b[18:]),
		AttributeModifier: binary.BigEndian.Uint32(b[20:]),
	}
	return HeaderLength, nil
}

// AppendTo appends the header to b.
func (h Header) AppendTo(b []byte) []byte {
	b = append(b, h.BaseVersion, uint8(h.Class), h.ClassVersion, h.Method)
	b = binary.BigEndian.AppendUint16(b, h.Status)
	b = binary.BigEndian.AppendUint16(b, h.ClassSpecific)
	b = binary.BigEndian.AppendUint64(b, h.TransactionID)
	b = binary.BigEndian.AppendUint16(b, h.AttributeID)
	b = binary.BigEndian.AppendUint16(b, h.Reserved18)
	return binary.BigEndian.AppendUint32(b, h.AttributeModifier)
}

// Message is a message of the communication manager, with the number of its attribute
// (IBTA volume 1, section 16.7.3).
type Message uint16

// Messages of the communication manager.
const (
	MessageNone    Message = 0 // something else
	MessageREQ     Message = 0x10
	MessageMRA     Message = 0x11
	MessageREJ     Message = 0x12
	MessageREP     Message = 0x13
	MessageRTU     Message = 0x14
	MessageDREQ    Message = 0x15
	MessageDREP    Message = 0x16
	MessageSIDRREQ Message = 0x17
	MessageSIDRREP Message = 0x18
	MessageLAP     Message = 0x19
	MessageAPR     Message = 0x1a
)

var messageNames = [...]string{
	"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR",
}

// String is the name that the IBTA gives the message, "none" for what is no message.
func (m Message) String() string {
	if i := int(m) - int(MessageREQ); i >= 0 && i < len(messageNames) {
		return messageNames[i]
	}
	return "none"
}

// Message says which message of the communication manager follows, MessageNone when none does.
func (h Header) Message() Message {
	const version, send = 2, 3
	m := Message(h.AttributeID)
	if h.Class != ClassCommunication || h.ClassVersion != version || h.Method != send || m < MessageREQ || m > MessageAPR {
		return MessageNone
	}
	return m
}
