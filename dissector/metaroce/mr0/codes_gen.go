// Code generated from the profile mr0. DO NOT EDIT.

package mr0

import "strconv"

// Port is the UDP destination port of the profile, in both directions, unless another is set.
const Port = 51791

// Version is what the version field of every packet says.
const Version = 0

// Type is the type of a packet.
type Type uint8

// Packet types.
const (
	TypeConnReq    Type = 0x0
	TypeConnRep    Type = 0x1
	TypeConnRej    Type = 0x2
	TypeDisconnect Type = 0x3
	TypeWrite      Type = 0x4
	TypeSend       Type = 0x5
	TypeReadReq    Type = 0x6
	TypeReadResp   Type = 0x7
	TypeAtomicReq  Type = 0x8
	TypeAtomicResp Type = 0x9
	TypeProbe      Type = 0xa
	TypeACK        Type = 0xb
	TypeNAK        Type = 0xc
)

// String is the name of the type: CONN_REQ.
func (t Type) String() string {
	switch t {
	case TypeConnReq:
		return "CONN_REQ"
	case TypeConnRep:
		return "CONN_REP"
	case TypeConnRej:
		return "CONN_REJ"
	case TypeDisconnect:
		return "DISCONNECT"
	case TypeWrite:
		return "WRITE"
	case TypeSend:
		return "SEND"
	case TypeReadReq:
		return "READ_REQ"
	case TypeReadResp:
		return "READ_RESP"
	case TypeAtomicReq:
		return "ATOMIC_REQ"
	case TypeAtomicResp:
		return "ATOMIC_RESP"
	case TypeProbe:
		return "PROBE"
	case TypeACK:
		return "ACK"
	case TypeNAK:
		return "NAK"
	}
	return "reserved (" + strconv.Itoa(int(t)) + ")"
}

// Known tells whether the type is not reserved.
func (t Type) Known() bool { return int(t) < len(shapes) && shapes[t].length != 0 }

// Sequenced tells whether packets of the type have a path sequence number of their own.
func (t Type) Sequenced() bool { return int(t) < len(shapes) && shapes[t].sequenced }

// BearsPayload tells whether packets of the type may carry payload.
func (t Type) BearsPayload() bool { return int(t) < len(shapes) && shapes[t].payload }

// Flags are the flags of the common header.
type Flags uint8

// Flags of the common header.
const (
	FlagAR    Flags = 0x80 // acknowledgment requested
	FlagRTX   Flags = 0x40 // retransmission of this path sequence number, or of bytes first sent on another path
	FlagSE    Flags = 0x20 // solicited event
	FlagFirst Flags = 0x10 // message_offset is 0
	FlagLast  Flags = 0x8  // the packet ends its message
	FlagIMM   Flags = 0x4  // IMMH follows; WRITE and SEND, on the LAST packet only

	// KnownFlags are all of them; other bits are reserved.
	KnownFlags Flags = 0xfc
)

// String lists the flags that are set, and reserved bits: "AR".
func (f Flags) String() string {
	s := ""
	if f&FlagAR != 0 {
		s += ",AR"
	}
	if f&FlagRTX != 0 {
		s += ",RTX"
	}
	if f&FlagSE != 0 {
		s += ",SE"
	}
	if f&FlagFirst != 0 {
		s += ",FIRST"
	}
	if f&FlagLast != 0 {
		s += ",LAST"
	}
	if f&FlagIMM != 0 {
		s += ",IMM"
	}
	if f &^= KnownFlags; f != 0 {
		s += ",0x" + strconv.FormatUint(uint64(f), 16)
	}
	if s == "" {
		return ""
	}
	return s[1:]
}

// ACKTrigger is a code of the profile's ack_triggers.
type ACKTrigger uint8

