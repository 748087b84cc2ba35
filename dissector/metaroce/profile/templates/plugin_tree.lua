
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
