package infiniband

import "strconv"

// Opcode is byte 0 of the BTH: three bits of transport service, five bits of operation
// (IBTA volume 1, section 9.2.1).
type Opcode uint8

// Service is the transport service, the upper three bits of an opcode.
type Service uint8

// Transport services.
const (
	ServiceRC      Service = iota // reliable connection
	ServiceUC                     // unreliable connection
	ServiceRD                     // reliable datagram; ConnectX's DC transport uses its code space
	ServiceUD                     // unreliable datagram
	ServiceCNP                    // congestion notification
	ServiceXRC                    // extended reliable connection
	ServiceVendor                 // manufacturer specific, 0xc0 to 0xdf
	ServiceVendor2                // manufacturer specific, 0xe0 to 0xff
)

// String is the abbreviation of the service; both manufacturer specific ranges are "vendor".
func (s Service) String() string {
	switch s {
	case ServiceRC:
		return "RC"
	case ServiceUC:
		return "UC"
	case ServiceRD:
		return "RD"
	case ServiceUD:
		return "UD"
	case ServiceCNP:
		return "CNP"
	case ServiceXRC:
		return "XRC"
	case ServiceVendor, ServiceVendor2:
	}
	return "vendor"
}

// Operation is what a packet does, the lower five bits of an opcode.
type Operation uint8

// Operations (IBTA volume 1, section 9.2.1; 0x1c and 0x1d: annex A19).
const (
	SendFirst              Operation = 0x00
	SendMiddle             Operation = 0x01
	SendLast               Operation = 0x02
	SendLastImmediate      Operation = 0x03
	SendOnly               Operation = 0x04
	SendOnlyImmediate      Operation = 0x05
	WriteFirst             Operation = 0x06
	WriteMiddle            Operation = 0x07
	WriteLast              Operation = 0x08
	WriteLastImmediate     Operation = 0x09
	WriteOnly              Operation = 0x0a
	WriteOnlyImmediate     Operation = 0x0b
	ReadRequest            Operation = 0x0c
	ReadResponseFirst      Operation = 0x0d
	ReadResponseMiddle     Operation = 0x0e
	ReadResponseLast       Operation = 0x0f
	ReadResponseOnly       Operation = 0x10
	Acknowledge            Operation = 0x11
	AtomicAcknowledge      Operation = 0x12
	CompareSwap            Operation = 0x13
	FetchAdd               Operation = 0x14
	Resync                 Operation = 0x15
	SendLastInvalidate     Operation = 0x16
	SendOnlyInvalidate     Operation = 0x17
	GetClass               Operation = 0x1a
	PutClass               Operation = 0x1b
	Flush                  Operation = 0x1c
	AtomicWrite            Operation = 0x1d
	CongestionNotification Operation = 0x01 // of ServiceCNP
)

// Opcodes of the reliable connection.
const (
	RCSendFirst          Opcode = 0x00
	RCSendMiddle         Opcode = 0x01
	RCSendLast           Opcode = 0x02
	RCSendLastImmediate  Opcode = 0x03
	RCSendOnly           Opcode = 0x04
	RCSendOnlyImmediate  Opcode = 0x05
	RCWriteFirst         Opcode = 0x06
	RCWriteMiddle        Opcode = 0x07
	RCWriteLast          Opcode = 0x08
	RCWriteLastImmediate Opcode = 0x09
	RCWriteOnly          Opcode = 0x0a
	RCWriteOnlyImmediate Opcode = 0x0b
	RCReadRequest        Opcode = 0x0c
	RCReadResponseFirst  Opcode = 0x0d
	RCReadResponseMiddle Opcode = 0x0e
	RCReadResponseLast   Opcode = 0x0f
	RCReadResponseOnly   Opcode = 0x10
	RCAcknowledge        Opcode = 0x11
	RCAtomicAcknowledge  Opcode = 0x12
	RCCompareSwap        Opcode = 0x13
	RCFetchAdd           Opcode = 0x14
	RCSendLastInvalidate Opcode = 0x16
	RCSendOnlyInvalidate Opcode = 0x17
	RCGetClass           Opcode = 0x1a // recognised, headers unknown
	RCPutClass           Opcode = 0x1b // recognised, headers unknown
	RCFlush              Opcode = 0x1c
	RCAtomicWrite        Opcode = 0x1d
)