// Codes of ACKTrigger.
const (
	ACKTriggerCoalesced    ACKTrigger = 0
	ACKTriggerRequested    ACKTrigger = 1
	ACKTriggerGap          ACKTrigger = 2
	ACKTriggerDuplicate    ACKTrigger = 3
	ACKTriggerCEChange     ACKTrigger = 4
	ACKTriggerMessageEnd   ACKTrigger = 5
	ACKTriggerTimer        ACKTrigger = 6
	ACKTriggerWindowUpdate ACKTrigger = 7
)

// String is the name of the code.
func (c ACKTrigger) String() string {
	switch c {
	case ACKTriggerCoalesced:
		return "coalesced"
	case ACKTriggerRequested:
		return "requested"
	case ACKTriggerGap:
		return "gap"
	case ACKTriggerDuplicate:
		return "duplicate"
	case ACKTriggerCEChange:
		return "ce_change"
	case ACKTriggerMessageEnd:
		return "message_end"
	case ACKTriggerTimer:
		return "timer"
	case ACKTriggerWindowUpdate:
		return "window_update"
	}
	return "unknown (" + strconv.FormatUint(uint64(c), 10) + ")"
}

// AtomicOperation is a code of the profile's atomic_operations.
type AtomicOperation uint8

// Codes of AtomicOperation.
const (
	AtomicOperationFetchAndAdd    AtomicOperation = 0
	AtomicOperationCompareAndSwap AtomicOperation = 1
)

// String is the name of the code.
func (c AtomicOperation) String() string {
	switch c {
	case AtomicOperationFetchAndAdd:
		return "fetch_and_add"
	case AtomicOperationCompareAndSwap:
		return "compare_and_swap"
	}
	return "unknown (" + strconv.FormatUint(uint64(c), 10) + ")"
}

// DisconnectReason is a code of the profile's disconnect_reasons.
type DisconnectReason uint8

// Codes of DisconnectReason.
const (
	DisconnectReasonNormal         DisconnectReason = 0
	DisconnectReasonError          DisconnectReason = 1
	DisconnectReasonAllPathsFailed DisconnectReason = 2
)

// String is the name of the code.
func (c DisconnectReason) String() string {
	switch c {
	case DisconnectReasonNormal:
		return "normal"
	case DisconnectReasonError:
		return "error"
	case DisconnectReasonAllPathsFailed:
		return "all_paths_failed"
	}
	return "unknown (" + strconv.FormatUint(uint64(c), 10) + ")"
}

// NAKReason is a code of the profile's nak_reasons.
type NAKReason uint8

// Codes of NAKReason.
const (
	NAKReasonReceiverNotReady     NAKReason = 1
	NAKReasonRemoteAccessError    NAKReason = 2
	NAKReasonInvalidRequest       NAKReason = 3
	NAKReasonRemoteOperationError NAKReason = 4
	NAKReasonStreamUnknown        NAKReason = 5
)

// String is the name of the code.
func (c NAKReason) String() string {
	switch c {
	case NAKReasonReceiverNotReady:
		return "receiver_not_ready"
	case NAKReasonRemoteAccessError:
		return "remote_access_error"
	case NAKReasonInvalidRequest:
		return "invalid_request"
	case NAKReasonRemoteOperationError:
		return "remote_operation_error"
	case NAKReasonStreamUnknown:
		return "stream_unknown"
	}
	return "unknown (" + strconv.FormatUint(uint64(c), 10) + ")"
}

// RejectReason is a code of the profile's reject_reasons.
type RejectReason uint8

// Codes of RejectReason.
const (
	RejectReasonNoResources RejectReason = 1
	RejectReasonVersion     RejectReason = 2
	RejectReasonMTU         RejectReason = 3
	RejectReasonPartition   RejectReason = 4
	RejectReasonBusy        RejectReason = 5
)

// String is the name of the code.
func (c RejectReason) String() string {
	switch c {
	case RejectReasonNoResources:
		return "no_resources"
	case RejectReasonVersion:
		return "version"
	case RejectReasonMTU:
		return "mtu"
	case RejectReasonPartition:
		return "partition"
	case RejectReasonBusy:
		return "busy"
	}
	return "unknown (" + strconv.FormatUint(uint64(c), 10) + ")"
}
