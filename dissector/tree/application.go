package tree

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// application labels a payload with what the connection carries, and reads the fixed header that starts a message of it.
// Which application it is comes with the packet, from whoever saw the connection being set up; nothing is guessed from
// bytes. What the rest of a message holds is the application's own business.
func (b *builder) application(payload *Node, l dissector.Layer) {
	app := b.p.Meta.Application
	if app == mad.ApplicationUnknown {
		return
	}
	payload.Meaning += ", " + app.String()
	if !startsMessage(b.p.BTH.Opcode) {
		return
	}
	g := &group{node: payload, data: b.p.Data[l.Offset:l.End()], base: int(l.Offset)}
	whole := int(b.p.PayloadLength)
	if b.p.BTH.Opcode.IsFirst() {
		whole = 0 // more follows: the length of the message is not known
	}
	n := 0
	switch app {
	case mad.ApplicationNVMe:
		n = g.nvme(whole)
	case mad.ApplicationNFS:
		n = g.rpcOverRDMA()
	case mad.ApplicationSMB:
		n = g.smbDirect(whole)
	case mad.ApplicationISER:
		n = g.iser()
	case mad.ApplicationUnknown:
	}
	if n > 0 {
		g.rest("Data", "data", n)
	}
}

// applicationSummary names what a payload is of, and the message that it starts.
func applicationSummary(p *dissector.Packet) string {
	payload := p.Payload()
	if p.Meta.Application == mad.ApplicationUnknown || len(payload) == 0 {
		return ""
	}
	b := &builder{p: p}
	l := dissector.Layer{Type: dissector.LayerPayload, Offset: p.PayloadOffset, Length: uint16(len(payload))}
	n := b.bytes("Payload", "", l)
	b.application(n, l)
	parts := []string{p.Meta.Application.String()}
	for _, c := range n.Children {
		switch {
		case c.Field == "data", c.Name == parts[0] && c.Meaning == "":
		default:
			parts = append(parts, named(c.Name, c.Meaning))
		}
	}
	return strings.Join(parts, ": ")
}

// startsMessage tells whether a packet brings the first bytes of a SEND.
func startsMessage(o infiniband.Opcode) bool {
	switch o.Operation() {
	case infiniband.SendFirst, infiniband.SendOnly, infiniband.SendOnlyImmediate, infiniband.SendOnlyInvalidate:
		return true
	default:
		return false
	}
}

// le adds a little-endian integer of n bytes, at most 8, and fills its meaning with the hexadecimal form.
func (g *group) le(name, field string, offset, n int) *Node {
	var v uint64
	if g.has(offset, n) {
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | uint64(g.data[offset+i])
		}
	}
	c := g.add(name, field, offset, n, v)
	c.wideNumber = n > 4
	return c
}

// leHex is le for numbers that people know in hexadecimal.
func (g *group) leHex(name, field string, offset, n int) *Node {
	c := g.le(name, field, offset, n)
	c.Meaning = fmt.Sprintf("0x%0*x", 2*n, c.Value)
	return c
}

// smbDirect reads the messages of SMB Direct ([MS-SMBD], section 2.2). The two that negotiate are told from data by
// their versions and lengths, which no data transfer message can have.
func (g *group) smbDirect(whole int) int {
	const (
		requestLength, responseLength = 20, 32
		dataLength                    = 20
		version                       = 0x0100
	)
	negotiates := g.has(0, 4) && g.lsb(0) == version && g.lsb(2) == version
	switch {
	case negotiates && whole == requestLength:
		m := g.part("SMB Direct Negotiate Request", "smb_direct.negotiate_request", 0, requestLength)
		m.leHex("Lowest version", "smb_direct.version.min", 0, 2)
		m.leHex("Highest version", "smb_direct.version.max", 2, 2)
		m.leHex("Reserved", "", 4, 2)
		m.le("Credits requested", "smb_direct.credits.requested", 6, 2)
		m.smbSizes(8)
		return requestLength
	case negotiates && whole == responseLength:
		m := g.part("SMB Direct Negotiate Response", "smb_direct.negotiate_response", 0, responseLength)
		m.leHex("Lowest version", "smb_direct.version.min", 0, 2)
		m.leHex("Highest version", "smb_direct.version.max", 2, 2)
		m.leHex("Negotiated version", "smb_direct.version.negotiated", 4, 2)
		m.leHex("Reserved", "", 6, 2)
		m.le("Credits requested", "smb_direct.credits.requested", 8, 2)
		m.le("Credits granted", "smb_direct.credits.granted", 10, 2)
		m.leHex("Status", "smb_direct.status", 12, 4)
		m.le("Largest RDMA read or write", "smb_direct.max_read_write_size", 16, 4)
		m.smbSizes(20)
		return responseLength
	}
	m := g.part("SMB Direct Data Transfer", "smb_direct.data_message", 0, dataLength)
	m.le("Credits requested", "smb_direct.credits.requested", 0, 2)
	m.le("Credits granted", "smb_direct.credits.granted", 2, 2)
	flags := m.leHex("Flags", "smb_direct.flags", 4, 2)
	if m.has(4, 2) && m.data[4]&1 != 0 {
		flags.Meaning += ", response requested"
	}
	m.leHex("Reserved", "", 6, 2)
	m.le("Remaining length", "smb_direct.remaining_length", 8, 4)
	m.le("Data offset", "smb_direct.data_offset", 12, 4)
	m.le("Data length", "smb_direct.data_length", 16, 4)
	return dataLength
}

