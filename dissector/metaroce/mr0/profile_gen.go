// Code generated from the profile mr0. DO NOT EDIT.

package mr0

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// Field indexes of [Profile].
const (
	FieldCHVersion           = 0
	FieldCHType              = 1
	FieldCHFlags             = 2
	FieldCHPayloadLength     = 3
	FieldCHDestConnID        = 4
	FieldCHPathID            = 5
	FieldCHPlaneID           = 6
	FieldCHPartitionKey      = 7
	FieldCHPSN               = 8
	FieldCONNSourceConnID    = 9
	FieldCONNPathCount       = 10
	FieldCONNPlaneCount      = 11
	FieldCONNMTU             = 12
	FieldCONNLinkRate        = 13
	FieldCONNInitialPSN      = 14
	FieldCONNStreamCount     = 15
	FieldCONNMaxWindow       = 16
	FieldCONNNonce           = 17
	FieldCONNReserved        = 18
	FieldREJReason           = 19
	FieldREJReserved         = 20
	FieldREJNonce            = 21
	FieldDISCSourceConnID    = 22
	FieldDISCReason          = 23
	FieldDISCReserved        = 24
	FieldDHTimestamp         = 25
	FieldDHStreamID          = 26
	FieldDHReserved          = 27
	FieldDHMSN               = 28
	FieldDHMessageOffset     = 29
	FieldDHMessageLength     = 30
	FieldWETHVirtualAddress  = 31
	FieldWETHRKey            = 32
	FieldSETHReceiveIndex    = 33
	FieldSETHReserved        = 34
	FieldRRETHVirtualAddress = 35
	FieldRRETHRKey           = 36
	FieldRRETHReadID         = 37
	FieldRSETHReadID         = 38
	FieldAETHVirtualAddress  = 39
	FieldAETHRKey            = 40
	FieldAETHOperation       = 41
	FieldAETHReserved        = 42
	FieldAETHSwapOrAdd       = 43
	FieldAETHCompare         = 44
	FieldARETHOriginalValue  = 45
	FieldIMMHImmediate       = 46
	FieldACKHCumulativePSN   = 47
	FieldACKHSACK            = 48
	FieldACKHEchoTimestamp   = 49
	FieldACKHACKDelay        = 50
	FieldACKHRateHint        = 51
	FieldACKHCECount         = 52
	FieldACKHPacketCount     = 53
	FieldACKHTrigger         = 54
	FieldACKHReserved        = 55
	FieldNAKHReason          = 56
	FieldNAKHReserved        = 57
	FieldNAKHStreamID        = 58
	FieldNAKHMSN             = 59
	FieldNAKHRefusedPSN      = 60
	FieldNAKHRetryAfter      = 61
)

