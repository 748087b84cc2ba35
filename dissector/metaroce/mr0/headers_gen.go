// Code generated from the profile mr0. DO NOT EDIT.

package mr0

import (
	"encoding/binary"
	"iter"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// HeaderSet is a set of headers.
type HeaderSet uint32

// Members of a HeaderSet.
const (
	HasCH    HeaderSet = 1 << 0
	HasCONN  HeaderSet = 1 << 1
	HasREJ   HeaderSet = 1 << 2
	HasDISC  HeaderSet = 1 << 3
	HasDH    HeaderSet = 1 << 4
	HasWETH  HeaderSet = 1 << 5
	HasSETH  HeaderSet = 1 << 6
	HasRRETH HeaderSet = 1 << 7
	HasRSETH HeaderSet = 1 << 8
	HasAETH  HeaderSet = 1 << 9
	HasARETH HeaderSet = 1 << 10
	HasIMMH  HeaderSet = 1 << 11
	HasACKH  HeaderSet = 1 << 12
	HasNAKH  HeaderSet = 1 << 13
)

// Sizes of the headers in bytes.
const (
	CHLength    = 16
	CONNLength  = 32
	REJLength   = 12
	DISCLength  = 8
	DHLength    = 20
	WETHLength  = 12
	SETHLength  = 8
	RRETHLength = 16
	RSETHLength = 4
	AETHLength  = 32
	ARETHLength = 8
	IMMHLength  = 4
	ACKHLength  = 60
	NAKHLength  = 16
)

// SACK is a bit vector of 256 bits: selective acknowledgment bitvector: bit i stands for cumulative_psn + 1 + i; bit i is bit i mod 8, counted from the LEAST significant, of byte i div 8.
type SACK [32]byte

// SACKBits is the width of a SACK.
const SACKBits = 256

// Has tells whether bit i is set. Bits outside the vector are not.
func (v *SACK) Has(i int) bool { return metaroce.VectorHas(v[:], i) }

// Set sets bit i, which is in 0..SACKBits-1.
func (v *SACK) Set(i int) { v[i>>3] |= 1 << (i & 7) }

// Count is the number of bits that are set.
func (v *SACK) Count() int { return metaroce.VectorCount(v[:]) }

// Ranges walks over the runs of set bits: first and last bit of each.
func (v *SACK) Ranges() iter.Seq2[int, int] { return metaroce.VectorRanges(v[:]) }

// CH is the Common Header, 16 bytes.
type CH struct {
	Version       uint8  // profile version
	Type          Type   // packet type
	Flags         Flags  // flags
	PayloadLength uint16 // payload after the last header, before the ICRC; bytes
	DestConnID    uint32 // connection id that the receiver of this packet chose; in CONN_REQ 0
	PathID        uint8  // path, counted from 0; in ACK and NAK the path that is acknowledged
	PlaneID       uint8  // network plane (NIC port) that the packet was sent on
	PartitionKey  uint16 // partition key, as InfiniBand's P_Key
	PSN           uint32 // sequenced types: path sequence number; ACK: acknowledgment number of this path and direction; other types: 0
}

func (h *CH) read(b *[CHLength]byte) {
	h.Version = b[0] >> 4
	h.Type = Type(b[0] & 0xf)
	h.Flags = Flags(b[1])
	h.PayloadLength = binary.BigEndian.Uint16(b[2:4])
	h.DestConnID = binary.BigEndian.Uint32(b[4:8])
	h.PathID = b[8]
	h.PlaneID = b[9]
	h.PartitionKey = binary.BigEndian.Uint16(b[10:12])
	h.PSN = binary.BigEndian.Uint32(b[12:16])
}

func (h *CH) write(b *[CHLength]byte) {
	b[0] = uint8(h.Version)&0xf<<4 | uint8(h.Type)&0xf
	b[1] = uint8(h.Flags)
	binary.BigEndian.PutUint16(b[2:4], uint16(h.PayloadLength))
	binary.BigEndian.PutUint32(b[4:8], uint32(h.DestConnID))
	b[8] = uint8(h.PathID)
	b[9] = uint8(h.PlaneID)
	binary.BigEndian.PutUint16(b[10:12], uint16(h.PartitionKey))
	binary.BigEndian.PutUint32(b[12:16], uint32(h.PSN))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *CH) AppendTo(b []byte) []byte {
	var raw [CHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// CHPathIDMax is the greatest value that CH.PathID may have in unsequenced packets.
const CHPathIDMax = 127

// CONN is the Connection Header, 32 bytes.
type CONN struct {
	SourceConnID uint32 // connection id that the sender of this packet chose
	PathCount    uint8  // paths that the sender will use
	PlaneCount   uint8  // planes that the sender has
	MTU          uint16 // largest payload that the sender takes; bytes
	LinkRate     uint32 // inbound rate of the sender, all planes together; Mbit/s
	InitialPSN   uint32 // first path sequence number of path 0; path i starts at initial_psn + i * 2^20 (mod 2^32)
	StreamCount  uint16 // streams that the sender takes
	MaxWindow    uint16 // packets in flight a path that the sender can track; packets
	Nonce        uint64 // random; CONN_REP and CONN_REJ echo the request's
	Reserved     uint32
}

func (h *CONN) read(b *[CONNLength]byte) {
	h.SourceConnID = binary.BigEndian.Uint32(b[0:4])
	h.PathCount = b[4]
	h.PlaneCount = b[5]
	h.MTU = binary.BigEndian.Uint16(b[6:8])
	h.LinkRate = binary.BigEndian.Uint32(b[8:12])
	h.InitialPSN = binary.BigEndian.Uint32(b[12:16])
	h.StreamCount = binary.BigEndian.Uint16(b[16:18])
	h.MaxWindow = binary.BigEndian.Uint16(b[18:20])
	h.Nonce = binary.BigEndian.Uint64(b[20:28])
	h.Reserved = binary.BigEndian.Uint32(b[28:32])
}

func (h *CONN) write(b *[CONNLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.SourceConnID))
	b[4] = uint8(h.PathCount)
	b[5] = uint8(h.PlaneCount)
	binary.BigEndian.PutUint16(b[6:8], uint16(h.MTU))
	binary.BigEndian.PutUint32(b[8:12], uint32(h.LinkRate))
	binary.BigEndian.PutUint32(b[12:16], uint32(h.InitialPSN))
	binary.BigEndian.PutUint16(b[16:18], uint16(h.StreamCount))
	binary.BigEndian.PutUint16(b[18:20], uint16(h.MaxWindow))
	binary.BigEndian.PutUint64(b[20:28], uint64(h.Nonce))
	binary.BigEndian.PutUint32(b[28:32], uint32(h.Reserved))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *CONN) AppendTo(b []byte) []byte {
	var raw [CONNLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// CONNPathCountMin is the least value that CONN.PathCount may have.
const CONNPathCountMin = 1

// CONNPathCountMax is the greatest value that CONN.PathCount may have.
const CONNPathCountMax = 128

// CONNPlaneCountMin is the least value that CONN.PlaneCount may have.
const CONNPlaneCountMin = 1

// CONNMaxWindowMax is the greatest value that CONN.MaxWindow may have.
const CONNMaxWindowMax = 256

// REJ is the Reject Header, 12 bytes.
type REJ struct {
	Reason   RejectReason // why the connection is refused
	Reserved uint32
	Nonce    uint64 // the request's
}

func (h *REJ) read(b *[REJLength]byte) {
	h.Reason = RejectReason(b[0])
	h.Reserved = binary.BigEndian.Uint32(b[1:5]) >> 8
	h.Nonce = binary.BigEndian.Uint64(b[4:12])
}

func (h *REJ) write(b *[REJLength]byte) {
	b[0] = uint8(h.Reason)
	b[1] = byte((uint32(h.Reserved) & 0xffffff) >> 16)
	b[2] = byte((uint32(h.Reserved) & 0xffffff) >> 8)
	b[3] = byte((uint32(h.Reserved) & 0xffffff) >> 0)
	binary.BigEndian.PutUint64(b[4:12], uint64(h.Nonce))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *REJ) AppendTo(b []byte) []byte {
	var raw [REJLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// DISC is the Disconnect Header, 8 bytes.
type DISC struct {
	SourceConnID uint32           // connection id that the sender of this packet chose
	Reason       DisconnectReason // why the connection ends
	Reserved     uint32
}

func (h *DISC) read(b *[DISCLength]byte) {
	h.SourceConnID = binary.BigEndian.Uint32(b[0:4])
	h.Reason = DisconnectReason(b[4])
	h.Reserved = binary.BigEndian.Uint32(b[4:8]) & 0xffffff
}

func (h *DISC) write(b *[DISCLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.SourceConnID))
	b[4] = uint8(h.Reason)
	b[5] = byte((uint32(h.Reserved) & 0xffffff) >> 16)
	b[6] = byte((uint32(h.Reserved) & 0xffffff) >> 8)
	b[7] = byte((uint32(h.Reserved) & 0xffffff) >> 0)
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *DISC) AppendTo(b []byte) []byte {
	var raw [DISCLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// DH is the Data Header, 20 bytes.
type DH struct {
	Timestamp     uint32 // sender's clock when the packet left, mod 2^32; ns
	StreamID      uint16 // ordered stream within the connection
	Reserved      uint16
	MSN           uint32 // message sequence number within the stream and direction, from 0; READ_RESP and ATOMIC_RESP carry the request's
	MessageOffset uint32 // offset of this packet's payload in its message; bytes
	MessageLength uint32 // length of the whole message; READ_REQ: bytes asked for; bytes
}

func (h *DH) read(b *[DHLength]byte) {
	h.Timestamp = binary.BigEndian.Uint32(b[0:4])
	h.StreamID = binary.BigEndian.Uint16(b[4:6])
	h.Reserved = binary.BigEndian.Uint16(b[6:8])
	h.MSN = binary.BigEndian.Uint32(b[8:12])
	h.MessageOffset = binary.BigEndian.Uint32(b[12:16])
	h.MessageLength = binary.BigEndian.Uint32(b[16:20])
}

func (h *DH) write(b *[DHLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.Timestamp))
	binary.BigEndian.PutUint16(b[4:6], uint16(h.StreamID))
	binary.BigEndian.PutUint16(b[6:8], uint16(h.Reserved))
	binary.BigEndian.PutUint32(b[8:12], uint32(h.MSN))
	binary.BigEndian.PutUint32(b[12:16], uint32(h.MessageOffset))
	binary.BigEndian.PutUint32(b[16:20], uint32(h.MessageLength))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *DH) AppendTo(b []byte) []byte {
	var raw [DHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// WETH is the Write Extended Transport Header, 12 bytes.
type WETH struct {
	VirtualAddress uint64 // where THIS packet's payload goes: the message's base address + message_offset
	RKey           uint32 // remote key
}

func (h *WETH) read(b *[WETHLength]byte) {
	h.VirtualAddress = binary.BigEndian.Uint64(b[0:8])
	h.RKey = binary.BigEndian.Uint32(b[8:12])
}

func (h *WETH) write(b *[WETHLength]byte) {
	binary.BigEndian.PutUint64(b[0:8], uint64(h.VirtualAddress))
	binary.BigEndian.PutUint32(b[8:12], uint32(h.RKey))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *WETH) AppendTo(b []byte) []byte {
	var raw [WETHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// SETH is the Send Extended Transport Header, 8 bytes.
type SETH struct {
	ReceiveIndex uint32 // which posted receive buffer of the stream takes the message, counted from 0
	Reserved     uint32
}

func (h *SETH) read(b *[SETHLength]byte) {
	h.ReceiveIndex = binary.BigEndian.Uint32(b[0:4])
	h.Reserved = binary.BigEndian.Uint32(b[4:8])
}

func (h *SETH) write(b *[SETHLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.ReceiveIndex))
	binary.BigEndian.PutUint32(b[4:8], uint32(h.Reserved))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *SETH) AppendTo(b []byte) []byte {
	var raw [SETHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// RRETH is the Read Request Extended Transport Header, 16 bytes.
type RRETH struct {
	VirtualAddress uint64 // first byte to read
	RKey           uint32 // remote key
	ReadID         uint32 // requester's id of the buffer that takes the answer
}

func (h *RRETH) read(b *[RRETHLength]byte) {
	h.VirtualAddress = binary.BigEndian.Uint64(b[0:8])
	h.RKey = binary.BigEndian.Uint32(b[8:12])
	h.ReadID = binary.BigEndian.Uint32(b[12:16])
}

func (h *RRETH) write(b *[RRETHLength]byte) {
	binary.BigEndian.PutUint64(b[0:8], uint64(h.VirtualAddress))
	binary.BigEndian.PutUint32(b[8:12], uint32(h.RKey))
	binary.BigEndian.PutUint32(b[12:16], uint32(h.ReadID))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *RRETH) AppendTo(b []byte) []byte {
	var raw [RRETHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// RSETH is the Read Response Extended Transport Header, 4 bytes.
type RSETH struct {
	ReadID uint32 // the request's; the payload goes to that buffer at message_offset
}

func (h *RSETH) read(b *[RSETHLength]byte) {
	h.ReadID = binary.BigEndian.Uint32(b[0:4])
}

func (h *RSETH) write(b *[RSETHLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.ReadID))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *RSETH) AppendTo(b []byte) []byte {
	var raw [RSETHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// AETH is the Atomic Request Extended Transport Header, 32 bytes.
type AETH struct {
	VirtualAddress uint64          // 8-byte aligned
	RKey           uint32          // remote key
	Operation      AtomicOperation // what is done to the 8 bytes
	Reserved       uint32
	SwapOrAdd      uint64 // value to swap in, or to add
	Compare        uint64 // compare and swap: value to be found
}

func (h *AETH) read(b *[AETHLength]byte) {
	h.VirtualAddress = binary.BigEndian.Uint64(b[0:8])
	h.RKey = binary.BigEndian.Uint32(b[8:12])
	h.Operation = AtomicOperation(b[12])
	h.Reserved = binary.BigEndian.Uint32(b[13:17]) >> 8
	h.SwapOrAdd = binary.BigEndian.Uint64(b[16:24])
	h.Compare = binary.BigEndian.Uint64(b[24:32])
}

func (h *AETH) write(b *[AETHLength]byte) {
	binary.BigEndian.PutUint64(b[0:8], uint64(h.VirtualAddress))
	binary.BigEndian.PutUint32(b[8:12], uint32(h.RKey))
	b[12] = uint8(h.Operation)
	b[13] = byte((uint32(h.Reserved) & 0xffffff) >> 16)
	b[14] = byte((uint32(h.Reserved) & 0xffffff) >> 8)
	b[15] = byte((uint32(h.Reserved) & 0xffffff) >> 0)
	binary.BigEndian.PutUint64(b[16:24], uint64(h.SwapOrAdd))
	binary.BigEndian.PutUint64(b[24:32], uint64(h.Compare))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *AETH) AppendTo(b []byte) []byte {
	var raw [AETHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// ARETH is the Atomic Response Extended Transport Header, 8 bytes.
type ARETH struct {
	OriginalValue uint64 // the 8 bytes before the operation
}

func (h *ARETH) read(b *[ARETHLength]byte) {
	h.OriginalValue = binary.BigEndian.Uint64(b[0:8])
}

func (h *ARETH) write(b *[ARETHLength]byte) {
	binary.BigEndian.PutUint64(b[0:8], uint64(h.OriginalValue))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *ARETH) AppendTo(b []byte) []byte {
	var raw [ARETHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// IMMH is the Immediate Header, 4 bytes, there when flags.IMM is set: the last header before the payload.
type IMMH struct {
	Immediate uint32 // handed to the receiver with the completion
}

func (h *IMMH) read(b *[IMMHLength]byte) {
	h.Immediate = binary.BigEndian.Uint32(b[0:4])
}

func (h *IMMH) write(b *[IMMHLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.Immediate))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *IMMH) AppendTo(b []byte) []byte {
	var raw [IMMHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// ACKH is the Acknowledgment Header, 60 bytes.
type ACKH struct {
	CumulativePSN uint32     // next path sequence number expected: all before it have arrived
	SACK          SACK       // selective acknowledgment bitvector: bit i stands for cumulative_psn + 1 + i; bit i is bit i mod 8, counted from the LEAST significant, of byte i div 8
	EchoTimestamp uint32     // timestamp of the packet that triggered this ACK; ns
	ACKDelay      uint32     // time from that packet's arrival to this ACK's leaving; ns
	RateHint      uint32     // share of the receiver's inbound rate that it grants this connection; Mbit/s
	CECount       uint32     // packets that arrived on this path marked CE, since the connection began, mod 2^32; packets
	PacketCount   uint32     // sequenced packets that arrived on this path, duplicates too, since the connection began, mod 2^32; packets
	Trigger       ACKTrigger // why the receiver sent this ACK now
	Reserved      uint32
}

func (h *ACKH) read(b *[ACKHLength]byte) {
	h.CumulativePSN = binary.BigEndian.Uint32(b[0:4])
	h.SACK = SACK(b[4:36])
	h.EchoTimestamp = binary.BigEndian.Uint32(b[36:40])
	h.ACKDelay = binary.BigEndian.Uint32(b[40:44])
	h.RateHint = binary.BigEndian.Uint32(b[44:48])
	h.CECount = binary.BigEndian.Uint32(b[48:52])
	h.PacketCount = binary.BigEndian.Uint32(b[52:56])
	h.Trigger = ACKTrigger(b[56])
	h.Reserved = binary.BigEndian.Uint32(b[56:60]) & 0xffffff
}

func (h *ACKH) write(b *[ACKHLength]byte) {
	binary.BigEndian.PutUint32(b[0:4], uint32(h.CumulativePSN))
	copy(b[4:36], h.SACK[:])
	binary.BigEndian.PutUint32(b[36:40], uint32(h.EchoTimestamp))
	binary.BigEndian.PutUint32(b[40:44], uint32(h.ACKDelay))
	binary.BigEndian.PutUint32(b[44:48], uint32(h.RateHint))
	binary.BigEndian.PutUint32(b[48:52], uint32(h.CECount))
	binary.BigEndian.PutUint32(b[52:56], uint32(h.PacketCount))
	b[56] = uint8(h.Trigger)
	b[57] = byte((uint32(h.Reserved) & 0xffffff) >> 16)
	b[58] = byte((uint32(h.Reserved) & 0xffffff) >> 8)
	b[59] = byte((uint32(h.Reserved) & 0xffffff) >> 0)
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *ACKH) AppendTo(b []byte) []byte {
	var raw [ACKHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}

// ACKHRateHintNoLimit is a special value of ACKH.RateHint.
const ACKHRateHintNoLimit = 0xffffffff

// NAKH is the Negative Acknowledgment Header, 16 bytes.
type NAKH struct {
	Reason     NAKReason // why the packet is refused
	Reserved   uint8
	StreamID   uint16 // stream of the message that is refused
	MSN        uint32 // message that is refused
	RefusedPSN uint32 // path sequence number of the packet that is refused, on path_id
	RetryAfter uint32 // receiver not ready: wait this long; other reasons: 0; ns
}

func (h *NAKH) read(b *[NAKHLength]byte) {
	h.Reason = NAKReason(b[0])
	h.Reserved = b[1]
	h.StreamID = binary.BigEndian.Uint16(b[2:4])
	h.MSN = binary.BigEndian.Uint32(b[4:8])
	h.RefusedPSN = binary.BigEndian.Uint32(b[8:12])
	h.RetryAfter = binary.BigEndian.Uint32(b[12:16])
}

func (h *NAKH) write(b *[NAKHLength]byte) {
	b[0] = uint8(h.Reason)
	b[1] = uint8(h.Reserved)
	binary.BigEndian.PutUint16(b[2:4], uint16(h.StreamID))
	binary.BigEndian.PutUint32(b[4:8], uint32(h.MSN))
	binary.BigEndian.PutUint32(b[8:12], uint32(h.RefusedPSN))
	binary.BigEndian.PutUint32(b[12:16], uint32(h.RetryAfter))
}

// AppendTo appends the header to b. Of a field wider than its bits the low ones are sent.
func (h *NAKH) AppendTo(b []byte) []byte {
	var raw [NAKHLength]byte
	h.write(&raw)
	return append(b, raw[:]...)
}
