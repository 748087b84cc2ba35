// Package filter selects packets by their fields, in a small part of the language that users know from
// Wireshark's display filters.
//
// A filter is made of fields as the packet tree names them (infiniband.bth.opcode, ip.src, vlan.id) and of
// protocols (roce, cnp, pfc). Alone, a name asks whether the packet has it. With ==, !=, <, <=, >, >=, in, not in,
// contains or matches it asks about its value; eq, ne, lt, le, gt, ge and ~ are other spellings. Questions are joined by
// && or "and", ^^ or "xor", || or "or", negated by ! or "not", and grouped by parentheses; "not" binds closest, "or" least.
//
//	infiniband.bth.opcode == 0x11 && infiniband.aeth.syndrome >= 0x60
//	cnp or ip.dsfield.ecn == 3
//	ip.addr == 10.0.0.0/8 and not vlan
//	infiniband.bth.psn in {100..110, 0x200} or ip.src in {10.0.0.5 .. 10.0.0.9}
//	infiniband.invariant.crc.status == "bad"
//	frame.comment contains "stalls" or eth.src[0:3] == 24:8a:07
//	infiniband.payload contains 4e:56 and tcp.flags & 0x02
//
// Numbers are decimal or hexadecimal (0x). Flags are compared with true, false, 1 or 0, Ethernet addresses
// with six bytes in hexadecimal, IP addresses and GIDs with an address or a prefix; an IPv4 address also
// stands for the GID that maps it. Bytes are compared with hexadecimal digits, by pairs with colons or
// without. Text and times (seconds since 1970 with up to nine decimals, or "2026-03-01 09:00:00.5", always in UTC) may
// stand in quotation marks. Of bytes, of an
// Ethernet address and of a header, [3], [3:2], [3-4], [:2] and [3:] are parts, offset and length or first and last; a
// header's bytes go on to the end of the frame. contains looks for bytes or text, matches for a regular expression (RE2)
// without regard to case.
//
// A packet can have a field more than once, as in a tunnel. A comparison holds when it does for one of the
// values; != holds when the field is there and none of its values is equal. ip.addr, ipv6.addr, eth.addr,
// udp.port and tcp.port stand for source and destination alike, frame.time for frame.time_epoch.
package filter
