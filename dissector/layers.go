package dissector

// LayerType names a header, or another stretch of bytes, of a frame.
type LayerType uint8

// Layer types, in the order in which they usually nest.
const (
	LayerNone LayerType = iota
	LayerEthernet
	LayerVLAN
	LayerLLC
	LayerMACControl
	LayerSLL
	LayerSLL2
	LayerERF
	LayerNull
	LayerMPLS
	LayerIPv4
	LayerIPv6
	LayerIPv6Extension
	LayerFragment
	LayerUDP
	LayerTCP
	LayerICMP
	LayerVXLAN
	LayerGENEVE
	LayerGRE
	LayerERSPAN1
	LayerERSPAN2
	LayerERSPAN3
	LayerSRv6
	LayerGRH
	LayerLRH
	LayerBTH
	LayerRDETH
	LayerDETH
	LayerXRCETH
	LayerRETH
	LayerAtomicETH
	LayerAETH
	LayerAtomicAckETH
	LayerImmDt
	LayerIETH
	LayerFETH
	LayerCNP
	LayerMAD
	LayerPayload
	LayerPad
	LayerICRC
	LayerTrailer
	LayerFCS
	LayerMetaRoCE
	LayerUnknown
)

var layerNames = [...]string{
	LayerNone:          "none",
	LayerEthernet:      "Ethernet",
	LayerVLAN:          "VLAN",
	LayerLLC:           "LLC",
	LayerMACControl:    "MAC control",
	LayerSLL:           "Linux SLL",
	LayerSLL2:          "Linux SLL2",
	LayerERF:           "ERF",
	LayerNull:          "BSD loopback",
	LayerMPLS:          "MPLS",
	LayerIPv4:          "IPv4",
	LayerIPv6:          "IPv6",
	LayerIPv6Extension: "IPv6 extension",
	LayerFragment:      "IP fragment",
	LayerUDP:           "UDP",
	LayerTCP:           "TCP",
	LayerICMP:          "ICMP",
	LayerVXLAN:         "VXLAN",
	LayerGENEVE:        "GENEVE",
	LayerGRE:           "GRE",
	LayerERSPAN1:       "ERSPAN I",
	LayerERSPAN2:       "ERSPAN II",
	LayerERSPAN3:       "ERSPAN III",
	LayerSRv6:          "SRv6",
	LayerGRH:           "GRH",
	LayerLRH:           "LRH",
	LayerBTH:           "BTH",
	LayerRDETH:         "RDETH",
	LayerDETH:          "DETH",
	LayerXRCETH:        "XRCETH",
	LayerRETH:          "RETH",
	LayerAtomicETH:     "AtomicETH",
	LayerAETH:          "AETH",
	LayerAtomicAckETH:  "AtomicAckETH",
	LayerImmDt:         "ImmDt",
	LayerIETH:          "IETH",
	LayerFETH:          "FETH",
	LayerCNP:           "CNP",
	LayerMAD:           "MAD",
	LayerPayload:       "payload",
	LayerPad:           "pad",
	LayerICRC:          "ICRC",
	LayerTrailer:       "trailer",
	LayerFCS:           "FCS",
	LayerMetaRoCE:      "MetaRoCE",
	LayerUnknown:       "unknown",
}

// String is the name that people use for the layer.
func (l LayerType) String() string {
	if int(l) < len(layerNames) {
		return layerNames[l]
	}
	return "unknown"
}
