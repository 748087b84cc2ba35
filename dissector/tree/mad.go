package tree

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/mad"
)

// mad shows a management datagram: the header that all share (IBTA volume 1, section 13.4.2) and the messages
// of the communication manager.
func (b *builder) mad(l dissector.Layer) *Node {
	g := b.group("MAD", "infiniband.mad", l)
	b.cutPayload(g.node)
	var h mad.Header
	if _, err := h.Decode(g.data); err != nil {
		g.rest("Data", "infiniband.mad.data", 0)
		return g.node
	}
	g.hex("Base version", "infiniband.mad.baseversion", 0, 1)
	class := g.hex("Management class", "infiniband.mad.mgmtclass", 1, 1)
	class.Meaning = named(class.Meaning, h.Class.String())
	g.hex("Class version", "infiniband.mad.classversion", 2, 1)
	g.hex("Method", "infiniband.mad.method", 3, 1)
	g.hex("Status", "infiniband.mad.status", 4, 2)
	g.hex("Class specific", "infiniband.mad.classspecific", 6, 2)
	g.hex("Transaction ID", "infiniband.mad.transactionid", 8, 8)
	attribute := g.hex("Attribute ID", "infiniband.mad.attributeid", 16, 2)
	g.hex("Reserved", "", 18, 2)
	g.hex("Attribute modifier", "infiniband.mad.attributemodifier", 20, 4)
	summary := h.Class.String()
	if message := h.Message(); message != mad.MessageNone {
		summary = "CM " + message.String()
		attribute.Meaning = named(attribute.Meaning, summary)
		g.message(message)
	} else {
		g.rest("Data", "infiniband.mad.data", mad.HeaderLength)
	}
	if g.node.Meaning == "" {
		g.node.Meaning = summary
	}
	return g.node
}

// madSummary says in a few words which message of the communication manager a datagram is and what it names;
// nothing of other datagrams.
func madSummary(payload []byte) string {
	var h mad.Header
	n, err := h.Decode(payload)
	if err != nil {
		return ""
	}
	data := payload[n:]
	name := "CM " + h.Message().String()
	switch h.Message() {
	case mad.MessageNone:
		return ""
	case mad.MessageREQ:
		var m mad.REQ
		if _, err := m.Decode(data); err == nil {
			return fmt.Sprintf("%s %s, QP=0x%06x PSN=0x%06x", name, m.ServiceID, m.LocalQPN, m.StartingPSN)
		}
	case mad.MessageREP:
		var m mad.REP
		if _, err := m.Decode(data); err == nil {
			return fmt.Sprintf("%s QP=0x%06x PSN=0x%06x", name, m.LocalQPN, m.StartingPSN)
		}
	case mad.MessageREJ:
		var m mad.REJ
		if _, err := m.Decode(data); err == nil {
			return fmt.Sprintf("%s %s", name, m.Reason)
		}
	default:
	}
	return name
}

// message shows what stands behind the header. Private data are the rest of the message.
func (g *group) message(message mad.Message) {
	m := g.part("CM "+message.String(), "infiniband.mad.data", mad.HeaderLength, mad.DataLength)
	switch message {
	case mad.MessageREQ:
		m.req()
	case mad.MessageREP:
		m.rep()
	case mad.MessageREJ:
		m.rej()
	case mad.MessageMRA:
		m.mra()
	case mad.MessageRTU:
		m.communicationIDs("infiniband.cm.rtu")
		m.rest("Private data", "infiniband.cm.rtu.private", 8)
	case mad.MessageDREQ:
		m.communicationIDs("infiniband.cm.dreq")
		m.hex("Remote QPN", "infiniband.cm.req.remoteqpneecn", 8, 3)
		m.hex("Reserved", "", 11, 1)
		m.rest("Private data", "infiniband.cm.dreq.private", 12)
	case mad.MessageDREP:
		m.communicationIDs("infiniband.cm.drsp")
		m.rest("Private data", "infiniband.cm.drsp.private", 8)
	case mad.MessageSIDRREQ:
		m.sidrReq()
	case mad.MessageSIDRREP:
		m.sidrRep()
	case mad.MessageLAP:
		m.lap()
	case mad.MessageAPR:
		m.apr()
	case mad.MessageNone:
	}
}

// part is a sub-group of n bytes, or of as many of them as were captured.
func (g *group) part(name, field string, offset, n int) *group {
	n = min(n, len(g.data)-offset)
	if n <= 0 {
		return &group{node: &Node{}}
	}
	return g.sub(name, field, offset, n)
}