// Profile describes the profile for code that walks its fields.
var Profile = metaroce.Profile{
	Name: "mr0", Title: "MetaRoCE working profile 0", Filter: "metaroce", Port: Port,
	Types: []metaroce.Type{
		{Code: 0, Name: "CONN_REQ", Headers: []uint8{0, 1}, Sequenced: false, Payload: false},
		{Code: 1, Name: "CONN_REP", Headers: []uint8{0, 1}, Sequenced: false, Payload: false},
		{Code: 2, Name: "CONN_REJ", Headers: []uint8{0, 2}, Sequenced: false, Payload: false},
		{Code: 3, Name: "DISCONNECT", Headers: []uint8{0, 3}, Sequenced: false, Payload: false},
		{Code: 4, Name: "WRITE", Headers: []uint8{0, 4, 5}, Sequenced: true, Payload: true},
		{Code: 5, Name: "SEND", Headers: []uint8{0, 4, 6}, Sequenced: true, Payload: true},
		{Code: 6, Name: "READ_REQ", Headers: []uint8{0, 4, 7}, Sequenced: true, Payload: false},
		{Code: 7, Name: "READ_RESP", Headers: []uint8{0, 4, 8}, Sequenced: true, Payload: true},
		{Code: 8, Name: "ATOMIC_REQ", Headers: []uint8{0, 4, 9}, Sequenced: true, Payload: false},
		{Code: 9, Name: "ATOMIC_RESP", Headers: []uint8{0, 4, 10}, Sequenced: true, Payload: false},
		{Code: 10, Name: "PROBE", Headers: []uint8{0, 4}, Sequenced: true, Payload: false},
		{Code: 11, Name: "ACK", Headers: []uint8{0, 12}, Sequenced: false, Payload: false},
		{Code: 12, Name: "NAK", Headers: []uint8{0, 13}, Sequenced: false, Payload: false},
	},
	Headers: []metaroce.Header{
		{Name: "CH", Title: "Common Header", Length: 16, First: 0, Count: 9},
		{Name: "CONN", Title: "Connection Header", Length: 32, First: 9, Count: 10},
		{Name: "REJ", Title: "Reject Header", Length: 12, First: 19, Count: 3},
		{Name: "DISC", Title: "Disconnect Header", Length: 8, First: 22, Count: 3},
		{Name: "DH", Title: "Data Header", Length: 20, First: 25, Count: 6},
		{Name: "WETH", Title: "Write Extended Transport Header", Length: 12, First: 31, Count: 2},
		{Name: "SETH", Title: "Send Extended Transport Header", Length: 8, First: 33, Count: 2},
		{Name: "RRETH", Title: "Read Request Extended Transport Header", Length: 16, First: 35, Count: 3},
		{Name: "RSETH", Title: "Read Response Extended Transport Header", Length: 4, First: 38, Count: 1},
		{Name: "AETH", Title: "Atomic Request Extended Transport Header", Length: 32, First: 39, Count: 6},
		{Name: "ARETH", Title: "Atomic Response Extended Transport Header", Length: 8, First: 45, Count: 1},
		{Name: "IMMH", Title: "Immediate Header", Length: 4, First: 46, Count: 1},
		{Name: "ACKH", Title: "Acknowledgment Header", Length: 60, First: 47, Count: 9},
		{Name: "NAKH", Title: "Negative Acknowledgment Header", Length: 16, First: 56, Count: 6},
	},
	Flags: []metaroce.Flag{
		{Name: "AR", Title: "acknowledgment requested", Mask: 0x80},
		{Name: "RTX", Title: "retransmission of this path sequence number, or of bytes first sent on another path", Mask: 0x40},
		{Name: "SE", Title: "solicited event", Mask: 0x20},
		{Name: "FIRST", Title: "message_offset is 0", Mask: 0x10},
		{Name: "LAST", Title: "the packet ends its message", Mask: 0x8},
		{Name: "IMM", Title: "IMMH follows; WRITE and SEND, on the LAST packet only", Mask: 0x4},
	},
	Fields: []metaroce.Field{
		{
			Header: 0, Name: "version", Label: "Version", Filter: "metaroce.version", Title: "profile version", Unit: "",
			Kind: metaroce.KindUint, Offset: 0, Bit: 0, Bits: 4,
		},
		{
			Header: 0, Name: "type", Label: "Type", Filter: "metaroce.type", Title: "packet type", Unit: "",
			Kind: metaroce.KindCode, Offset: 0, Bit: 4, Bits: 4,
			Codes: []metaroce.Code{{Value: 0x0, Name: "CONN_REQ"}, {Value: 0x1, Name: "CONN_REP"}, {Value: 0x2, Name: "CONN_REJ"}, {Value: 0x3, Name: "DISCONNECT"}, {Value: 0x4, Name: "WRITE"}, {Value: 0x5, Name: "SEND"}, {Value: 0x6, Name: "READ_REQ"}, {Value: 0x7, Name: "READ_RESP"}, {Value: 0x8, Name: "ATOMIC_REQ"}, {Value: 0x9, Name: "ATOMIC_RESP"}, {Value: 0xa, Name: "PROBE"}, {Value: 0xb, Name: "ACK"}, {Value: 0xc, Name: "NAK"}},
		},
		{
			Header: 0, Name: "flags", Label: "Flags", Filter: "metaroce.flags", Title: "flags", Unit: "",
			Kind: metaroce.KindFlags, Offset: 1, Bit: 0, Bits: 8,
		},
		{
			Header: 0, Name: "payload_length", Label: "Payload length", Filter: "metaroce.payload_length", Title: "payload after the last header, before the ICRC", Unit: "bytes",
			Kind: metaroce.KindUint, Offset: 2, Bit: 0, Bits: 16,
		},
		{
			Header: 0, Name: "dest_conn_id", Label: "Destination connection id", Filter: "metaroce.dest_conn_id", Title: "connection id that the receiver of this packet chose; in CONN_REQ 0", Unit: "",
			Kind: metaroce.KindHex, Offset: 4, Bit: 0, Bits: 32,
		},
		{
			Header: 0, Name: "path_id", Label: "Path id", Filter: "metaroce.path_id", Title: "path, counted from 0; in ACK and NAK the path that is acknowledged", Unit: "",
			Kind: metaroce.KindUint, Offset: 8, Bit: 0, Bits: 8,
		},
		{
			Header: 0, Name: "plane_id", Label: "Plane id", Filter: "metaroce.plane_id", Title: "network plane (NIC port) that the packet was sent on", Unit: "",
			Kind: metaroce.KindUint, Offset: 9, Bit: 0, Bits: 8,
		},
		{
			Header: 0, Name: "partition_key", Label: "Partition key", Filter: "metaroce.partition_key", Title: "partition key, as InfiniBand's P_Key", Unit: "",
			Kind: metaroce.KindHex, Offset: 10, Bit: 0, Bits: 16,
		},
		{
			Header: 0, Name: "psn", Label: "PSN", Filter: "metaroce.psn", Title: "sequenced types: path sequence number; ACK: acknowledgment number of this path and direction; other types: 0", Unit: "",
			Kind: metaroce.KindUint, Offset: 12, Bit: 0, Bits: 32,
		},
		{
			Header: 1, Name: "source_conn_id", Label: "Source connection id", Filter: "metaroce.source_conn_id", Title: "connection id that the sender of this packet chose", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 1, Name: "path_count", Label: "Path count", Filter: "metaroce.path_count", Title: "paths that the sender will use", Unit: "",
			Kind: metaroce.KindUint, Offset: 4, Bit: 0, Bits: 8,
		},
		{
			Header: 1, Name: "plane_count", Label: "Plane count", Filter: "metaroce.plane_count", Title: "planes that the sender has", Unit: "",
			Kind: metaroce.KindUint, Offset: 5, Bit: 0, Bits: 8,
		},
		{
			Header: 1, Name: "mtu", Label: "MTU", Filter: "metaroce.mtu", Title: "largest payload that the sender takes", Unit: "bytes",
			Kind: metaroce.KindUint, Offset: 6, Bit: 0, Bits: 16,
		},
		{
			Header: 1, Name: "link_rate", Label: "Link rate", Filter: "metaroce.link_rate", Title: "inbound rate of the sender, all planes together", Unit: "Mbit/s",
			Kind: metaroce.KindUint, Offset: 8, Bit: 0, Bits: 32,
		},
		{
			Header: 1, Name: "initial_psn", Label: "Initial PSN", Filter: "metaroce.initial_psn", Title: "first path sequence number of path 0; path i starts at initial_psn + i * 2^20 (mod 2^32)", Unit: "",
			Kind: metaroce.KindUint, Offset: 12, Bit: 0, Bits: 32,
		},
		{
			Header: 1, Name: "stream_count", Label: "Stream count", Filter: "metaroce.stream_count", Title: "streams that the sender takes", Unit: "",
			Kind: metaroce.KindUint, Offset: 16, Bit: 0, Bits: 16,
		},
		{
			Header: 1, Name: "max_window", Label: "Max window", Filter: "metaroce.max_window", Title: "packets in flight a path that the sender can track", Unit: "packets",
			Kind: metaroce.KindUint, Offset: 18, Bit: 0, Bits: 16,
		},
		{
			Header: 1, Name: "nonce", Label: "Nonce", Filter: "metaroce.nonce", Title: "random; CONN_REP and CONN_REJ echo the request's", Unit: "",
			Kind: metaroce.KindHex, Offset: 20, Bit: 0, Bits: 64,
		},
		{
			Header: 1, Name: "reserved", Label: "Reserved", Filter: "metaroce.conn.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 28, Bit: 0, Bits: 32,
		},
		{
			Header: 2, Name: "reason", Label: "Reason", Filter: "metaroce.rej.reason", Title: "why the connection is refused", Unit: "",
			Kind: metaroce.KindCode, Offset: 0, Bit: 0, Bits: 8,
			Codes: []metaroce.Code{{Value: 0x1, Name: "no_resources"}, {Value: 0x2, Name: "version"}, {Value: 0x3, Name: "mtu"}, {Value: 0x4, Name: "partition"}, {Value: 0x5, Name: "busy"}},
		},
		{
			Header: 2, Name: "reserved", Label: "Reserved", Filter: "metaroce.rej.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 1, Bit: 0, Bits: 24,
		},
		{
			Header: 2, Name: "nonce", Label: "Nonce", Filter: "metaroce.nonce", Title: "the request's", Unit: "",
			Kind: metaroce.KindHex, Offset: 4, Bit: 0, Bits: 64,
		},
		{
			Header: 3, Name: "source_conn_id", Label: "Source connection id", Filter: "metaroce.source_conn_id", Title: "connection id that the sender of this packet chose", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 3, Name: "reason", Label: "Reason", Filter: "metaroce.disc.reason", Title: "why the connection ends", Unit: "",
			Kind: metaroce.KindCode, Offset: 4, Bit: 0, Bits: 8,
			Codes: []metaroce.Code{{Value: 0x0, Name: "normal"}, {Value: 0x1, Name: "error"}, {Value: 0x2, Name: "all_paths_failed"}},
		},
		{
			Header: 3, Name: "reserved", Label: "Reserved", Filter: "metaroce.disc.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 5, Bit: 0, Bits: 24,
		},
		{
			Header: 4, Name: "timestamp", Label: "Timestamp", Filter: "metaroce.timestamp", Title: "sender's clock when the packet left, mod 2^32", Unit: "ns",
			Kind: metaroce.KindUint, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 4, Name: "stream_id", Label: "Stream id", Filter: "metaroce.stream_id", Title: "ordered stream within the connection", Unit: "",
			Kind: metaroce.KindUint, Offset: 4, Bit: 0, Bits: 16,
		},
		{
			Header: 4, Name: "reserved", Label: "Reserved", Filter: "metaroce.dh.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 6, Bit: 0, Bits: 16,
		},
		{
			Header: 4, Name: "msn", Label: "MSN", Filter: "metaroce.msn", Title: "message sequence number within the stream and direction, from 0; READ_RESP and ATOMIC_RESP carry the request's", Unit: "",
			Kind: metaroce.KindUint, Offset: 8, Bit: 0, Bits: 32,
		},
		{
			Header: 4, Name: "message_offset", Label: "Message offset", Filter: "metaroce.message_offset", Title: "offset of this packet's payload in its message", Unit: "bytes",
			Kind: metaroce.KindUint, Offset: 12, Bit: 0, Bits: 32,
		},
		{
			Header: 4, Name: "message_length", Label: "Message length", Filter: "metaroce.message_length", Title: "length of the whole message; READ_REQ: bytes asked for", Unit: "bytes",
			Kind: metaroce.KindUint, Offset: 16, Bit: 0, Bits: 32,
		},
		{
			Header: 5, Name: "virtual_address", Label: "Virtual address", Filter: "metaroce.virtual_address", Title: "where THIS packet's payload goes: the message's base address + message_offset", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 64,
		},
		{
			Header: 5, Name: "rkey", Label: "Remote key", Filter: "metaroce.rkey", Title: "remote key", Unit: "",
			Kind: metaroce.KindHex, Offset: 8, Bit: 0, Bits: 32,
		},
		{
			Header: 6, Name: "receive_index", Label: "Receive index", Filter: "metaroce.receive_index", Title: "which posted receive buffer of the stream takes the message, counted from 0", Unit: "",
			Kind: metaroce.KindUint, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 6, Name: "reserved", Label: "Reserved", Filter: "metaroce.seth.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 4, Bit: 0, Bits: 32,
		},
		{
			Header: 7, Name: "virtual_address", Label: "Virtual address", Filter: "metaroce.virtual_address", Title: "first byte to read", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 64,
		},
		{
			Header: 7, Name: "rkey", Label: "Remote key", Filter: "metaroce.rkey", Title: "remote key", Unit: "",
			Kind: metaroce.KindHex, Offset: 8, Bit: 0, Bits: 32,
		},
		{
			Header: 7, Name: "read_id", Label: "Read id", Filter: "metaroce.read_id", Title: "requester's id of the buffer that takes the answer", Unit: "",
			Kind: metaroce.KindUint, Offset: 12, Bit: 0, Bits: 32,
		},
		{
			Header: 8, Name: "read_id", Label: "Read id", Filter: "metaroce.read_id", Title: "the request's; the payload goes to that buffer at message_offset", Unit: "",
			Kind: metaroce.KindUint, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 9, Name: "virtual_address", Label: "Virtual address", Filter: "metaroce.virtual_address", Title: "8-byte aligned", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 64,
		},
		{
			Header: 9, Name: "rkey", Label: "Remote key", Filter: "metaroce.rkey", Title: "remote key", Unit: "",
			Kind: metaroce.KindHex, Offset: 8, Bit: 0, Bits: 32,
		},
		{
			Header: 9, Name: "operation", Label: "Operation", Filter: "metaroce.operation", Title: "what is done to the 8 bytes", Unit: "",
			Kind: metaroce.KindCode, Offset: 12, Bit: 0, Bits: 8,
			Codes: []metaroce.Code{{Value: 0x0, Name: "fetch_and_add"}, {Value: 0x1, Name: "compare_and_swap"}},
		},
		{
			Header: 9, Name: "reserved", Label: "Reserved", Filter: "metaroce.aeth.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 13, Bit: 0, Bits: 24,
		},
		{
			Header: 9, Name: "swap_or_add", Label: "Swap or add", Filter: "metaroce.swap_or_add", Title: "value to swap in, or to add", Unit: "",
			Kind: metaroce.KindHex, Offset: 16, Bit: 0, Bits: 64,
		},
		{
			Header: 9, Name: "compare", Label: "Compare", Filter: "metaroce.compare", Title: "compare and swap: value to be found", Unit: "",
			Kind: metaroce.KindHex, Offset: 24, Bit: 0, Bits: 64,
		},
		{
			Header: 10, Name: "original_value", Label: "Original value", Filter: "metaroce.original_value", Title: "the 8 bytes before the operation", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 64,
		},
		{
			Header: 11, Name: "immediate", Label: "Immediate", Filter: "metaroce.immediate", Title: "handed to the receiver with the completion", Unit: "",
			Kind: metaroce.KindHex, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 12, Name: "cumulative_psn", Label: "Cumulative PSN", Filter: "metaroce.cumulative_psn", Title: "next path sequence number expected: all before it have arrived", Unit: "",
			Kind: metaroce.KindUint, Offset: 0, Bit: 0, Bits: 32,
		},
		{
			Header: 12, Name: "sack", Label: "SACK", Filter: "metaroce.sack", Title: "selective acknowledgment bitvector: bit i stands for cumulative_psn + 1 + i; bit i is bit i mod 8, counted from the LEAST significant, of byte i div 8", Unit: "",
			Kind: metaroce.KindVector, Offset: 4, Bit: 0, Bits: 256, Counts: true, Base: 47, First: 1,
		},
		{
			Header: 12, Name: "echo_timestamp", Label: "Echo timestamp", Filter: "metaroce.echo_timestamp", Title: "timestamp of the packet that triggered this ACK", Unit: "ns",
			Kind: metaroce.KindUint, Offset: 36, Bit: 0, Bits: 32,
		},
		{
			Header: 12, Name: "ack_delay", Label: "ACK delay", Filter: "metaroce.ack_delay", Title: "time from that packet's arrival to this ACK's leaving", Unit: "ns",
			Kind: metaroce.KindUint, Offset: 40, Bit: 0, Bits: 32,
		},
		{
			Header: 12, Name: "rate_hint", Label: "Rate hint", Filter: "metaroce.rate_hint", Title: "share of the receiver's inbound rate that it grants this connection", Unit: "Mbit/s",
			Kind: metaroce.KindUint, Offset: 44, Bit: 0, Bits: 32,
			Codes: []metaroce.Code{{Value: 0xffffffff, Name: "no_limit"}},
		},
		{
			Header: 12, Name: "ce_count", Label: "CE count", Filter: "metaroce.ce_count", Title: "packets that arrived on this path marked CE, since the connection began, mod 2^32", Unit: "packets",
			Kind: metaroce.KindUint, Offset: 48, Bit: 0, Bits: 32,
		},
		{
			Header: 12, Name: "packet_count", Label: "Packet count", Filter: "metaroce.packet_count", Title: "sequenced packets that arrived on this path, duplicates too, since the connection began, mod 2^32", Unit: "packets",
			Kind: metaroce.KindUint, Offset: 52, Bit: 0, Bits: 32,
		},
		{
			Header: 12, Name: "trigger", Label: "Trigger", Filter: "metaroce.trigger", Title: "why the receiver sent this ACK now", Unit: "",
			Kind: metaroce.KindCode, Offset: 56, Bit: 0, Bits: 8,
			Codes: []metaroce.Code{{Value: 0x0, Name: "coalesced"}, {Value: 0x1, Name: "requested"}, {Value: 0x2, Name: "gap"}, {Value: 0x3, Name: "duplicate"}, {Value: 0x4, Name: "ce_change"}, {Value: 0x5, Name: "message_end"}, {Value: 0x6, Name: "timer"}, {Value: 0x7, Name: "window_update"}},
		},
		{
			Header: 12, Name: "reserved", Label: "Reserved", Filter: "metaroce.ackh.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 57, Bit: 0, Bits: 24,
		},
		{
			Header: 13, Name: "reason", Label: "Reason", Filter: "metaroce.nakh.reason", Title: "why the packet is refused", Unit: "",
			Kind: metaroce.KindCode, Offset: 0, Bit: 0, Bits: 8,
			Codes: []metaroce.Code{{Value: 0x1, Name: "receiver_not_ready"}, {Value: 0x2, Name: "remote_access_error"}, {Value: 0x3, Name: "invalid_request"}, {Value: 0x4, Name: "remote_operation_error"}, {Value: 0x5, Name: "stream_unknown"}},
		},
		{
			Header: 13, Name: "reserved", Label: "Reserved", Filter: "metaroce.nakh.reserved", Title: "", Unit: "",
			Kind: metaroce.KindReserved, Offset: 1, Bit: 0, Bits: 8,
		},
		{
			Header: 13, Name: "stream_id", Label: "Stream id", Filter: "metaroce.stream_id", Title: "stream of the message that is refused", Unit: "",
			Kind: metaroce.KindUint, Offset: 2, Bit: 0, Bits: 16,
		},
		{
			Header: 13, Name: "msn", Label: "MSN", Filter: "metaroce.msn", Title: "message that is refused", Unit: "",
			Kind: metaroce.KindUint, Offset: 4, Bit: 0, Bits: 32,
		},
		{
			Header: 13, Name: "refused_psn", Label: "Refused PSN", Filter: "metaroce.refused_psn", Title: "path sequence number of the packet that is refused, on path_id", Unit: "",
			Kind: metaroce.KindUint, Offset: 8, Bit: 0, Bits: 32,
		},
		{
			Header: 13, Name: "retry_after", Label: "Retry after", Filter: "metaroce.retry_after", Title: "receiver not ready: wait this long; other reasons: 0", Unit: "ns",
			Kind: metaroce.KindUint, Offset: 12, Bit: 0, Bits: 32,
		},
	},
}

