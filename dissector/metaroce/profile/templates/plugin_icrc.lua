
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
