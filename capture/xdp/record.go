package xdp

// Protocols of a Record, numbered as in package dissector.
const (
	RoCEv1   = 1
	RoCEv2   = 2
	MetaRoCE = 4
)

// ServiceMetaRoCE is the service of all that MetaRoCE carries; the others are InfiniBand's, the upper bits of opcodes.
const ServiceMetaRoCE = 8

// Kinds of packets, the indexes of Record.Operations.
const (
	Other = iota
	Send
	Write
	Read
	Atomic
	ReadResponse
	AtomicResponse
	Acknowledgment
)

// Tunnels of a Record.
const (
	NoTunnel = iota
	VXLAN
	GRE
	ERSPAN1
	ERSPAN2
	ERSPAN3
)

// ID is whose packets a Record counts: one direction, and of that the requests or the answers; of MetaRoCE one path, and of
// that the sequenced packets or the others.
type ID struct {
	Source, Destination [16]byte // IPv4 as ::ffff:a.b.c.d
	QP                  uint32   // of the destination; for MetaRoCE dest_conn_id
	SourceQP            uint32   // of datagrams; of a CONN_REQ the id that its sender chose; otherwise 0
	Path                uint8    // of MetaRoCE
	Service             uint8
	Protocol            uint8
	Answers             bool
}

// Record is what was seen of an ID since the sweep before. Counts are exact, whatever CPUs the packets came to.
type Record struct {
	ID
	Packets, Bytes, Payload uint64
	First, Last             int64 // ns since the Unix epoch, as fine as a tick of the kernel

	Operations       [8]uint64 // requests begun, each once; of answers and acknowledgments packets
	Capable, Marked  uint64    // ECN-capable packets, and those of them marked CE
	Acks             uint64    // positive
	Naks             [8]uint64 // by code; the last is of all that are reserved
	RNR              uint64
	RNRTimers        uint32 // RoCE: bit i for timer code i
	RetryAfter       uint32 // MetaRoCE: longest, ns
	Resent, Probes   uint64 // MetaRoCE, by its flags and types
	Plane            uint8
	PlaneChanges     uint64
	MTU              uint16 // largest payload of a FIRST or MIDDLE packet, 0: there was none
	FirstPSN         uint32 // of the first packet
	NextPSN          uint32 // the one expected
	Sequenced        bool   // the packets have PSNs that follow each other
	Sequence         Sequence
	Port             uint16 // UDP source port of the first packet
	PortChanges      uint64
	VLAN             uint16 // VID plus one, 0 without a tag
	DSCP             uint8
	Tunnel           uint8 // the innermost
	MAC              [12]byte
	Outer            [2][16]byte // source and destination of the outermost IP header, in a tunnel
	CPUs             int
	cpu, generations uint32
}

// Sequence is what PSNs tell. It is known where one CPU saw all packets; duplicates moreover where no packet is older
// than what is remembered.
type Sequence struct {
	Known, DuplicatesKnown bool
	Gaps                   uint64 // runs of missing PSNs, filled later or not
	Missing                uint64 // PSNs of these that did not come
	Late                   uint64 // packets that filled a gap, of this sweep or an earlier one
	Duplicates             uint64
	DuplicatePayload       uint64
}

// Reasons for which a packet is in no record, the indexes of Ledger.Others.
const (
	NotRDMA = iota
	Unsupported
	Fragment
	Truncated
	Malformed
	Doubtful // on a port of RDMA, with fields that only a right ICRC could excuse
	Pause
	Segmented // several packets in one, which the NIC is to cut
	Overflow  // no room
)

// Ledger is the account of a sweep. RDMA is what records count, and Others[Overflow] what they could not.
type Ledger struct {
	RDMA, RDMABytes uint64
	Counted         uint64 // packets of records
	Spilled         uint64 // of these: came by the ring, since the map was full
	OtherBytes      uint64
	Others          [9]uint64
}

// Packets is all that was seen.
func (l *Ledger) Packets() uint64 {
	n := l.RDMA
	for _, o := range l.Others {
		n += o
	}
	return n
}

func (l *Ledger) add(o *Ledger) {
	l.RDMA += o.RDMA
	l.RDMABytes += o.RDMABytes
	l.Counted += o.Counted
	l.Spilled += o.Spilled
	l.OtherBytes += o.OtherBytes
	for i := range l.Others {
		l.Others[i] += o.Others[i]
	}
}