// Profile is the description of the profile.
func (p *Packet) Profile() *metaroce.Profile { return &Profile }

// HeaderIndexes appends the headers that were decoded to dst, in their order on the wire.
func (p *Packet) HeaderIndexes(dst []uint8) []uint8 {
	if p.Has == HasCH {
		return append(dst, 0)
	}
	if !p.CH.Type.Known() {
		return dst
	}
	for _, h := range orders[p.CH.Type] {
		if p.Has>>h&1 != 0 {
			dst = append(dst, h)
		}
	}
	if p.Has&HasIMMH != 0 {
		dst = append(dst, 11)
	}
	return dst
}

// Uint is the value of a field by its index, and false when its header was not decoded or it is a vector.
func (p *Packet) Uint(field int) (uint64, bool) {
	switch field {
	case FieldCHVersion:
		return uint64(p.CH.Version), p.Has&HasCH != 0
	case FieldCHType:
		return uint64(p.CH.Type), p.Has&HasCH != 0
	case FieldCHFlags:
		return uint64(p.CH.Flags), p.Has&HasCH != 0
	case FieldCHPayloadLength:
		return uint64(p.CH.PayloadLength), p.Has&HasCH != 0
	case FieldCHDestConnID:
		return uint64(p.CH.DestConnID), p.Has&HasCH != 0
	case FieldCHPathID:
		return uint64(p.CH.PathID), p.Has&HasCH != 0
	case FieldCHPlaneID:
		return uint64(p.CH.PlaneID), p.Has&HasCH != 0
	case FieldCHPartitionKey:
		return uint64(p.CH.PartitionKey), p.Has&HasCH != 0
	case FieldCHPSN:
		return uint64(p.CH.PSN), p.Has&HasCH != 0
	case FieldCONNSourceConnID:
		return uint64(p.CONN.SourceConnID), p.Has&HasCONN != 0
	case FieldCONNPathCount:
		return uint64(p.CONN.PathCount), p.Has&HasCONN != 0
	case FieldCONNPlaneCount:
		return uint64(p.CONN.PlaneCount), p.Has&HasCONN != 0
	case FieldCONNMTU:
		return uint64(p.CONN.MTU), p.Has&HasCONN != 0
	case FieldCONNLinkRate:
		return uint64(p.CONN.LinkRate), p.Has&HasCONN != 0
	case FieldCONNInitialPSN:
		return uint64(p.CONN.InitialPSN), p.Has&HasCONN != 0
	case FieldCONNStreamCount:
		return uint64(p.CONN.StreamCount), p.Has&HasCONN != 0
	case FieldCONNMaxWindow:
		return uint64(p.CONN.MaxWindow), p.Has&HasCONN != 0
	case FieldCONNNonce:
		return uint64(p.CONN.Nonce), p.Has&HasCONN != 0
	case FieldCONNReserved:
		return uint64(p.CONN.Reserved), p.Has&HasCONN != 0
	case FieldREJReason:
		return uint64(p.REJ.Reason), p.Has&HasREJ != 0
	case FieldREJReserved:
		return uint64(p.REJ.Reserved), p.Has&HasREJ != 0
	case FieldREJNonce:
		return uint64(p.REJ.Nonce), p.Has&HasREJ != 0
	case FieldDISCSourceConnID:
		return uint64(p.DISC.SourceConnID), p.Has&HasDISC != 0
	case FieldDISCReason:
		return uint64(p.DISC.Reason), p.Has&HasDISC != 0
	case FieldDISCReserved:
		return uint64(p.DISC.Reserved), p.Has&HasDISC != 0
	case FieldDHTimestamp:
		return uint64(p.DH.Timestamp), p.Has&HasDH != 0
	case FieldDHStreamID:
		return uint64(p.DH.StreamID), p.Has&HasDH != 0
	case FieldDHReserved:
		return uint64(p.DH.Reserved), p.Has&HasDH != 0
	case FieldDHMSN:
		return uint64(p.DH.MSN), p.Has&HasDH != 0
	case FieldDHMessageOffset:
		return uint64(p.DH.MessageOffset), p.Has&HasDH != 0
	case FieldDHMessageLength:
		return uint64(p.DH.MessageLength), p.Has&HasDH != 0
	case FieldWETHVirtualAddress:
		return uint64(p.WETH.VirtualAddress), p.Has&HasWETH != 0
	case FieldWETHRKey:
		return uint64(p.WETH.RKey), p.Has&HasWETH != 0
	case FieldSETHReceiveIndex:
		return uint64(p.SETH.ReceiveIndex), p.Has&HasSETH != 0
	case FieldSETHReserved:
		return uint64(p.SETH.Reserved), p.Has&HasSETH != 0
	case FieldRRETHVirtualAddress:
		return uint64(p.RRETH.VirtualAddress), p.Has&HasRRETH != 0
	case FieldRRETHRKey:
		return uint64(p.RRETH.RKey), p.Has&HasRRETH != 0
	case FieldRRETHReadID:
		return uint64(p.RRETH.ReadID), p.Has&HasRRETH != 0
	case FieldRSETHReadID:
		return uint64(p.RSETH.ReadID), p.Has&HasRSETH != 0
	case FieldAETHVirtualAddress:
		return uint64(p.AETH.VirtualAddress), p.Has&HasAETH != 0
	case FieldAETHRKey:
		return uint64(p.AETH.RKey), p.Has&HasAETH != 0
	case FieldAETHOperation:
		return uint64(p.AETH.Operation), p.Has&HasAETH != 0
	case FieldAETHReserved:
		return uint64(p.AETH.Reserved), p.Has&HasAETH != 0
	case FieldAETHSwapOrAdd:
		return uint64(p.AETH.SwapOrAdd), p.Has&HasAETH != 0
	case FieldAETHCompare:
		return uint64(p.AETH.Compare), p.Has&HasAETH != 0
	case FieldARETHOriginalValue:
		return uint64(p.ARETH.OriginalValue), p.Has&HasARETH != 0
	case FieldIMMHImmediate:
		return uint64(p.IMMH.Immediate), p.Has&HasIMMH != 0
	case FieldACKHCumulativePSN:
		return uint64(p.ACKH.CumulativePSN), p.Has&HasACKH != 0
	case FieldACKHEchoTimestamp:
		return uint64(p.ACKH.EchoTimestamp), p.Has&HasACKH != 0
	case FieldACKHACKDelay:
		return uint64(p.ACKH.ACKDelay), p.Has&HasACKH != 0
	case FieldACKHRateHint:
		return uint64(p.ACKH.RateHint), p.Has&HasACKH != 0
	case FieldACKHCECount:
		return uint64(p.ACKH.CECount), p.Has&HasACKH != 0
	case FieldACKHPacketCount:
		return uint64(p.ACKH.PacketCount), p.Has&HasACKH != 0
	case FieldACKHTrigger:
		return uint64(p.ACKH.Trigger), p.Has&HasACKH != 0
	case FieldACKHReserved:
		return uint64(p.ACKH.Reserved), p.Has&HasACKH != 0
	case FieldNAKHReason:
		return uint64(p.NAKH.Reason), p.Has&HasNAKH != 0
	case FieldNAKHReserved:
		return uint64(p.NAKH.Reserved), p.Has&HasNAKH != 0
	case FieldNAKHStreamID:
		return uint64(p.NAKH.StreamID), p.Has&HasNAKH != 0
	case FieldNAKHMSN:
		return uint64(p.NAKH.MSN), p.Has&HasNAKH != 0
	case FieldNAKHRefusedPSN:
		return uint64(p.NAKH.RefusedPSN), p.Has&HasNAKH != 0
	case FieldNAKHRetryAfter:
		return uint64(p.NAKH.RetryAfter), p.Has&HasNAKH != 0
	}
	return 0, false
}

