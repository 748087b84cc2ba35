package infiniband

import "encoding/binary"

// BTHLength is the size of the BTH in bytes.
const BTHLength = 12

// BTH is the base transport header, 12 bytes (IBTA volume 1, section 9.2; FECN and BECN: annex A17).
//
//	 0               1               2               3
//	+---------------+-+-+---+-------+-------------------------------+
//	|    opcode     |S|M|Pad| TVer  |            P_Key              |
//	+-+-+-----------+-+-+---+-------+-------------------------------+
//	|F|B| reserved6 |               destination QP                  |
//	+-+-+-----------+-----------------------------------------------+
//	|A|  reserved7  |                     PSN                       |
//	+-+-------------+-----------------------------------------------+
type BTH struct {
	Opcode           Opcode
	SolicitedEvent   bool
	MigrationRequest bool
	PadCount         uint8  // 0 to 3
	TransportVersion uint8  // 0
	PartitionKey     uint16 // P_Key
	FECN             bool
	BECN             bool
	Reserved6        uint8  // 6 bits beside FECN and BECN
	DestinationQP    uint32 // 24 bits
	AckRequest       bool
	Reserved7        uint8  // 7 bits beside AckRequest
	PSN              uint32 // 24 bits
}

// Decode reads the header from the start of b.
func (h *BTH) Decode(b []byte) (int, error) {
	if len(b) < BTHLength {
		*h = BTH{}
		return 0, ErrTruncated
	}
	*h = BTH{
		Opcode:           Opcode(b[0]),
		SolicitedEvent:   b[1]&0x80 != 0,
		MigrationRequest: b[1]&0x40 != 0,
		PadCount:         b[1] >> 4 & 0x3,
		TransportVersion: b[1] & 0xf,
		PartitionKey:     binary.BigEndian.Uint16(b[2:4]),
		FECN:             b[4]&0x80 != 0,
		BECN:             b[4]&0x40 != 0,
		Reserved6:        b[4] & 0x3f,
		DestinationQP:    uint24(b[5:8]),
		AckRequest:       b[8]&0x80 != 0,
		Reserved7:        b[8] & 0x7f,
		PSN:              uint24(b[9:12]),
	}
	return BTHLength, nil
}

// AppendTo appends the header to b. Values too large for their field lose their high bits.
func (h BTH) AppendTo(b []byte) []byte {
	b = append(b,
		uint8(h.Opcode),
		boolBit(h.SolicitedEvent, 0x80)|boolBit(h.MigrationRequest, 0x40)|h.PadCount&0x3<<4|h.TransportVersion&0xf)
	b = binary.BigEndian.AppendUint16(b, h.PartitionKey)
	b = appendByteUint24(b, boolBit(h.FECN, 0x80)|boolBit(h.BECN, 0x40)|h.Reserved6&0x3f, h.DestinationQP)
	return appendByteUint24(b, boolBit(h.AckRequest, 0x80)|h.Reserved7&0x7f, h.PSN)
}
