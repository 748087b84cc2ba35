package capgen

// Truth is what a generated capture holds. The names are those of the analysis' totals.
type Truth struct {
	Packets       uint64
	RDMAPackets   uint64
	Messages      uint64 // operations, each once
	Retransmitted uint64 // PSN already passed: the original seen, or known lost by a later PSN
	OutOfOrder    uint64
	MirrorCopies  uint64
	MissingPSNs   uint64 // never captured
	Naks          uint64
	RNRNaks       uint64
	CNPs          uint64
	CEMarked      uint64
	ICRCErrors    uint64
	NotRDMA       uint64
	Connections   uint64
}