func (g *group) communicationIDs(prefix string) {
	g.hex("Local communication ID", prefix+".localcommid", 0, 4)
	g.hex("Remote communication ID", prefix+".remotecommid", 4, 4)
}

// timeout adds a code of five bits for a time.
func (g *group) timeout(name, field string, offset int) *Node {
	n := g.bits(name, field, offset, 5)
	if code, ok := n.Value.(uint64); ok {
		n.Meaning = mad.Timeout(code).String()
	}
	return n
}

// serviceID adds the ID and, when it stands for an IP port, its parts.
func (g *group) serviceID(field string, offset int) {
	id := mad.ServiceID(g.value(offset, 8))
	s := g.sub("Service ID", field, offset, 8)
	s.node.Value, s.node.Meaning, s.node.wideNumber = uint64(id), fmt.Sprintf("0x%016x", uint64(id)), true
	if _, _, ok := id.IPPort(); ok {
		s.node.Meaning = named(s.node.Meaning, id.String())
		s.bytes("Prefix", field+".prefix", 0, 5)
		s.uint("IP protocol", field+".protocol", 5, 1)
		s.uint("Destination port", field+".dport", 6, 2).Meaning = id.Application().String()
	}
}

// ipcm adds the private data of a request: those of the RDMA IP CM service, if they are, and the rest.
func (g *group) ipcm(c mad.IPCM, ok bool, field string, offset int) {
	if !ok {
		g.rest("Private data", field+".private", offset)
		return
	}
	s := g.sub("IP CM private data", field+".ip_cm", offset, mad.IPCMLength)
	s.bits("Major version", field+".ip_cm.majv", 0, 4)
	s.bits("Minor version", field+".ip_cm.minv", 4, 4)
	s.bits("IP version", field+".ip_cm.ipv", 8, 4)
	s.bits("Reserved", field+".ip_cm.reserved", 12, 4)
	s.uint("Source port", field+".ip_cm.sport", 2, 2)
	version, length := "6", 16
	if c.IPVersion == 4 {
		version, length = "4", 4
	}
	s.bytes("Reserved", "", 4, 16-length)
	source := s.address("Source", field+".ip_cm.sip"+version, 20-length, length)
	s.bytes("Reserved", "", 20, 16-length)
	destination := s.address("Destination", field+".ip_cm.dip"+version, 36-length, length)
	s.node.Meaning = fmt.Sprintf("%v > %v", source.Value, destination.Value)
	g.rest("Private data", field+".ip_cm.private", offset+mad.IPCMLength)
}

func (g *group) req() {
	const field = "infiniband.cm.req"
	g.hex("Local communication ID", field, 0, 4)
	g.hex("Reserved", "", 4, 4)
	g.serviceID(field+".serviceid", 8)
	g.hex("Local CA GUID", field+".localcaguid", 16, 8)
	g.hex("Reserved", "", 24, 4)
	g.hex("Local queue key", field+".localqkey", 28, 4)
	g.hex("Local QPN", field+".localqpn", 32, 3)
	g.uint("Responder resources", field+".responderres", 35, 1)
	g.hex("Local EE context", field+".localeecn", 36, 3)
	g.uint("Initiator depth", field+".initdepth", 39, 1)
	g.hex("Remote EE context", field+".remoteeecn", 40, 3)
	g.timeout("Remote CM response timeout", field+".remoteresptout", 43*8)
	transport := g.bits("Transport service", field+".transpsvctype", 43*8+5, 2)
	g.flag("End-to-end flow control", field+".e2eflowctrl", 43*8+7)
	g.hex("Starting PSN", field+".startpsn", 44, 3)
	g.timeout("Local CM response timeout", field+".localresptout", 47*8)
	g.bits("Retry count", field+".retrcount", 47*8+5, 3)
	g.hex("Partition key", field+".pkey", 48, 2)
	mtu := g.bits("Path MTU", field+".pppmtu", 50*8, 4)
	g.flag("RDC exists", field+".rdcexist", 50*8+4)
	g.rnrRetryCount(field+".rnrretrcount", 50*8+5)
	g.bits("Maximum CM retries", field+".maxcmretr", 51*8, 4)
	g.flag("Shared receive queue", field+".srq", 51*8+4)
	g.bits("Extended transport", field+".ext_transport", 51*8+5, 3)
	g.path("Primary", field+".prim", 52, g.pathOfREQ)
	g.path("Alternate", field+".alt", 96, g.pathOfREQ)
	var m mad.REQ
	if _, err := m.Decode(g.data); err != nil {
		return
	}
	transport.Meaning = m.TransportService.String()
	mtu.Meaning = m.PathMTU.String()
	g.node.Meaning = fmt.Sprintf("%s, QP 0x%06x, starting PSN 0x%06x, path MTU %s", m.ServiceID, m.LocalQPN, m.StartingPSN, m.PathMTU)
	c, ok := m.IPCM()
	g.ipcm(c, ok, field, 140)
}

