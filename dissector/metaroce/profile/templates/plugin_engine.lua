
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
