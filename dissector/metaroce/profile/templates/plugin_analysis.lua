
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