func (g *group) rnrRetryCount(field string, offset int) {
	const unlimited = 7
	if n := g.bits("RNR retry count", field, offset, 3); n.Value == uint64(unlimited) {
		n.Meaning = "unlimited"
	}
}

// path adds the fields of one path of a REQ or LAP, of which rest adds those whose places differ.
func (g *group) path(name, field string, offset int, rest func(name, field string, offset int)) {
	g.uint(name+" local LID", field+"_locallid", offset, 2)
	g.uint(name+" remote LID", field+"_remotelid", offset+2, 2)
	g.gid(name+" local GID", field+"_localgid", offset+4)
	g.gid(name+" remote GID", field+"_remotegid", offset+20)
	g.hex20(name+" flow label", field+"_flowlabel", (offset+36)*8)
	rest(name, field, offset)
	g.bits(name+" SL", field+"_sl", (offset+42)*8, 4)
	g.flag(name+" subnet local", field+"_subnetlocal", (offset+42)*8+4)
	g.bits("Reserved", field+"_reserved1", (offset+42)*8+5, 3)
	if n := g.timeout(name+" local ACK timeout", field+"_localacktout", (offset+43)*8); n.Value == uint64(0) {
		n.Meaning = "none"
	}
	g.bits("Reserved", field+"_reserved2", (offset+43)*8+5, 3)
}

func (g *group) pathOfREQ(name, field string, offset int) {
	g.bits("Reserved", field+"_reserved0", (offset+36)*8+20, 6)
	g.bits(name+" packet rate", field+"_pktrate", (offset+39)*8+2, 6)
	g.hex(name+" traffic class", field+"_tfcclass", offset+40, 1)
	g.uint(name+" hop limit", field+"_hoplim", offset+41, 1)
}

func (g *group) pathOfLAP(name, field string, offset int) {
	g.bits("Reserved", field+"_reserved0", (offset+38)*8+4, 4)
	g.hex(name+" traffic class", field+"_tfcclass", offset+39, 1)
	g.uint(name+" hop limit", field+"_hoplim", offset+40, 1)
	g.bits("Reserved", "", (offset+41)*8, 2)
	g.bits(name+" packet rate", field+"_pktrate", (offset+41)*8+2, 6)
}

func (g *group) hex20(name, field string, offset int) {
	n := g.bits(name, field, offset, 20)
	n.Meaning = fmt.Sprintf("0x%05x", n.Value)
}

// gid adds a GID; tshark has a name of its own for the IPv4 addresses of a primary path.
func (g *group) gid(name, field string, offset int) {
	if strings.Contains(field, ".prim_") && g.has(offset, 16) && mad.GID(g.data[offset:offset+16]).Addr().Is4() {
		field += "_ipv4"
	}
	g.address(name, field, offset, 16)
}

func (g *group) rep() {
	const field = "infiniband.cm.rep"
	g.hex("Local communication ID", field, 0, 4)
	g.hex("Remote communication ID", field+".remotecommid", 4, 4)
	g.hex("Local queue key", field+".localqkey", 8, 4)
	g.hex("Local QPN", field+".localqpn", 12, 3)
	g.hex("Reserved", "", 15, 1)
	g.hex("Local EE context", field+".localeecn", 16, 3)
	g.hex("Reserved", "", 19, 1)
	g.hex("Starting PSN", field+".startpsn", 20, 3)
	g.hex("Reserved", "", 23, 1)
	g.uint("Responder resources", field+".respres", 24, 1)
	g.uint("Initiator depth", field+".initdepth", 25, 1)
	g.timeout("Target ACK delay", field+".tgtackdelay", 26*8)
	failover := g.bits("Failover accepted", field+".failoveracc", 26*8+5, 2)
	failover.Meaning = [...]string{"accepted", "not supported", "not accepted", "reserved"}[g.value(26, 1)>>1&3]
	g.flag("End-to-end flow control", field+".e2eflowctrl", 26*8+7)
	g.rnrRetryCount(field+".rnrretrcount", 27*8)
	g.flag("Shared receive queue", field+".srq", 27*8+3)
	g.bits("Reserved", field+".reserved", 27*8+4, 4)
	g.hex("Local CA GUID", field+".localcaguid", 28, 8)
	g.rest("Private data", field+".private", 36)
	var m mad.REP
	if _, err := m.Decode(g.data); err == nil {
		g.node.Meaning = fmt.Sprintf("QP 0x%06x, starting PSN 0x%06x", m.LocalQPN, m.StartingPSN)
	}
}