// Opcodes of the unreliable connection.
const (
	UCSendFirst          Opcode = 0x20
	UCSendMiddle         Opcode = 0x21
	UCSendLast           Opcode = 0x22
	UCSendLastImmediate  Opcode = 0x23
	UCSendOnly           Opcode = 0x24
	UCSendOnlyImmediate  Opcode = 0x25
	UCWriteFirst         Opcode = 0x26
	UCWriteMiddle        Opcode = 0x27
	UCWriteLast          Opcode = 0x28
	UCWriteLastImmediate Opcode = 0x29
	UCWriteOnly          Opcode = 0x2a
	UCWriteOnlyImmediate Opcode = 0x2b
)

// Opcodes of the reliable datagram.
const (
	RDSendFirst          Opcode = 0x40
	RDSendMiddle         Opcode = 0x41
	RDSendLast           Opcode = 0x42
	RDSendLastImmediate  Opcode = 0x43
	RDSendOnly           Opcode = 0x44
	RDSendOnlyImmediate  Opcode = 0x45
	RDWriteFirst         Opcode = 0x46
	RDWriteMiddle        Opcode = 0x47
	RDWriteLast          Opcode = 0x48
	RDWriteLastImmediate Opcode = 0x49
	RDWriteOnly          Opcode = 0x4a
	RDWriteOnlyImmediate Opcode = 0x4b
	RDReadRequest        Opcode = 0x4c
	RDReadResponseFirst  Opcode = 0x4d
	RDReadResponseMiddle Opcode = 0x4e
	RDReadResponseLast   Opcode = 0x4f
	RDReadResponseOnly   Opcode = 0x50
	RDAcknowledge        Opcode = 0x51
	RDAtomicAcknowledge  Opcode = 0x52
	RDCompareSwap        Opcode = 0x53
	RDFetchAdd           Opcode = 0x54
	RDResync             Opcode = 0x55
	RDFlush              Opcode = 0x5c
)

// Opcodes of the unreliable datagram.
const (
	UDSendOnly          Opcode = 0x64
	UDSendOnlyImmediate Opcode = 0x65
)

// CNP is the opcode of the congestion notification packet (IBTA volume 1, annex A17.9.3).
const CNP Opcode = 0x81

// Opcodes of the extended reliable connection (IBTA volume 1, annex A14).
const (
	XRCSendFirst          Opcode = 0xa0
	XRCSendMiddle         Opcode = 0xa1
	XRCSendLast           Opcode = 0xa2
	XRCSendLastImmediate  Opcode = 0xa3
	XRCSendOnly           Opcode = 0xa4
	XRCSendOnlyImmediate  Opcode = 0xa5
	XRCWriteFirst         Opcode = 0xa6
	XRCWriteMiddle        Opcode = 0xa7
	XRCWriteLast          Opcode = 0xa8
	XRCWriteLastImmediate Opcode = 0xa9
	XRCWriteOnly          Opcode = 0xaa
	XRCWriteOnlyImmediate Opcode = 0xab
	XRCReadRequest        Opcode = 0xac
	XRCReadResponseFirst  Opcode = 0xad
	XRCReadResponseMiddle Opcode = 0xae
	XRCReadResponseLast   Opcode = 0xaf
	XRCReadResponseOnly   Opcode = 0xb0
	XRCAcknowledge        Opcode = 0xb1
	XRCAtomicAcknowledge  Opcode = 0xb2
	XRCCompareSwap        Opcode = 0xb3
	XRCFetchAdd           Opcode = 0xb4
	XRCSendLastInvalidate Opcode = 0xb6
	XRCSendOnlyInvalidate Opcode = 0xb7
	XRCFlush              Opcode = 0xbc
)

// Service is the transport service.
func (o Opcode) Service() Service { return Service(o >> 5) }

// Operation is the operation within the service.
func (o Opcode) Operation() Operation { return Operation(o & 0x1f) }

// Headers is the set of headers that stand between the opcode's packet's first byte and its payload, BTH
// included, and whether the opcode is known; of an unknown one only the BTH can be read.
func (o Opcode) Headers() (HeaderSet, bool) {
	h := opcodeHeaders[o]
	return h | HasBTH, h != 0
}

// String is a name such as "RC SEND First", "RC RDMA WRITE Only with Immediate", "RC ACK" or "CNP"; an
// opcode without a name is "RC opcode 0x18" or "reserved opcode 0x80", a manufacturer specific one "vendor opcode 0xc4".
func (o Opcode) String() string { return opcodeNames[o] }

