-- MetaRoCE, profile mr0: dissector for Wireshark and tshark. Tested with 4.0; it runs in Lua 5.1 to 5.4.
-- Code generated from the profile mr0 by rocelens. DO NOT EDIT.
--
-- MetaRoCE working profile 0.
-- mr0 is the rocelens project's own encoding of the behaviour that Meta described in public on 2026-08-24.
-- Neither the byte layout of Meta's specification nor its library's source was at hand, so nothing here claims
-- to be Meta's layout: packets of Meta's own implementation will look different, and are not decoded by it. It
-- exists so that decoding, replay and a reference transport can be built and measured today; when a layout is
-- published, it becomes a profile beside this one.
-- The column Info, the names of fields and the reasons are those of rocelens.

local PORT = 51791 -- destination port, unless a preference says otherwise
local FILTER = "metaroce"
local VERSION = 0
local ICRC_LENGTH = 4
local PSN_CIRCLE = 2 ^ 32

if set_plugin_info then
	set_plugin_info({ version = "mr0", description = "MetaRoCE, profile mr0", author = "rocelens" })
end

-- Headers in the order of the profile. Of a field, `at` is its first byte, `bit` the first bit of that byte counted
-- from the most significant, `span` the bytes that it touches; `wrong` tells whether a value is out of range.
local HEADERS = {
	{
		name = "CH", title = "Common Header", abbr = "metaroce.ch", length = 16,
		fields = {
			{ name = "version", label = "Version", abbr = "metaroce.version", kind = "uint", at = 0, bit = 0, bits = 4, span = 1, type = "uint8", mask = 0xf0, blurb = "profile version" },
			{ name = "type", label = "Type", abbr = "metaroce.type", kind = "code", at = 0, bit = 4, bits = 4, span = 1, type = "uint8", mask = 0xf, blurb = "packet type", codes = { [0] = "CONN_REQ", [1] = "CONN_REP", [2] = "CONN_REJ", [3] = "DISCONNECT", [4] = "WRITE", [5] = "SEND", [6] = "READ_REQ", [7] = "READ_RESP", [8] = "ATOMIC_REQ", [9] = "ATOMIC_RESP", [10] = "PROBE", [11] = "ACK", [12] = "NAK", } },
			{ name = "flags", label = "Flags", abbr = "metaroce.flags", kind = "flags", at = 1, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "flags" },
			{ name = "payload_length", label = "Payload length", abbr = "metaroce.payload_length", kind = "uint", at = 2, bit = 0, bits = 16, span = 2, type = "uint16", unit = "bytes", blurb = "payload after the last header, before the ICRC" },
			{ name = "dest_conn_id", label = "Destination connection id", abbr = "metaroce.dest_conn_id", kind = "hex", at = 4, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "connection id that the receiver of this packet chose; in CONN_REQ 0" },
			{ name = "path_id", label = "Path id", abbr = "metaroce.path_id", kind = "uint", at = 8, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "path, counted from 0; in ACK and NAK the path that is acknowledged", wrong = function(v, sequenced) return not sequenced and (v > 127) end },
			{ name = "plane_id", label = "Plane id", abbr = "metaroce.plane_id", kind = "uint", at = 9, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "network plane (NIC port) that the packet was sent on" },
			{ name = "partition_key", label = "Partition key", abbr = "metaroce.partition_key", kind = "hex", at = 10, bit = 0, bits = 16, span = 2, type = "uint16", blurb = "partition key, as InfiniBand's P_Key" },
			{ name = "psn", label = "PSN", abbr = "metaroce.psn", kind = "uint", at = 12, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "sequenced types: path sequence number; ACK: acknowledgment number of this path and direction; other types: 0" },
		},
	},
	{
		name = "CONN", title = "Connection Header", abbr = "metaroce.conn", length = 32,
		fields = {
			{ name = "source_conn_id", label = "Source connection id", abbr = "metaroce.source_conn_id", kind = "hex", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "connection id that the sender of this packet chose" },
			{ name = "path_count", label = "Path count", abbr = "metaroce.path_count", kind = "uint", at = 4, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "paths that the sender will use", wrong = function(v) return v < 1 or v > 128 end },
			{ name = "plane_count", label = "Plane count", abbr = "metaroce.plane_count", kind = "uint", at = 5, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "planes that the sender has", wrong = function(v) return v < 1 end },
			{ name = "mtu", label = "MTU", abbr = "metaroce.mtu", kind = "uint", at = 6, bit = 0, bits = 16, span = 2, type = "uint16", unit = "bytes", blurb = "largest payload that the sender takes", wrong = function(v) return v ~= 256 and v ~= 512 and v ~= 1024 and v ~= 2048 and v ~= 4096 and v ~= 8192 end },
			{ name = "link_rate", label = "Link rate", abbr = "metaroce.link_rate", kind = "uint", at = 8, bit = 0, bits = 32, span = 4, type = "uint32", unit = "Mbit/s", blurb = "inbound rate of the sender, all planes together" },
			{ name = "initial_psn", label = "Initial PSN", abbr = "metaroce.initial_psn", kind = "uint", at = 12, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "first path sequence number of path 0; path i starts at initial_psn + i * 2^20 (mod 2^32)" },
			{ name = "stream_count", label = "Stream count", abbr = "metaroce.stream_count", kind = "uint", at = 16, bit = 0, bits = 16, span = 2, type = "uint16", blurb = "streams that the sender takes" },
			{ name = "max_window", label = "Max window", abbr = "metaroce.max_window", kind = "uint", at = 18, bit = 0, bits = 16, span = 2, type = "uint16", unit = "packets", blurb = "packets in flight a path that the sender can track", wrong = function(v) return v > 256 end },
			{ name = "nonce", label = "Nonce", abbr = "metaroce.nonce", kind = "hex", at = 20, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "random; CONN_REP and CONN_REJ echo the request's" },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.conn.reserved", kind = "reserved", at = 28, bit = 0, bits = 32, span = 4, type = "uint32" },
		},
	},
	{
		name = "REJ", title = "Reject Header", abbr = "metaroce.rej", length = 12,
		fields = {
			{ name = "reason", label = "Reason", abbr = "metaroce.rej.reason", kind = "code", at = 0, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "why the connection is refused", codes = { [1] = "no resources", [2] = "version", [3] = "mtu", [4] = "partition", [5] = "busy", } },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.rej.reserved", kind = "reserved", at = 1, bit = 0, bits = 24, span = 3, type = "uint24" },
			{ name = "nonce", label = "Nonce", abbr = "metaroce.nonce", kind = "hex", at = 4, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "the request's" },
		},
	},
	{
		name = "DISC", title = "Disconnect Header", abbr = "metaroce.disc", length = 8,
		fields = {
			{ name = "source_conn_id", label = "Source connection id", abbr = "metaroce.source_conn_id", kind = "hex", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "connection id that the sender of this packet chose" },
			{ name = "reason", label = "Reason", abbr = "metaroce.disc.reason", kind = "code", at = 4, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "why the connection ends", codes = { [0] = "normal", [1] = "error", [2] = "all paths failed", } },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.disc.reserved", kind = "reserved", at = 5, bit = 0, bits = 24, span = 3, type = "uint24" },
		},
	},
	{
		name = "DH", title = "Data Header", abbr = "metaroce.dh", length = 20,
		fields = {
			{ name = "timestamp", label = "Timestamp", abbr = "metaroce.timestamp", kind = "uint", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", unit = "ns", blurb = "sender's clock when the packet left, mod 2^32" },
			{ name = "stream_id", label = "Stream id", abbr = "metaroce.stream_id", kind = "uint", at = 4, bit = 0, bits = 16, span = 2, type = "uint16", blurb = "ordered stream within the connection" },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.dh.reserved", kind = "reserved", at = 6, bit = 0, bits = 16, span = 2, type = "uint16" },
			{ name = "msn", label = "MSN", abbr = "metaroce.msn", kind = "uint", at = 8, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "message sequence number within the stream and direction, from 0; READ_RESP and ATOMIC_RESP carry the request's" },
			{ name = "message_offset", label = "Message offset", abbr = "metaroce.message_offset", kind = "uint", at = 12, bit = 0, bits = 32, span = 4, type = "uint32", unit = "bytes", blurb = "offset of this packet's payload in its message" },
			{ name = "message_length", label = "Message length", abbr = "metaroce.message_length", kind = "uint", at = 16, bit = 0, bits = 32, span = 4, type = "uint32", unit = "bytes", blurb = "length of the whole message; READ_REQ: bytes asked for" },
		},
	},
	{
		name = "WETH", title = "Write Extended Transport Header", abbr = "metaroce.weth", length = 12,
		fields = {
			{ name = "virtual_address", label = "Virtual address", abbr = "metaroce.virtual_address", kind = "hex", at = 0, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "where THIS packet's payload goes: the message's base address + message_offset" },
			{ name = "rkey", label = "Remote key", abbr = "metaroce.rkey", kind = "hex", at = 8, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "remote key" },
		},
	},
	{
		name = "SETH", title = "Send Extended Transport Header", abbr = "metaroce.seth", length = 8,
		fields = {
			{ name = "receive_index", label = "Receive index", abbr = "metaroce.receive_index", kind = "uint", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "which posted receive buffer of the stream takes the message, counted from 0" },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.seth.reserved", kind = "reserved", at = 4, bit = 0, bits = 32, span = 4, type = "uint32" },
		},
	},
	{
		name = "RRETH", title = "Read Request Extended Transport Header", abbr = "metaroce.rreth", length = 16,
		fields = {
			{ name = "virtual_address", label = "Virtual address", abbr = "metaroce.virtual_address", kind = "hex", at = 0, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "first byte to read" },
			{ name = "rkey", label = "Remote key", abbr = "metaroce.rkey", kind = "hex", at = 8, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "remote key" },
			{ name = "read_id", label = "Read id", abbr = "metaroce.read_id", kind = "uint", at = 12, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "requester's id of the buffer that takes the answer" },
		},
	},
	{
		name = "RSETH", title = "Read Response Extended Transport Header", abbr = "metaroce.rseth", length = 4,
		fields = {
			{ name = "read_id", label = "Read id", abbr = "metaroce.read_id", kind = "uint", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "the request's; the payload goes to that buffer at message_offset" },
		},
	},
	{
		name = "AETH", title = "Atomic Request Extended Transport Header", abbr = "metaroce.aeth", length = 32,
		fields = {
			{ name = "virtual_address", label = "Virtual address", abbr = "metaroce.virtual_address", kind = "hex", at = 0, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "8-byte aligned" },
			{ name = "rkey", label = "Remote key", abbr = "metaroce.rkey", kind = "hex", at = 8, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "remote key" },
			{ name = "operation", label = "Operation", abbr = "metaroce.operation", kind = "code", at = 12, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "what is done to the 8 bytes", codes = { [0] = "fetch and add", [1] = "compare and swap", } },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.aeth.reserved", kind = "reserved", at = 13, bit = 0, bits = 24, span = 3, type = "uint24" },
			{ name = "swap_or_add", label = "Swap or add", abbr = "metaroce.swap_or_add", kind = "hex", at = 16, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "value to swap in, or to add" },
			{ name = "compare", label = "Compare", abbr = "metaroce.compare", kind = "hex", at = 24, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "compare and swap: value to be found" },
		},
	},
	{
		name = "ARETH", title = "Atomic Response Extended Transport Header", abbr = "metaroce.areth", length = 8,
		fields = {
			{ name = "original_value", label = "Original value", abbr = "metaroce.original_value", kind = "hex", at = 0, bit = 0, bits = 64, span = 8, type = "uint64", blurb = "the 8 bytes before the operation" },
		},
	},
	{
		name = "IMMH", title = "Immediate Header", abbr = "metaroce.immh", length = 4,
		fields = {
			{ name = "immediate", label = "Immediate", abbr = "metaroce.immediate", kind = "hex", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "handed to the receiver with the completion" },
		},
	},
	{
		name = "ACKH", title = "Acknowledgment Header", abbr = "metaroce.ackh", length = 60,
		fields = {
			{ name = "cumulative_psn", label = "Cumulative PSN", abbr = "metaroce.cumulative_psn", kind = "uint", at = 0, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "next path sequence number expected: all before it have arrived" },
			{ name = "sack", label = "SACK", abbr = "metaroce.sack", kind = "vector", at = 4, bit = 0, bits = 256, span = 32, type = "bytes", blurb = "selective acknowledgment bitvector: bit i stands for cumulative_psn + 1 + i; bit i is bit i mod 8, counted from the LEAST significant, of byte i div 8", counts_from = "cumulative_psn", first = 1 },
			{ name = "echo_timestamp", label = "Echo timestamp", abbr = "metaroce.echo_timestamp", kind = "uint", at = 36, bit = 0, bits = 32, span = 4, type = "uint32", unit = "ns", blurb = "timestamp of the packet that triggered this ACK" },
			{ name = "ack_delay", label = "ACK delay", abbr = "metaroce.ack_delay", kind = "uint", at = 40, bit = 0, bits = 32, span = 4, type = "uint32", unit = "ns", blurb = "time from that packet's arrival to this ACK's leaving" },
			{ name = "rate_hint", label = "Rate hint", abbr = "metaroce.rate_hint", kind = "uint", at = 44, bit = 0, bits = 32, span = 4, type = "uint32", unit = "Mbit/s", blurb = "share of the receiver's inbound rate that it grants this connection", codes = { [4294967295] = "no limit", } },
			{ name = "ce_count", label = "CE count", abbr = "metaroce.ce_count", kind = "uint", at = 48, bit = 0, bits = 32, span = 4, type = "uint32", unit = "packets", blurb = "packets that arrived on this path marked CE, since the connection began, mod 2^32" },
			{ name = "packet_count", label = "Packet count", abbr = "metaroce.packet_count", kind = "uint", at = 52, bit = 0, bits = 32, span = 4, type = "uint32", unit = "packets", blurb = "sequenced packets that arrived on this path, duplicates too, since the connection began, mod 2^32" },
			{ name = "trigger", label = "Trigger", abbr = "metaroce.trigger", kind = "code", at = 56, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "why the receiver sent this ACK now", codes = { [0] = "coalesced", [1] = "requested", [2] = "gap", [3] = "duplicate", [4] = "ce change", [5] = "message end", [6] = "timer", [7] = "window update", } },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.ackh.reserved", kind = "reserved", at = 57, bit = 0, bits = 24, span = 3, type = "uint24" },
		},
	},
	{
		name = "NAKH", title = "Negative Acknowledgment Header", abbr = "metaroce.nakh", length = 16,
		fields = {
			{ name = "reason", label = "Reason", abbr = "metaroce.nakh.reason", kind = "code", at = 0, bit = 0, bits = 8, span = 1, type = "uint8", blurb = "why the packet is refused", codes = { [1] = "receiver not ready", [2] = "remote access error", [3] = "invalid request", [4] = "remote operation error", [5] = "stream unknown", } },
			{ name = "reserved", label = "Reserved", abbr = "metaroce.nakh.reserved", kind = "reserved", at = 1, bit = 0, bits = 8, span = 1, type = "uint8" },
			{ name = "stream_id", label = "Stream id", abbr = "metaroce.stream_id", kind = "uint", at = 2, bit = 0, bits = 16, span = 2, type = "uint16", blurb = "stream of the message that is refused" },
			{ name = "msn", label = "MSN", abbr = "metaroce.msn", kind = "uint", at = 4, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "message that is refused" },
			{ name = "refused_psn", label = "Refused PSN", abbr = "metaroce.refused_psn", kind = "uint", at = 8, bit = 0, bits = 32, span = 4, type = "uint32", blurb = "path sequence number of the packet that is refused, on path_id" },
			{ name = "retry_after", label = "Retry after", abbr = "metaroce.retry_after", kind = "uint", at = 12, bit = 0, bits = 32, span = 4, type = "uint32", unit = "ns", blurb = "receiver not ready: wait this long; other reasons: 0" },
		},
	},
}

-- Packet types by their code: headers by their place in HEADERS.
local TYPES = {
	[0] = { name = "CONN_REQ", headers = { 1, 2 }, sequenced = false, payload = false, opens = true },
	[1] = { name = "CONN_REP", headers = { 1, 2 }, sequenced = false, payload = false },
	[2] = { name = "CONN_REJ", headers = { 1, 3 }, sequenced = false, payload = false },
	[3] = { name = "DISCONNECT", headers = { 1, 4 }, sequenced = false, payload = false },
	[4] = { name = "WRITE", headers = { 1, 5, 6 }, sequenced = true, payload = true, optional = true },
	[5] = { name = "SEND", headers = { 1, 5, 7 }, sequenced = true, payload = true, optional = true },
	[6] = { name = "READ_REQ", headers = { 1, 5, 8 }, sequenced = true, payload = false },
	[7] = { name = "READ_RESP", headers = { 1, 5, 9 }, sequenced = true, payload = true },
	[8] = { name = "ATOMIC_REQ", headers = { 1, 5, 10 }, sequenced = true, payload = false },
	[9] = { name = "ATOMIC_RESP", headers = { 1, 5, 11 }, sequenced = true, payload = false },
	[10] = { name = "PROBE", headers = { 1, 5 }, sequenced = true, payload = false },
	[11] = { name = "ACK", headers = { 1, 13 }, sequenced = false, payload = false },
	[12] = { name = "NAK", headers = { 1, 14 }, sequenced = false, payload = false },
}

-- Flags, the most significant first: mask in the flags' field, mask in the bytes that it touches, and names.
local FLAG_BITS = {
	{ name = "AR", abbr = "metaroce.flags.ar", value = 0x80, mask = 0x80, blurb = "acknowledgment requested" },
	{ name = "RTX", abbr = "metaroce.flags.rtx", value = 0x40, mask = 0x40, blurb = "retransmission of this path sequence number, or of bytes first sent on another path" },
	{ name = "SE", abbr = "metaroce.flags.se", value = 0x20, mask = 0x20, blurb = "solicited event" },
	{ name = "FIRST", abbr = "metaroce.flags.first", value = 0x10, mask = 0x10, blurb = "message_offset is 0" },
	{ name = "LAST", abbr = "metaroce.flags.last", value = 0x8, mask = 0x8, blurb = "the packet ends its message" },
	{ name = "IMM", abbr = "metaroce.flags.imm", value = 0x4, mask = 0x4, blurb = "IMMH follows; WRITE and SEND, on the LAST packet only" },
	{ name = "Reserved", abbr = "metaroce.flags.reserved", value = 0x2, mask = 0x2, reserved = true },
	{ name = "Reserved", abbr = "metaroce.flags.reserved", value = 0x1, mask = 0x1, reserved = true },
}

local RETRANSMISSION = 0x40 -- the flag of packets that are sent again

-- The header that a flag announces, as the last one.
local ANNOUNCED = { flag = 0x4, header = 12, requires = 0x8 }

-- The header that tells a packet's place in its message, and the flags that say so, too.
local MESSAGE = {
	header = 5,
	begins = { flag = 0x10, except = { } },
	ends = { flag = 0x8, except = { [6] = true, } },
}

-- Why a packet is malformed. Where the reason is in doubt, the packet is another program's unless its ICRC is right.
local REASONS = {
	first = { text = "FIRST disagrees with the message offset" },
	flag = { text = "flag on a packet that may not bear its header" },
	headers = { text = "headers do not fit into the UDP length", in_doubt = true },
	last = { text = "LAST disagrees with the message length" },
	offset = { text = "message offset passes the message length" },
	payload = { text = "payload behind a type that has none", in_doubt = true },
	payload_length = { text = "payload length differs from what is there", in_doubt = true },
	range = { text = "out of range" },
	type = { text = "reserved type", in_doubt = true },
	version = { text = "version is not the profile's", in_doubt = true },
}

local proto = Proto("metaroce", "MetaRoCE, profile mr0")

proto.prefs.port = Pref.uint("UDP port", PORT, "UDP destination port of every packet, in both directions")
proto.prefs.icrc = Pref.bool("Verify the ICRC", true, "Compute the ICRC of every packet; it takes the longer the larger packets are")

-- Everything that can be filtered by. Fields of several headers may share a name.
local known, registered = {}, {}
local function register(make, abbr, ...)
	local key = table.concat({ abbr, tostring((select(4, ...))) }, " ")
	if not known[key] then
		known[key] = make(abbr, ...)
		registered[#registered + 1] = known[key]
	end
	return known[key]
end

for _, h in ipairs(HEADERS) do
	h.proto, h.by = register(ProtoField.none, h.abbr, h.title .. " (" .. h.name .. ")"), {}
	for _, f in ipairs(h.fields) do
		if f.kind == "vector" then
			f.proto = register(ProtoField.bytes, f.abbr, f.label, base.NONE, f.blurb)
		else
			local display = (f.kind == "hex" or f.kind == "flags" or f.kind == "reserved") and base.HEX or base.DEC
			local names = f.kind == "code" and f.codes or nil
			f.proto = register(ProtoField[f.type], f.abbr, f.label, display, names, f.mask, f.blurb)
		end
		h.by[f.name] = f
	end
end
for _, f in ipairs(FLAG_BITS) do
	f.proto = register(ProtoField.bool, f.abbr, f.name, 8 * HEADERS[1].by.flags.span, nil, f.mask, f.blurb)
end

local prefix = FILTER .. "."
local made = {
	payload = register(ProtoField.bytes, prefix .. "payload", "Payload", base.NONE, nil),
	icrc = register(ProtoField.uint32, prefix .. "icrc", "ICRC", base.HEX, nil, nil, "as it stands on the wire, least significant byte first"),
	icrc_status = register(ProtoField.string, prefix .. "icrc.status", "Status", base.NONE, "good, bad or undetermined"),
	icrc_computed = register(ProtoField.uint32, prefix .. "icrc.computed", "Computed", base.HEX),
	ranges = register(ProtoField.string, prefix .. "ranges", "Ranges", base.NONE, "what a bit vector has, first and last of each run"),
	connection = register(ProtoField.uint32, prefix .. "connection", "Connection", base.DEC, nil, nil, "number of the connection in this capture, of both directions"),
	acknowledged_in = register(ProtoField.framenum, prefix .. "acknowledged_in", "Acknowledged in", base.NONE, frametype.ACK),
	retransmission_of = register(ProtoField.framenum, prefix .. "retransmission_of", "Retransmission of", base.NONE, frametype.NONE),
	duplicate_of = register(ProtoField.framenum, prefix .. "duplicate_of", "Duplicate of", base.NONE, frametype.NONE),
}
proto.fields = registered

local experts = {
	cut = ProtoExpert.new(prefix .. "cut", "Cut by the capture", expert.group.UNDECODED, expert.severity.WARN),
	icrc = ProtoExpert.new(prefix .. "icrc.bad", "The ICRC is wrong", expert.group.CHECKSUM, expert.severity.ERROR),
	reserved = ProtoExpert.new(prefix .. "reserved_set", "Reserved and not zero", expert.group.PROTOCOL, expert.severity.NOTE),
	retransmission = ProtoExpert.new(prefix .. "retransmission", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE),
	duplicate = ProtoExpert.new(prefix .. "duplicate", "Duplicate", expert.group.SEQUENCE, expert.severity.NOTE),
}
local expert_list = {}
for _, e in pairs(experts) do
	expert_list[#expert_list + 1] = e
end
for name, reason in pairs(REASONS) do
	reason.expert = ProtoExpert.new(prefix .. "malformed." .. name, "Malformed: " .. reason.text, expert.group.MALFORMED, expert.severity.ERROR)
	expert_list[#expert_list + 1] = reason.expert
end
proto.experts = expert_list

-- value reads a field of a header that begins at `at`. It is a UInt64 from 33 bits on.
local function value(tvb, at, f)
	return tvb(at + f.at, f.span):bitfield(f.bit, f.bits)
end

-- has tells whether a flag is set; a mask has one bit.
local function has(flags, mask)
	return flags % (2 * mask) >= mask
end

-- runs lists the runs of set bits of a vector, first and last of each; bits count from the least significant of a byte.
local function runs(tvb, at, f)
	local out, open = {}, nil
	for i, b in ipairs({ tvb:raw(at + f.at, f.span):byte(1, -1) }) do
		if b ~= (open and 255 or 0) then
			for bit = 0, 7 do
				local set = b % 2 == 1
				if set and not open then
					open = 8 * (i - 1) + bit
				elseif open and not set then
					out[#out + 1] = { open, 8 * (i - 1) + bit - 1 }
					open = nil
				end
				b = (b - b % 2) / 2
			end
		end
	end
	if open then
		out[#out + 1] = { open, f.bits - 1 }
	end
	return out
end

-- ranges_text puts a vector into words, given that its bits count from the value of another field: "71-72, 77".
local function ranges_text(tvb, at, header, f, separator)
	local counted = header.by[f.counts_from]
	local circle, first = 2 ^ counted.bits, value(tvb, at, counted) + f.first
	local out = {}
	for i, run in ipairs(runs(tvb, at, f)) do
		out[i] = string.format("%.0f", (first + run[1]) % circle)
		if run[2] > run[1] then
			out[i] = out[i] .. string.format("-%.0f", (first + run[2]) % circle)
		end
	end
	return table.concat(out, separator)
end

-- decode finds the headers, the payload and what is wrong with a packet, in the order in which the profile checks.
local function decode(tvb)
	local length, captured, common = tvb:reported_len(), tvb:len(), HEADERS[1]
	local d = { headers = {}, at = {}, length = length, captured = captured, read = 0 }
	local function malformed(name, header, field, at)
		d.fault = {
			reason = REASONS[name], header = header, field = field,
			text = header.name .. (field and "." .. field.name or "") .. " at byte " .. at .. ": " .. REASONS[name].text,
		}
		return d
	end
	local function wrong(name, header, field)
		return malformed(name, header, field, d.at[header] + field.at)
	end
	local function read(header)
		d.headers[#d.headers + 1] = header
		d.at[header] = d.read
		d.read = d.read + header.length
	end
	local function common_value(name)
		return value(tvb, 0, common.by[name])
	end

	if length < common.length + ICRC_LENGTH then
		return malformed("headers", common, nil, 0)
	end
	if captured < common.length then
		d.cut = common
		return d
	end
	read(common)
	if common_value("version") ~= VERSION then
		return wrong("version", common, common.by.version)
	end
	d.code, d.flags, d.psn = common_value("type"), common_value("flags"), common_value("psn")
	d.type = TYPES[d.code]
	if not d.type then
		return wrong("type", common, common.by.type)
	end

	local order = {}
	for i, h in ipairs(d.type.headers) do
		order[i] = HEADERS[h]
	end
	if ANNOUNCED and d.type.optional and has(d.flags, ANNOUNCED.flag) then
		order[#order + 1] = HEADERS[ANNOUNCED.header]
	end
	local announced, ends = common_value("payload_length"), 0
	for _, h in ipairs(order) do
		if ends + h.length > length - ICRC_LENGTH then
			return malformed("headers", h, nil, ends)
		end
		ends = ends + h.length
	end
	local carried = length - ends - ICRC_LENGTH
	if carried ~= announced then
		return wrong("payload_length", common, common.by.payload_length)
	elseif carried ~= 0 and not d.type.payload then
		return wrong("payload", common, common.by.payload_length)
	end
	d.payload, d.carried = ends, carried

	for i = 2, #order do
		if d.read + order[i].length > captured then
			d.cut = order[i]
			return d
		end
		read(order[i])
	end

	if ANNOUNCED and has(d.flags, ANNOUNCED.flag) and not (d.type.optional and (not ANNOUNCED.requires or has(d.flags, ANNOUNCED.requires))) then
		return wrong("flag", common, common.by.flags)
	end
	local function ranges(h)
		for _, f in ipairs(h.fields) do
			if f.wrong and d.at[h] and f.wrong(value(tvb, d.at[h], f), d.type.sequenced) then
				return wrong("range", h, f)
			end
		end
	end
	if ranges(common) then
		return d
	end
	local message = MESSAGE and HEADERS[MESSAGE.header]
	if message and d.at[message] then
		local offset = value(tvb, d.at[message], message.by.message_offset)
		local whole = value(tvb, d.at[message], message.by.message_length)
		local begins, finish = MESSAGE.begins, MESSAGE.ends
		if begins and not begins.except[d.code] and (offset == 0) ~= has(d.flags, begins.flag) then
			return wrong("first", common, common.by.flags)
		elseif offset + announced > whole then
			return wrong("offset", message, message.by.message_offset)
		elseif finish and not finish.except[d.code] and (offset + announced == whole) ~= has(d.flags, finish.flag) then
			return wrong("last", common, common.by.flags)
		end
	end
	for i = 2, #HEADERS do
		if ranges(HEADERS[i]) then
			return d
		end
	end
	return d
end


-- CRC-32 of IEEE 802.3, four bytes a step. Lua has had three ways to combine bits.
local bxor, bxor4
if _VERSION ~= "Lua 5.1" and _VERSION ~= "Lua 5.2" then
	bxor, bxor4 = load("return function(a, b) return a ~ b end, function(a, b, c, d) return a ~ b ~ c ~ d end")()
elseif bit32 then
	bxor, bxor4 = bit32.bxor, bit32.bxor
else
	bxor = function(...) return bit.bxor(...) % 0x100000000 end
	bxor4 = bxor
end
local T0, T1, T2, T3 = {}, {}, {}, {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		c = c % 2 == 1 and bxor((c - 1) / 2, 0xEDB88320) or c / 2
	end
	T0[i] = c
end
for i = 0, 255 do
	for _, step in ipairs({ { T0, T1 }, { T1, T2 }, { T2, T3 } }) do
		local c = step[1][i]
		step[2][i] = bxor((c - c % 256) / 256, T0[c % 256])
	end
end

local function crc32(c, s)
	local byte, n = string.byte, #s
	local whole = n - n % 4
	for i = 1, whole, 4 do
		local b0, b1, b2, b3 = byte(s, i, i + 3)
		c = bxor(c, b0 + b1 * 0x100 + b2 * 0x10000 + b3 * 0x1000000)
		local x = c % 256
		c = (c - x) / 256
		local y = c % 256
		c = (c - y) / 256
		local z = c % 256
		c = bxor4(T3[x], T2[y], T1[z], T0[(c - z) / 256])
	end
	for i = whole + 1, n do
		local x = bxor(c % 256, byte(s, i))
		c = bxor((c - c % 256) / 256, T0[x])
	end
	return c
end

local ip_header, ip_next = Field.new("ip.hdr_len"), Field.new("ipv6.nxt")
local addresses = {
	source = { [4] = Field.new("ip.src"), [6] = Field.new("ipv6.src") },
	destination = { [4] = Field.new("ip.dst"), [6] = Field.new("ipv6.dst") },
}

-- last is the innermost of the fields of a name, nil when there is none.
local function last(extract)
	local all = { extract() }
	return all[#all]
end

local function parse_ipv4(text)
	local a, b, c, d = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
	if d then
		return string.char(a, b, c, d)
	end
end

local function parse_ipv6(text)
	local tail = text:match("[%d.]+$")
	local mapped = tail and tail:find(".", 1, true) and parse_ipv4(tail)
	if mapped then
		text = text:sub(1, #text - #tail) .. string.format("%x:%x", mapped:byte(1) * 256 + mapped:byte(2), mapped:byte(3) * 256 + mapped:byte(4))
	end
	local function words(part)
		local out = {}
		for w in part:gmatch("%x+") do
			local v = tonumber(w, 16)
			out[#out + 1] = string.char((v - v % 256) / 256, v % 256)
		end
		return table.concat(out)
	end
	local head, rest = text:match("^([%x:]-)::([%x:]*)$")
	if not head then
		head, rest = text, ""
	end
	head, rest = words(head), words(rest)
	if #head + #rest <= 16 then
		return head .. string.rep("\0", 16 - #head - #rest) .. rest
	end
end

-- address_bytes are the 4 or 16 bytes of the innermost address. Names that Wireshark has resolved do not parse, and
-- fields are not there when Wireshark builds no tree: one of the two tells.
local function address_bytes(address, fields)
	local text = tostring(address)
	local parsed = parse_ipv4(text)
	if parsed or text:match("^[%x:.]+$") and text:find(":", 1, true) then
		return parsed or parse_ipv6(text)
	end
	for _, version in ipairs({ 4, 6 }) do
		local field = last(fields[version])
		if field and tostring(field.value) == text or field and not last(fields[10 - version]) then
			return field.range:raw()
		end
	end
end

-- unmapped is the IPv4 address of an IPv6 one that stands for it.
local function unmapped(address)
	if #address == 16 and address:sub(1, 12) == string.rep("\0", 10) .. "\255\255" then
		return address:sub(13)
	end
	return address
end

local function reverse(crc)
	local b0 = crc % 256
	local r = (crc - b0) / 256
	local b1 = r % 256
	r = (r - b1) / 256
	local b2 = r % 256
	return b0 * 0x1000000 + b1 * 0x10000 + b2 * 0x100 + (r - b2) / 256
end

-- verdicts are those of frames that were dissected before.
local verdicts = {}

-- verify gives "good", "bad" or "undetermined", and for a bad one what should stand on the wire.
local function verify(tvb, pinfo)
	local done = verdicts[pinfo.number]
	if done and pinfo.visited then
		return done.status, done.computed
	end
	local length = tvb:reported_len()
	if length < ICRC_LENGTH or tvb:len() < length or pinfo.fragmented or pinfo.in_error_pkt then
		return "undetermined"
	end
	local source, destination = address_bytes(pinfo.net_src, addresses.source), address_bytes(pinfo.net_dst, addresses.destination)
	if not source or not destination then
		return "undetermined"
	end
	local header = last(ip_header)
	local v6 = #source == 16
	if v6 then
		local nxt = last(ip_next)
		if nxt and nxt.value ~= 17 then
			return "undetermined" -- a routing header would change the destination
		end
	end
	local from, to = unmapped(source), unmapped(destination)
	if #from ~= #to then
		from, to = source, destination
	end
	local function word(v)
		return string.char((v - v % 256) / 256, v % 256)
	end
	local pseudo = from .. to .. word(pinfo.src_port) .. word(pinfo.dst_port) .. word((length + 8) % 65536)
	local crc = crc32(0xFFFFFFFF, pseudo .. tvb:raw(0, length - ICRC_LENGTH))
	local computed = reverse(0xFFFFFFFF - crc)
	local received = tvb(length - ICRC_LENGTH, ICRC_LENGTH):uint()
	local status = "bad"
	if computed == received then
		status = "good"
	elseif received == 0 or not v6 and header and header.value > 20 then
		status = "undetermined" -- not filled in yet; a source route changes the destination
	end
	verdicts[pinfo.number] = { status = status, computed = status == "bad" and computed or nil }
	return status, verdicts[pinfo.number].computed
end


-- What packets say about each other. It is gathered when a packet is seen for the first time; whoever looks at a
-- packet again, as Wireshark and tshark -2 do, also sees what later packets said of it.
local state
local function forget()
	verdicts = {}
	state = {
		connections = {}, -- by receiver and connection id: { number, same }
		count = 0,
		peers = {}, -- receiver and connection id of the other direction
		paths = {}, -- by receiver, connection id and path: packets by psn
		places = {}, -- by place in a message: the frame that had it first
		echoes = {}, -- by sender, receiver, path and timestamp: connections, until the peer is known
		acknowledged = {}, retransmissions = {}, duplicates = {}, of = {},
	}
end
forget()
function proto.init()
	forget()
end

-- field_value finds a field by its name in the headers of a packet, as a text that can be compared.
local function field_value(tvb, d, name)
	for _, h in ipairs(d.headers) do
		if h.by[name] then
			return tostring(value(tvb, d.at[h], h.by[name]))
		end
	end
end

-- connection is the record of a receiver's connection id. Both directions share one as soon as they are known to.
local function connection(key)
	local c = state.connections[key]
	if not c then
		c = { number = state.count }
		state.count = state.count + 1
		state.connections[key] = c
	end
	while c.same do
		c = c.same
	end
	return c
end

-- join notes that two connection ids name the two directions of one connection.
local function join(a, b)
	state.peers[a], state.peers[b] = b, a
	local x, y = connection(a), connection(b)
	if x.number > y.number then
		x, y = y, x
	end
	if x ~= y then
		y.same = x
	end
end

local function path_of(key, path)
	local name = key .. "/" .. (path or "")
	local p = state.paths[name]
	if not p then
		p = { sent = {}, open = {}, opened = 0 }
		state.paths[name] = p
	end
	return p
end

-- sent notes a sequenced packet.
local function sent(tvb, pinfo, d, key, endpoints)
	local path = path_of(key, field_value(tvb, d, "path_id"))
	local stamp = field_value(tvb, d, "timestamp")
	local before = path.sent[d.psn]
	local place
	local message = MESSAGE and HEADERS[MESSAGE.header]
	if message and d.at[message] then
		place = table.concat({ key, d.code, field_value(tvb, d, "stream_id") or "", field_value(tvb, d, "msn") or "", field_value(tvb, d, "message_offset") }, "/")
	end
	if before then
		local same = stamp and before[stamp]
		if same then
			state.duplicates[pinfo.number] = same
		else
			state.retransmissions[pinfo.number] = before.first
			before[stamp or ""] = pinfo.number
		end
		before[#before + 1] = pinfo.number
		if not path.open[d.psn] then -- whoever sends it again has not seen that
			state.acknowledged[pinfo.number] = state.acknowledged[before.first]
		end
	else
		if d.retransmits and place and state.places[place] then
			state.retransmissions[pinfo.number] = state.places[place]
		end
		path.sent[d.psn] = { first = pinfo.number, [stamp or ""] = pinfo.number, pinfo.number }
		path.open[d.psn] = true
		path.opened = path.opened + 1
	end
	if place and not state.places[place] then
		state.places[place] = pinfo.number
	end
	if stamp and not state.peers[key] then
		local echo = table.concat({ endpoints, field_value(tvb, d, "path_id") or "", stamp }, "/")
		local other = state.echoes[echo]
		state.echoes[echo] = (other == nil or other == key) and key or false -- false: several, so none
	end
end

-- acknowledge notes what an ACK says of the packets of a path.
local function acknowledge(tvb, pinfo, d, key)
	local path = state.paths[key .. "/" .. (field_value(tvb, d, "path_id") or "")]
	if not path then
		return
	end
	local function covered(psn)
		if path.open[psn] then
			for _, frame in ipairs(path.sent[psn]) do
				state.acknowledged[frame] = pinfo.number
			end
			path.open[psn] = nil
			path.opened = path.opened - 1
		end
	end
	local header = d.acks
	local next_psn = value(tvb, d.at[header], header.by.cumulative_psn)
	local half = PSN_CIRCLE / 2
	local ahead = path.low and (next_psn - path.low) % PSN_CIRCLE
	if ahead and ahead < half and ahead <= path.opened then
		for i = 0, ahead - 1 do
			covered((path.low + i) % PSN_CIRCLE)
		end
	elseif not ahead or ahead < half then
		local old = {}
		for psn in pairs(path.open) do
			local behind = (next_psn - psn) % PSN_CIRCLE
			if behind > 0 and behind < half then
				old[#old + 1] = psn
			end
		end
		for _, psn in ipairs(old) do
			covered(psn)
		end
	end
	if not ahead or ahead < half then
		path.low = next_psn
	end
	for _, f in ipairs(header.fields) do
		if f.kind == "vector" and f.counts_from == "cumulative_psn" then
			for _, run in ipairs(runs(tvb, d.at[header], f)) do
				for i = run[1], run[2] do
					covered((next_psn + f.first + i) % PSN_CIRCLE)
				end
			end
		end
	end
end

-- observe gathers what a packet says, once.
local function observe(tvb, pinfo, d)
	local id = field_value(tvb, d, "dest_conn_id")
	local source, destination = address_bytes(pinfo.net_src, addresses.source), address_bytes(pinfo.net_dst, addresses.destination)
	if not id or not source or not destination then
		return
	end
	local own = field_value(tvb, d, "source_conn_id")
	local key = destination .. "/" .. id
	if own then
		local back = source .. "/" .. own
		if d.type.opens then -- nobody has chosen a connection id for this direction yet
			state.of[pinfo.number] = connection(back)
			return
		end
		join(key, back)
	end
	if d.type.sequenced then
		sent(tvb, pinfo, d, key, source .. destination)
	end
	if d.acks then
		local echo = field_value(tvb, d, "echo_timestamp")
		local other = state.peers[key]
		if not other and echo then
			other = state.echoes[table.concat({ destination .. source, field_value(tvb, d, "path_id") or "", echo }, "/")]
			if other then
				join(key, other)
			end
		end
		if other then
			acknowledge(tvb, pinfo, d, other)
		end
	end
	state.of[pinfo.number] = connection(key)
end


-- What the column Info tells of a packet: fields by their names, and the words before them.
local LINE = {
	{ "path_id", "path" }, { "psn", "PSN" }, { "dest_conn_id", "conn" }, { "source_conn_id", "from" }, { "stream_id", "stream" },
	{ "msn", "msg" }, { "message_offset", "offset" }, { "message_length", "of" }, { "payload_length", "len" },
	{ "cumulative_psn", "next" }, { "sack", "SACK" }, { "refused_psn", "refused" }, { "reason", "reason" }, { "trigger", "trigger" },
}

local function text_of(tvb, at, header, f)
	if f.kind == "vector" then
		local list = f.counts_from and ranges_text(tvb, at, header, f, ",") or ""
		return list ~= "" and list or nil
	end
	local v = value(tvb, at, f)
	if f.kind == "code" then
		return f.codes[tonumber(tostring(v))] or "unknown"
	elseif f.kind == "hex" then
		return "0x" .. (type(v) == "number" and string.format("%0" .. math.ceil(f.bits / 4) .. "x", v) or v:tohex(math.ceil(f.bits / 4)))
	end
	return type(v) == "number" and string.format("%.0f", v) or tostring(v)
end

local function type_name(tvb)
	local code = value(tvb, 0, HEADERS[1].by.type)
	return TYPES[code] and TYPES[code].name or "reserved type " .. code
end

local function info(tvb, d)
	local out = { type_name(tvb) }
	for _, part in ipairs(LINE) do
		for _, h in ipairs(d.headers) do
			local f = h.by[part[1]]
			local text = f and text_of(tvb, d.at[h], h, f)
			if text then
				out[#out + 1] = part[2] .. "=" .. text
			end
		end
	end
	for _, f in ipairs(FLAG_BITS) do
		if not f.reserved and has(value(tvb, 0, HEADERS[1].by.flags), f.value) then
			out[#out + 1] = "[" .. f.name .. "]"
		end
	end
	return table.concat(out, " ")
end

-- show_field adds a field to the tree.
local function show_field(tree, tvb, at, header, f)
	local item
	if f.kind == "vector" or f.mask or f.bits == 8 * f.span then
		item = tree:add(f.proto, tvb(at + f.at, f.span))
	else -- no mask is wide enough
		local v = value(tvb, at, f)
		item = tree:add(f.proto, tvb(at + f.at, f.span), type(v) == "number" and UInt64.new(v) or v)
	end
	if f.kind == "vector" then
		local count = 0
		for _, run in ipairs(runs(tvb, at, f)) do
			count = count + run[2] - run[1] + 1
		end
		item:set_text(f.label .. ": none")
		if count > 0 then
			local list = f.counts_from and ranges_text(tvb, at, header, f, ", ")
			item:set_text(f.label .. ": " .. count .. " of " .. f.bits .. (list and ": " .. list or ""))
			if list then
				item:add(made.ranges, tvb(at + f.at, f.span), list):set_generated()
			end
		end
		return
	end
	local v = value(tvb, at, f)
	local number = tonumber(tostring(v))
	if f.kind == "reserved" and number ~= 0 then
		item:add_proto_expert_info(experts.reserved)
	elseif f.kind == "flags" then
		for _, flag in ipairs(FLAG_BITS) do
			local bit = item:add(flag.proto, tvb(at + f.at, f.span))
			if flag.reserved and has(v, flag.value) then
				bit:add_proto_expert_info(experts.reserved)
			elseif has(v, flag.value) then
				item:append_text(", " .. flag.name)
			end
		end
	elseif f.kind ~= "code" and f.codes and f.codes[number] then
		item:append_text(" (" .. f.codes[number] .. ")")
	elseif f.unit then
		item:append_text(" " .. f.unit)
	end
end

-- show_header adds a header, of which `there` bytes were captured.
local function show_header(tree, tvb, header, at, there)
	local sub = tree:add(header.proto, tvb(at, there))
	for _, f in ipairs(header.fields) do
		if f.at + f.span <= there then
			show_field(sub, tvb, at, header, f)
		end
	end
	return sub
end

local function show_icrc(tree, tvb, pinfo, d)
	local at, item = d.length - ICRC_LENGTH, nil
	if d.fault and d.captured < d.length then
		return
	end
	if d.captured >= d.length then
		item = tree:add(made.icrc, tvb(at, ICRC_LENGTH))
	else
		item = tree:add("ICRC: not captured")
	end
	if not proto.prefs.icrc and not d.fault then
		return
	end
	local status, computed = verify(tvb, pinfo)
	item:append_text(" (" .. status .. ")")
	item:add(made.icrc_status, status):set_generated()
	if status == "bad" then
		item:add(made.icrc_computed, computed):set_generated()
		item:add_proto_expert_info(experts.icrc)
	end
end

-- show_links adds what other packets say about this one.
local function show_links(tree, pinfo)
	local number = pinfo.number
	local c = state.of[number]
	while c and c.same do
		c = c.same
	end
	if c then
		tree:add(made.connection, c.number):set_generated()
	end
	if state.acknowledged[number] then
		tree:add(made.acknowledged_in, state.acknowledged[number]):set_generated()
	end
	if state.retransmissions[number] then
		tree:add(made.retransmission_of, state.retransmissions[number]):set_generated():add_proto_expert_info(experts.retransmission)
	end
	if state.duplicates[number] then
		tree:add(made.duplicate_of, state.duplicates[number]):set_generated():add_proto_expert_info(experts.duplicate)
	end
end

-- The dissector answers 0, which makes Wireshark look further, for packets of other programs: those that merely came
-- from the port, and those whose version, type or lengths are wrong and whose ICRC is not right.
function proto.dissector(tvb, pinfo, tree)
	if pinfo.src_port == proto.prefs.port and pinfo.dst_port ~= proto.prefs.port then
		return 0
	end
	local d = decode(tvb)
	if d.fault and d.fault.reason.in_doubt and verify(tvb, pinfo) ~= "good" then
		return 0
	end
	for _, h in ipairs(d.headers) do
		if h.by.cumulative_psn then
			d.acks = h
		end
	end
	d.retransmits = d.type and RETRANSMISSION and has(d.flags, RETRANSMISSION)
	if not pinfo.visited and not pinfo.in_error_pkt and not d.fault and not d.cut then
		observe(tvb, pinfo, d)
	end

	pinfo.cols.protocol = "MetaRoCE"
	local top = tree:add(proto, tvb())
	pinfo.cols.info = ""
	if #d.headers > 0 then
		pinfo.cols.info = info(tvb, d)
		top:append_text(", " .. type_name(tvb))
	end
	for _, h in ipairs(d.headers) do
		show_header(top, tvb, h, d.at[h], h.length)
	end
	if d.cut then
		local there = d.captured - d.read
		local item = there > 0 and show_header(top, tvb, d.cut, d.read, there) or top
		local text = d.cut.name .. " cut by the capture after " .. there .. " bytes"
		item:add_proto_expert_info(experts.cut, text)
		pinfo.cols.info:append(" [" .. text .. "]")
		return d.length
	end
	if d.fault then
		top:add_proto_expert_info(d.fault.reason.expert, d.fault.text)
		pinfo.cols.info:append(" [malformed: " .. d.fault.text .. "]")
	end
	if d.fault and d.fault.reason.in_doubt then
		if d.length - ICRC_LENGTH > d.read then
			top:add(tvb(d.read, d.length - ICRC_LENGTH - d.read), "Not decoded (" .. d.length - ICRC_LENGTH - d.read .. " bytes)")
		end
	elseif d.carried > 0 and d.captured > d.payload then
		top:add(made.payload, tvb(d.payload, math.min(d.carried, d.captured - d.payload)))
	end
	show_icrc(top, tvb, pinfo, d)
	show_links(top, pinfo)
	return d.length
end

-- The port may be changed while Wireshark runs.
local bound = PORT
local ports = DissectorTable.get("udp.port")
ports:add(bound, proto)
function proto.prefs_changed()
	if proto.prefs.port ~= bound then
		ports:remove(bound, proto)
		bound = proto.prefs.port
		ports:add(bound, proto)
	end
end