// lsb is a little-endian number of two bytes that are there.
func (g *group) lsb(offset int) uint16 { return uint16(g.data[offset]) | uint16(g.data[offset+1])<<8 }

func (g *group) smbSizes(at int) {
	g.le("Preferred send size", "smb_direct.preferred_send_size", at, 4)
	g.le("Largest receive size", "smb_direct.max_receive_size", at+4, 4)
	g.le("Largest fragmented size", "smb_direct.max_fragmented_size", at+8, 4)
}

// iser reads the header of iSER (RFC 7145, section 9.2) and the first fields of the iSCSI header behind it (RFC 7143,
// section 11.2).
func (g *group) iser() int {
	const (
		length, basicHeader = 28, 48
		control             = 1
	)
	m := g.part("iSER", "iser", 0, length)
	flags := m.part("Flags", "iser.flags", 0, 1)
	flags.node.Value = flags.value(0, 1)
	flags.node.Meaning = fmt.Sprintf("0x%02x", flags.node.Value)
	kind := flags.bits("Opcode", "iser.flags.opcode", 0, 4)
	flags.flag("Write STag valid", "iser.flags.wsv", 4)
	flags.flag("Read STag valid", "iser.flags.rsv", 5)
	flags.bits("Reserved", "", 6, 2)
	if !m.has(0, 1) {
		return length
	}
	switch m.data[0] >> 4 {
	case control:
		kind.Meaning = "iSCSI control-type PDU"
	case 2:
		kind.Meaning = "Hello"
		return length
	case 3:
		kind.Meaning = "HelloReply"
		return length
	default:
		kind.Meaning = "reserved"
		return length
	}
	m.hex("Reserved", "", 1, 3)
	m.hex("Write STag", "iser.write_stag", 4, 4)
	m.hex("Write base offset", "iser.write_base_offset", 8, 8)
	m.hex("Read STag", "iser.read_stag", 16, 4)
	m.hex("Read base offset", "iser.read_base_offset", 20, 8)
	s := g.part("iSCSI", "iscsi", length, basicHeader)
	if s.has(0, 1) {
		const target = 0x20
		s.flag("Reserved", "", 0)
		if s.data[0]&target == 0 {
			s.flag("Immediate delivery", "iscsi.I", 1)
		} else {
			s.flag("Reserved", "", 1)
		}
		opcode := s.bits("Opcode", "iscsi.opcode", 2, 6)
		opcode.Meaning = iSCSIName(s.data[0] & 0x3f)
		s.bytes("Specific to the opcode", "", 1, 3)
		s.uint("Length of additional headers", "iscsi.totalahslength", 4, 1).Meaning = fmt.Sprintf("%d bytes", 4*s.value(4, 1))
		s.uint("Length of data", "iscsi.datasegmentlength", 5, 3)
		s.hex("LUN, or specific to the opcode", "", 8, 8)
		s.hex("Initiator task tag", "iscsi.initiatortasktag", 16, 4)
		s.rest("Specific to the opcode", "", 20)
		s.node.Meaning = opcode.Meaning
	}
	return min(length+basicHeader, len(g.data))
}

// iSCSIName names an operation of iSCSI (RFC 7143, section 11.2.1.2).
func iSCSIName(opcode byte) string {
	return map[byte]string{
		0x00: "NOP-Out", 0x01: "SCSI Command", 0x02: "Task Management Request", 0x03: "Login Request", 0x04: "Text Request",
		0x05: "Data-Out", 0x06: "Logout Request", 0x10: "SNACK", 0x20: "NOP-In", 0x21: "SCSI Response",
		0x22: "Task Management Response", 0x23: "Login Response", 0x24: "Text Response", 0x25: "Data-In",
		0x26: "Logout Response", 0x31: "Ready To Transfer", 0x32: "Asynchronous Message", 0x3f: "Reject",
	}[opcode]
}