// opcodeFlag is a property of an opcode; what a predicate asks for.
type opcodeFlag uint16

const (
	flagRequest opcodeFlag = 1 << iota
	flagResponse
	flagFirst
	flagMiddle
	flagLast
	flagOnly
	flagPayload
	flagStarts
	flagEnds
	flagReadRequest
	flagReadResponse
	flagAtomic
	flagAck
	flagAtomicAck
	flagSend
	flagWrite
)

func (o Opcode) is(f opcodeFlag) bool { return opcodeFlags[o]&f != 0 }

// IsRequest tells whether the packet goes from requester to responder and takes a PSN of that direction's
// sequence. The CNP and unknown opcodes are neither request nor response.
func (o Opcode) IsRequest() bool { return o.is(flagRequest) }

// IsResponse tells whether the packet answers a request: READ response, ACK (NAKs included) or atomic ACK.
func (o Opcode) IsResponse() bool { return o.is(flagResponse) }

// IsFirst tells whether the packet is the first of several of a SEND, WRITE or READ response.
func (o Opcode) IsFirst() bool { return o.is(flagFirst) }

// IsMiddle tells whether the packet is neither the first nor the last of a SEND, WRITE or READ response.
func (o Opcode) IsMiddle() bool { return o.is(flagMiddle) }

// IsLast tells whether the packet is the last of several of a SEND, WRITE or READ response.
func (o Opcode) IsLast() bool { return o.is(flagLast) }

// IsOnly tells whether the packet is the whole of a SEND, WRITE or READ response.
func (o Opcode) IsOnly() bool { return o.is(flagOnly) }

// CarriesPayload tells whether data of the user may follow the headers: SEND, WRITE, READ response, ATOMIC WRITE.
func (o Opcode) CarriesPayload() bool { return o.is(flagPayload) }

// StartsMessage tells whether the packet is a request that begins a message: a first or only packet, a READ
// request, an atomic, a FLUSH. It is false for responses.
func (o Opcode) StartsMessage() bool { return o.is(flagStarts) }

// EndsMessage tells whether the packet is the last request packet of its message: a last or only packet, a
// READ request, an atomic, a FLUSH. It is false for responses.
func (o Opcode) EndsMessage() bool { return o.is(flagEnds) }

// IsSend tells whether the packet is a part of a SEND.
func (o Opcode) IsSend() bool { return o.is(flagSend) }

// IsWrite tells whether the packet is a part of an RDMA WRITE. ATOMIC WRITE is none.
func (o Opcode) IsWrite() bool { return o.is(flagWrite) }

// IsReadRequest tells whether the packet asks for an RDMA READ. Its PSN stands for as many PSNs as the
// response has packets.
func (o Opcode) IsReadRequest() bool { return o.is(flagReadRequest) }

// IsReadResponse tells whether the packet is a part of an RDMA READ response. FLUSH and ATOMIC WRITE are
// answered by one, too: an only packet without payload.
func (o Opcode) IsReadResponse() bool { return o.is(flagReadResponse) }

// IsAtomic tells whether the packet asks for COMPARE SWAP or FETCH ADD, which an atomic ACK answers.
func (o Opcode) IsAtomic() bool { return o.is(flagAtomic) }

// IsAck tells whether the packet is an acknowledgment of its own, positive or negative by its syndrome.
func (o Opcode) IsAck() bool { return o.is(flagAck) }

// IsAtomicAck tells whether the packet answers an atomic.
func (o Opcode) IsAtomicAck() bool { return o.is(flagAtomicAck) }

// IsCNP tells whether the packet is a congestion notification.
func (o Opcode) IsCNP() bool { return o == CNP }

// HasImmediate tells whether the packet carries immediate data.
func (o Opcode) HasImmediate() bool { return opcodeHeaders[o]&HasImmDt != 0 }

// unnamedOpcode is the name of an opcode that the IBTA does not give one.
func unnamedOpcode(o Opcode) string {
	if o.Service() == ServiceCNP { // whose one opcode has a name
		return "reserved opcode 0x" + strconv.FormatUint(uint64(o), 16)
	}
	return o.Service().String() + " opcode 0x" + strconv.FormatUint(uint64(o), 16)
}
