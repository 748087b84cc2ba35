package dissector

import "github.com/rocelens/rocelens/dissector/metaroce"

// Reason says in one code what is wrong with a packet; its String is a phrase for people.
type Reason uint8

// Reasons. Each belongs to one error, but for ReasonNone.
const (
	ReasonNone Reason = iota

	// With ErrTruncated.
	ReasonCut // the header goes on past the captured bytes

	// With ErrMalformed.
	ReasonTooShort       // the header does not fit into the lengths around it
	ReasonIPVersion      // the version nibble is not the one that the layer before announced
	ReasonIPHeaderLength // IHL below 5, or header longer than the packet
	ReasonIPTotalLength  // total length below the header's own
	ReasonUDPLength      // length below 8, or longer than the IP payload
	ReasonPad            // more pad than payload
	ReasonGRHVersion     // GRH with an IP version other than 6
	ReasonMPLSStack      // no label is marked as the bottom of the stack

	ReasonMetaRoCEVersion       // the version is not the profile's
	ReasonMetaRoCEType          // the type is reserved
	ReasonMetaRoCEHeaders       // the headers do not fit into the UDP length
	ReasonMetaRoCEPayloadLength // payload_length differs from what is there
	ReasonMetaRoCEPayload       // payload behind a type that has none
	ReasonMetaRoCEFlag          // a flag that announces a header stands on a packet that may not bear it
	ReasonMetaRoCEFirst         // FIRST disagrees with message_offset = 0
	ReasonMetaRoCELast          // LAST disagrees with message_offset + payload_length = message_length
	ReasonMetaRoCEOffset        // message_offset, or the payload's end, passes message_length
	ReasonMetaRoCERange         // a field is out of its range

	// With ErrUnsupported.
	ReasonLinkType        // a link type that is not decoded
	ReasonTooManyLayers   // more than MaxLayers headers
	ReasonTooManyTunnels  // more than MaxDepth tunnels
	ReasonTooLong         // longer than offsets can say: 65,535 bytes
	ReasonFragment        // a fragment that does not start its datagram
	ReasonOpcode          // the base transport header has a reserved or a manufacturer's opcode
	ReasonTransportHeader // the base transport header has a transport version other than 0
	ReasonNotRD           // opcode of reliable datagrams, headers of another transport (ConnectX DC)
	ReasonMRC
	ReasonUET
	ReasonVeRoCE
	ReasonIWARP
	ReasonEncrypted     // IPsec ESP or MACsec
	ReasonVendorTag     // VN-Tag, FabricPath, provider backbone
	ReasonTunnelVersion // a version of GRE, GENEVE or ERSPAN that is not decoded
	ReasonTunnelPayload // the tunnel carries something that is not decoded
	ReasonERFType       // an ERF record of another kind
	ReasonIBRaw         // native InfiniBand without a base transport header
	ReasonMACControl    // a MAC control opcode other than pause and PFC

	// With ErrNotRDMA.
	ReasonEtherType   // another ethertype
	ReasonLLC         // an 802.3 frame of another protocol
	ReasonIPProtocol  // another IP protocol
	ReasonUDPPort     // another UDP port
	ReasonNotRoCE     // UDP port 4791, but no plausible base transport header
	ReasonNotMetaRoCE // a MetaRoCE profile's port, but version, type or lengths are wrong and no right ICRC vouches for it
)

var reasonPhrases = [...]string{
	ReasonNone:            "",
	ReasonCut:             "cut by the capture",
	ReasonTooShort:        "too short for its header",
	ReasonIPVersion:       "IP version contradicts the layer before",
	ReasonIPHeaderLength:  "IP header length out of range",
	ReasonIPTotalLength:   "IP total length below its header",
	ReasonUDPLength:       "UDP length out of range",
	ReasonPad:             "more pad than payload",
	ReasonGRHVersion:      "GRH version is not 6",
	ReasonMPLSStack:       "MPLS label stack without a bottom",
	ReasonLinkType:        "linktype",
	ReasonTooManyLayers:   "too many headers",
	ReasonTooManyTunnels:  "too many nested tunnels",
	ReasonTooLong:         "longer than 65,535 bytes",
	ReasonFragment:        "IP fragment without the transport header",
	ReasonOpcode:          "unknown opcode",
	ReasonTransportHeader: "transport header version",
	ReasonNotRD:           "opcode of reliable datagrams with headers of another transport",
	ReasonMRC:             "MRC",
	ReasonUET:             "UET",
	ReasonVeRoCE:          "veRoCE",
	ReasonIWARP:           "iWARP",
	ReasonEncrypted:       "encrypted",
	ReasonVendorTag:       "vendor tag",
	ReasonTunnelVersion:   "tunnel version",
	ReasonTunnelPayload:   "tunnel payload",
	ReasonERFType:         "ERF record type",
	ReasonIBRaw:           "InfiniBand without transport header",
	ReasonMACControl:      "MAC control opcode",
	ReasonEtherType:       "other ethertype",
	ReasonLLC:             "other 802.3 frame",
	ReasonIPProtocol:      "other IP protocol",
	ReasonUDPPort:         "other UDP port",
	ReasonNotRoCE:         "UDP port 4791 without a plausible transport header",
	ReasonNotMetaRoCE:     "UDP port of a MetaRoCE profile without a packet of it",

	ReasonMetaRoCEVersion:       metaroce.ReasonVersion.String(),
	ReasonMetaRoCEType:          metaroce.ReasonType.String(),
	ReasonMetaRoCEHeaders:       metaroce.ReasonHeaders.String(),
	ReasonMetaRoCEPayloadLength: metaroce.ReasonPayloadLength.String(),
	ReasonMetaRoCEPayload:       metaroce.ReasonPayload.String(),
	ReasonMetaRoCEFlag:          metaroce.ReasonFlag.String(),
	ReasonMetaRoCEFirst:         metaroce.ReasonFirst.String(),
	ReasonMetaRoCELast:          metaroce.ReasonLast.String(),
	ReasonMetaRoCEOffset:        metaroce.ReasonOffset.String(),
	ReasonMetaRoCERange:         metaroce.ReasonRange.String(),
}

// String is a phrase for people, without its layer: "more pad than payload".
func (r Reason) String() string {
	if int(r) < len(reasonPhrases) {
		return reasonPhrases[r]
	}
	return "unknown reason"
}
