package tree

// Names of numbers that other organisations assign. Only what is likely beside RDMA has one.

// etherTypeName names an ethertype (IEEE registration authority).
func etherTypeName(t uint64) string {
	switch t {
	case 0x0800:
		return "IPv4"
	case 0x0806:
		return "ARP"
	case 0x22eb:
		return "ERSPAN III"
	case 0x22f3:
		return "TRILL"
	case 0x6558:
		return "Ethernet bridging"
	case 0x8035:
		return "RARP"
	case 0x8100:
		return "802.1Q VLAN"
	case 0x86dd:
		return "IPv6"
	case 0x8808:
		return "MAC control"
	case 0x8809:
		return "slow protocols (LACP)"
	case 0x8847:
		return "MPLS"
	case 0x8848:
		return "MPLS, upstream label"
	case 0x8863, 0x8864:
		return "PPPoE"
	case 0x888e:
		return "802.1X"
	case 0x88a8:
		return "802.1ad VLAN"
	case 0x88be:
		return "ERSPAN"
	case 0x88cc:
		return "LLDP"
	case 0x88e5:
		return "MACsec"
	case 0x88e7:
		return "802.1ah backbone"
	case 0x88f7:
		return "PTP"
	case 0x8902:
		return "connectivity fault management"
	case 0x8903:
		return "FabricPath"
	case 0x8906:
		return "FCoE"
	case 0x8914:
		return "FIP"
	case 0x8915:
		return "RoCEv1"
	case 0x8926:
		return "VN-Tag"
	case 0x894f:
		return "NSH"
	case 0x9000:
		return "loopback test"
	case 0x9100, 0x9200:
		return "VLAN, before 802.1ad"
	}
	return ""
}

// ipProtocolName names an IP protocol (IANA).
func ipProtocolName(p uint64) string {
	switch p {
	case 0:
		return "IPv6 hop-by-hop options"
	case 1:
		return "ICMP"
	case 2:
		return "IGMP"
	case 4:
		return "IPv4"
	case 6:
		return "TCP"
	case 17:
		return "UDP"
	case 27:
		return "InfiniBand transport"
	case 41:
		return "IPv6"
	case 43:
		return "IPv6 routing"
	case 44:
		return "IPv6 fragment"
	case 47:
		return "GRE"
	case 50:
		return "ESP"
	case 51:
		return "AH"
	case 58:
		return "ICMPv6"
	case 59:
		return "nothing"
	case 60:
		return "IPv6 destination options"
	case 88:
		return "EIGRP"
	case 89:
		return "OSPF"
	case 103:
		return "PIM"
	case 112:
		return "VRRP"
	case 132:
		return "SCTP"
	case 137:
		return "MPLS"
	case 143:
		return "Ethernet"
	}
	return ""
}

// udpPortName names a UDP port that matters beside RDMA (IANA; 8472 is Linux's own for VXLAN).
func udpPortName(p uint64) string {
	switch p {
	case 53:
		return "DNS"
	case 67, 68:
		return "DHCP"
	case 69:
		return "TFTP"
	case 123:
		return "NTP"
	case 161, 162:
		return "SNMP"
	case 319, 320:
		return "PTP"
	case 514:
		return "syslog"
	case 2055:
		return "NetFlow"
	case 4739:
		return "IPFIX"
	case 4789, 8472:
		return "VXLAN"
	case 4791:
		return "RoCEv2"
	case 4793:
		return "UET"
	case 4794:
		return "veRoCE"
	case 4971:
		return "MRC"
	case 5353:
		return "mDNS"
	case 6081:
		return "GENEVE"
	case 6343:
		return "sFlow"
	case 6635:
		return "MPLS"
	}
	return ""
}

// dscpName names a differentiated services codepoint (RFC 2474, 2597, 3246, 5865, 8622).
func dscpName(d uint64) string {
	switch d {
	case 0:
		return "CS0, default"
	case 1:
		return "LE"
	case 44:
		return "VOICE-ADMIT"
	case 46:
		return "EF"
	}
	class, low := d>>3, d&7
	switch {
	case d < 64 && low == 0:
		return "CS" + string(rune('0'+class))
	case class >= 1 && class <= 4 && (low == 2 || low == 4 || low == 6):
		return "AF" + string(rune('0'+class)) + string(rune('0'+low/2))
	}
	return ""
}

// ecnName names an ECN codepoint (RFC 3168).
func ecnName(e uint64) string {
	switch e {
	case 0:
		return "Not-ECT" //nolint:misspell // RFC 3168 writes it so
	case 1:
		return "ECT(1)" //nolint:misspell // likewise
	case 2:
		return "ECT(0)" //nolint:misspell // likewise
	case 3:
		return "CE, congestion experienced"
	}
	return ""
}

// arpName names an ARP operation (RFC 826, RFC 903).
func arpName(op uint64) string {
	switch op {
	case 1:
		return "request"
	case 2:
		return "reply"
	case 3:
		return "reverse request"
	case 4:
		return "reverse reply"
	}
	return ""
}

// named joins a hexadecimal form with a name, if there is one.
func named(hexadecimal, name string) string {
	if name == "" {
		return hexadecimal
	}
	return hexadecimal + ", " + name
}
