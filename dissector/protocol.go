package dissector

var protocolNames = [...]string{
	ProtocolOther:      "other",
	ProtocolRoCEv1:     "RoCEv1",
	ProtocolRoCEv2:     "RoCEv2",
	ProtocolInfiniBand: "InfiniBand",
	ProtocolMetaRoCE:   "MetaRoCE",
	ProtocolMRC:        "MRC",
	ProtocolUET:        "UET",
	ProtocolVeRoCE:     "veRoCE",
	ProtocolIWARP:      "iWARP",
	ProtocolPause:      "pause",
}

// String is the name that people use for the protocol.
func (p Protocol) String() string {
	if int(p) < len(protocolNames) {
		return protocolNames[p]
	}
	return "unknown"
}