func (g *group) rej() {
	const field = "infiniband.cm.rej"
	g.communicationIDs(field)
	g.answered("Message rejected", field+".msgrej", "none")
	g.bits("Reserved", field+".reserved0", 8*8+2, 6)
	g.bits("Reject information length", field+".rejinfolen", 9*8, 7)
	g.bits("Reserved", field+".reserved1", 9*8+7, 1)
	reason := g.uint("Reason", field+".reason", 10, 2)
	if g.has(10, 2) {
		reason.Meaning = mad.Reason(g.value(10, 2)).String()
		g.node.Meaning = reason.Meaning
	}
	g.bytes("Additional reject information", field+".ari", 12, mad.AdditionalLength)
	g.rest("Private data", field+".private", 84)
}

// answered adds the two bits that say which message a REJ or MRA answers; other is what 2 stands for.
func (g *group) answered(name, field, other string) {
	n := g.bits(name, field, 8*8, 2)
	n.Meaning = [...]string{"REQ", "REP", other, "reserved"}[g.value(8, 1)>>6]
}

func (g *group) mra() {
	const field = "infiniband.cm.mra"
	g.communicationIDs(field)
	g.answered("Message received", field+".msgmraed", "LAP")
	g.bits("Reserved", field+".reserved0", 8*8+2, 6)
	g.node.Meaning = "answer within " + g.timeout("Service timeout", field+".servicetout", 9*8).Meaning
	g.bits("Reserved", field+".reserved1", 9*8+5, 3)
	g.rest("Private data", field+".private", 10)
}

func (g *group) lap() {
	const field = "infiniband.cm.lap"
	g.communicationIDs(field)
	g.hex("Reserved", "", 8, 4)
	g.hex("Remote QPN", field+".remoteqpneecn", 12, 3)
	g.timeout("Remote CM response timeout", field+".remoteresptout", 15*8)
	g.bits("Reserved", "", 15*8+5, 3)
	g.hex("Reserved", "", 16, 4)
	g.path("Alternate", field+".alt", 20, g.pathOfLAP)
	g.rest("Private data", field+".private", 64)
}

func (g *group) apr() {
	const field = "infiniband.cm.apr"
	g.communicationIDs(field)
	g.uint("Additional information length", field+".addinfolen", 8, 1)
	status := g.uint("Status", field+".status", 9, 1)
	if g.has(9, 1) {
		status.Meaning = mad.APRStatus(g.data[9]).String()
		g.node.Meaning = status.Meaning
	}
	g.hex("Reserved", "", 10, 2)
	g.bytes("Additional information", field+".addinfo", 12, mad.AdditionalLength)
	g.rest("Private data", field+".private", 84)
}

func (g *group) sidrReq() {
	const field = "infiniband.cm.sidrreq"
	g.hex("Request ID", field+".requestid", 0, 4)
	g.hex("Partition key", field+".pkey", 4, 2)
	g.hex("Reserved", "", 6, 2)
	g.serviceID(field+".serviceid", 8)
	var m mad.SIDRREQ
	if _, err := m.Decode(g.data); err == nil {
		g.node.Meaning = m.ServiceID.String()
		c, ok := m.IPCM()
		g.ipcm(c, ok, field, 16)
	}
}

func (g *group) sidrRep() {
	const field = "infiniband.cm.sidrrep"
	g.hex("Request ID", field+".requestid", 0, 4)
	status := g.uint("Status", field+".status", 4, 1)
	if g.has(4, 1) {
		status.Meaning = mad.SIDRStatus(g.data[4]).String()
		g.node.Meaning = status.Meaning
	}
	g.uint("Additional information length", field+".addinfolen", 5, 1)
	g.hex("Reserved", "", 6, 2)
	g.hex("QPN", field+".qpn", 8, 3)
	g.hex("Reserved", "", 11, 1)
	g.serviceID(field+".serviceid", 12)
	g.hex("Queue key", field+".qkey", 20, 4)
	g.bytes("Additional information", field+".addinfo", 24, mad.AdditionalLength)
	g.rest("Private data", field+".private", 96)
}