// Vector is a field of more than 64 bits, and nil when its header was not decoded. It aliases the packet.
func (p *Packet) Vector(field int) []byte {
	if field == FieldACKHSACK && p.Has&HasACKH != 0 {
		return p.ACKH.SACK[:]
	}
	return nil
}

// Parameters are what the reference transport can be told.
type Parameters struct {
	Paths                  int           // paths of a connection
	MTU                    int           // largest payload of a packet; bytes
	MaxWindow              int           // most packets in flight a path; packets
	InitialWindow          int           // window of a path at first; packets
	MinWindow              int           // least window of a path; packets
	AdditiveIncrease       int           // what a path's window gains a round trip without a mark; packets
	MultiplicativeDecrease float64       // what a path's window is multiplied by, at most once a path and round trip
	ACKEvery               int           // packets a path until an ACK is due; packets
	ACKTimer               time.Duration // time until an ACK is due
	RTOMin                 time.Duration // least retransmission timeout
	RTOMax                 time.Duration // greatest retransmission timeout, and time between probes of a failed path
	RTOInitial             time.Duration // retransmission timeout before a round trip was measured, and of connection requests
	PathFailedAfter        int           // timeouts in a row after which a path is failed
	HintTarget             float64       // of link_rate shared out among active senders
	HintActiveWindow       time.Duration // a sender that sent within this is active
	HintReaction           int           // round trips in which a sender must come within hint_tolerance
	HintTolerance          float64       // by how much a sender may pass a hint, and a share change unannounced
}

// DefaultParameters are the profile's.
func DefaultParameters() Parameters {
	return Parameters{
		Paths:                  8,
		MTU:                    4096,
		MaxWindow:              256,
		InitialWindow:          32,
		MinWindow:              1,
		AdditiveIncrease:       1,
		MultiplicativeDecrease: 0.5,
		ACKEvery:               16,
		ACKTimer:               20 * time.Microsecond,
		RTOMin:                 1 * time.Millisecond,
		RTOMax:                 100 * time.Millisecond,
		RTOInitial:             10 * time.Millisecond,
		PathFailedAfter:        3,
		HintTarget:             0.95,
		HintActiveWindow:       200 * time.Microsecond,
		HintReaction:           2,
		HintTolerance:          0.1,
	}
}
