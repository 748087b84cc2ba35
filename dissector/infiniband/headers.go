// Package infiniband holds the transport headers of InfiniBand and RoCE: the base transport header, every
// extended header, opcodes and syndromes (IBTA volume 1, chapter 9).
package infiniband

// HeaderSet is a set of transport headers, one bit each.
type HeaderSet uint16

// Members of a HeaderSet.
const (
	HasBTH HeaderSet = 1 << iota
	HasRDETH
	HasDETH
	HasXRCETH
	HasRETH
	HasAtomicETH
	HasAETH
	HasAtomicAckETH
	HasImmDt
	HasIETH
	HasFETH
	HasCNP // 16 reserved bytes of a congestion notification packet
)

// BTH is the base transport header, 12 bytes (IBTA volume 1, section 9.2).
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

// RETH is the RDMA extended transport header, 16 bytes.
type RETH struct {
	VirtualAddress uint64
	RemoteKey      uint32 // R_Key
	DMALength      uint32 // bytes of the whole message
}

// AETH is the acknowledgment extended transport header, 4 bytes.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // 24 bits, messages completed by the responder
}

// DETH is the datagram extended transport header, 8 bytes.
type DETH struct {
	QueueKey uint32 // Q_Key
	Reserved uint8
	SourceQP uint32 // 24 bits
}

// RDETH is the reliable datagram extended transport header, 4 bytes.
type RDETH struct {
	Reserved  uint8
	EEContext uint32 // 24 bits
}

// XRCETH is the extended reliable connection header, 4 bytes.
type XRCETH struct {
	Reserved uint8
	SRQ      uint32 // 24 bits
}

// AtomicETH is the atomic extended transport header, 28 bytes.
type AtomicETH struct {
	VirtualAddress uint64
	RemoteKey      uint32
	SwapOrAdd      uint64
	Compare        uint64
}

// AtomicAckETH is the atomic acknowledgment header, 8 bytes.
type AtomicAckETH struct {
	OriginalData uint64
}

// ImmDt is the immediate data, 4 opaque bytes read as big-endian.
type ImmDt struct {
	Data uint32
}

// IETH is the invalidate extended transport header, 4 bytes.
type IETH struct {
	RemoteKey uint32
}

// FETH is the flush extended transport header, 4 bytes.
type FETH struct {
	Reserved    uint32 // 26 bits
	Selectivity uint8  // 2 bits
	Placement   uint8  // 4 bits
}

// Opcode is byte 0 of the BTH: three bits of transport service, five bits of operation.
type Opcode uint8

// Syndrome is byte 0 of the AETH.
type Syndrome uint8
