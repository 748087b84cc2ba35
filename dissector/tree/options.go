package tree

import "fmt"

// ipv4Options reads the options of an IPv4 header (RFC 791, section 3.1; RFC 2113). What is behind the end of the list,
// or behind a damaged option, stays a gap.
func (g *group) ipv4Options(offset int) {
	const (
		end, none                                 = 0, 1
		recordRoute, timestamp, security          = 7, 68, 130
		looseRoute, stream, strictRoute, alert    = 131, 136, 137, 148
		header, routeHeader, address, streamAlert = 2, 3, 4, 4
	)
	names := map[uint64]string{
		end: "End of options", none: "No operation", recordRoute: "Record route", timestamp: "Timestamp", security: "Security",
		looseRoute: "Loose source route", stream: "Stream identifier", strictRoute: "Strict source route", alert: "Router alert",
	}
	if len(g.data) <= offset {
		return
	}
	all := g.sub("Options", "ip.options", offset, len(g.data)-offset)
	all.node.Value = all.data
	for at := 0; at < len(all.data); {
		kind := all.value(at, 1)
		name, known := names[kind]
		if !known {
			name = "Option"
		}
		if kind == end || kind == none {
			all.sub(name, "", at, 1).uint("Type", "ip.opt.type", 0, 1).Meaning = name
			if kind == end {
				return
			}
			at++
			continue
		}
		n := int(all.value(at+1, 1))
		if n < header || !all.has(at, n) {
			return
		}
		o := all.sub(name, "", at, n)
		o.uint("Type", "ip.opt.type", 0, 1).Meaning = names[kind]
		o.uint("Length", "ip.opt.len", 1, 1).Meaning = "bytes"
		switch {
		case kind == recordRoute, kind == looseRoute, kind == strictRoute:
			o.uint("Pointer", "ip.opt.ptr", header, 1)
			passed := int(o.value(header, 1)) - 1
			for i := routeHeader; o.has(i, address); i += address {
				switch {
				case i < passed:
					o.address("Recorded route", "ip.rec_rt", i, address)
				case kind == recordRoute:
					o.address("Empty route", "ip.empty_rt", i, address)
				default:
					o.address("Source route", "", i, address)
				}
			}
		case kind == timestamp:
			o.uint("Pointer", "ip.opt.ptr", header, 1)
			o.bits("Overflow", "ip.opt.overflow", 8*routeHeader, 4)
			o.bits("Flag", "ip.opt.flag", 8*routeHeader+4, 4)
			o.rest("Timestamps", "", routeHeader+1)
		case kind == alert && n == streamAlert:
			o.uint("Router alert", "ip.opt.ra", header, 2)
		case kind == stream && n == streamAlert:
			o.uint("Stream identifier", "ip.opt.sid", header, 2)
		default:
			o.rest("Data", "", header)
		}
		at += n
	}
}

// ipv6Options reads the options of a hop-by-hop or destination options header (RFC 8200, section 4.2). What is behind a
// damaged option stays a gap.
func (g *group) ipv6Options(offset int) {
	const (
		pad1, padN, tunnelLimit, alert, jumbo, home = 0, 1, 4, 5, 0xc2, 0xc9
		header                                      = 2
	)
	for at := offset; at < len(g.data); {
		if g.value(at, 1) == pad1 {
			o := g.sub("Pad1", "ipv6.opt", at, 1)
			o.hex("Type", "ipv6.opt.type", 0, 1)
			at++
			continue
		}
		n := header + int(g.value(at+1, 1))
		if !g.has(at, header) || !g.has(at, n) {
			return
		}
		o := g.sub("Option", "ipv6.opt", at, n)
		kind := o.value(0, 1)
		o.hex("Type", "ipv6.opt.type", 0, 1)
		o.uint("Length", "ipv6.opt.length", 1, 1).Meaning = fmt.Sprintf("%d bytes", n-header)
		name := "Option"
		switch {
		case kind == padN:
			name = "PadN"
			o.rest("Padding", "ipv6.opt.padn", header)
		case kind == tunnelLimit && n == header+1:
			name = "Tunnel encapsulation limit"
			o.uint("Limit", "ipv6.opt.tel", header, 1)
		case kind == alert && n == header+2:
			name = "Router alert"
			o.uint("Value", "ipv6.opt.router_alert", header, 2)
		case kind == jumbo && n == header+4:
			name = "Jumbo payload"
			o.uint("Payload length", "ipv6.opt.jumbo", header, 4)
		case kind == home && n == header+16:
			name = "Home address"
			o.address("Address", "ipv6.opt.mipv6.home_address", header, 16)
		default:
			o.rest("Data", "ipv6.opt.unknown", header)
		}
		o.node.Name = name
		at += n
	}
}
