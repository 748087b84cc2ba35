// Package flow turns packets into connections: who talked to whom, how much, what was lost, resent,
// marked and refused. A [Tracker] has no clock, no goroutine and no lock; its memory is bounded.
//
// A capture shows one point of the path. What is resent is told from what is late, copied by a mirror, or
// missed by the capture, by evidence: NAKs and RNR NAKs of the other direction, a sender that repeats what
// was seen, silence, and IP IDs where the sender counts them. Where nothing speaks for a retransmission a
// late packet is called late, and what a capture cannot tell is unknown, never 0: see [Record].
package flow

import (
	"strconv"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// ID names a flow: a hash of its key, the same in every run over the same packets. 0 is no flow. The service of a
// connection is not part of it, so that a CNP, which names none, has the ID of its connection even when it comes
// first; only where a QPN's service changes later, the later flow has one of its own.
type ID uint64

// Count is a number that the capture may not be able to tell. The zero value is "unknown", not 0.
type Count struct {
	N     uint64
	Known bool
}

// Signed is the number of a record after [Tracker.Cut], which is negative when what an earlier record told is taken back.
func (c Count) Signed() int64 { return int64(c.N) }

// MarshalJSON writes the number, which is negative after a cut if so it is, or null when it is unknown.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, c.Signed(), 10), nil
}

// Pairing says how the two directions of a connection, and so the source QPN, were found.
type Pairing uint8

// Pairings, from no knowledge to certainty.
const (
	PairingNone      Pairing = iota // the other direction, or the QPN of the sender, is unknown
	PairingInferred                 // ACKs of one direction fit the PSNs of the other, and of no third; or CNPs its marks; for MetaRoCE also timestamps
	PairingDatagram                 // the DETH of each packet names the source QPN
	PairingCM                       // messages that set the connection up, or ended it, name both directions
	PairingAddresses                // MetaRoCE: of all flows just these two lead from one address to the other and back
)

// String is the pairing's word, as in every output.
func (p Pairing) String() string {
	switch p {
	case PairingInferred:
		return "inferred"
	case PairingDatagram:
		return "datagram"
	case PairingCM:
		return "cm"
	case PairingAddresses:
		return "addresses"
	case PairingNone:
	}
	return "none"
}

// Key is what makes packets one flow: one direction of one connection. The UDP source port is not part of
// it, since the directions of a connection use unrelated ports and a sender may change its port. The
// addresses of native InfiniBand without a GRH are LIDs, written as ::LID.
type Key struct {
	Source        dissector.Address
	Destination   dissector.Address
	DestinationQP uint32 // 24 bits; for MetaRoCE dest_conn_id, 32 bits, which is 0 for a request that was not accepted
	SourceQP      uint32 // 24 bits; from the DETH, for datagrams only; the sender's id of a MetaRoCE request that was not accepted; otherwise 0
	Service       infiniband.Service
	Protocol      dissector.Protocol
}

// Operations counts packets that begin an RDMA operation, and the packets that answer, as travelling in
// the flow's own direction. Retransmissions and mirror copies are not counted again.
type Operations struct {
	Send, Write, ReadRequest, Atomic            uint64 // operations begun
	ReadResponse, AtomicResponse, Ack, Datagram uint64 // packets; Datagram: UD sends, MADs included
	Other                                       uint64 // packets of reserved and vendor opcodes, FLUSH ...
}

// Record is one direction of one connection: what was seen of it in the capture or interval.
//
// Packets, Bytes, PayloadBytes and the ICRC counts are of everything captured; all else leaves mirror copies
// out. Unknown are:
//   - everything that follows from PSNs, and GoodputBytes and Messages, for RD and vendor services, whose
//     packets do not follow one sequence; GoodputBytes and all of PSNGaps to Duplicates for UD, where a
//     number left out or sent again means nothing;
//   - the three reasons of Retransmitted, when there is any and nothing of the other direction that could have
//     told them; the
//     time-out alone, when packets have no time stamps;
//   - FirstPSN and LastPSN, when the flow has neither requests nor answers (CNPs alone);
//   - PathMTU, until a FIRST or MIDDLE packet came;
//   - SourceQP, without DETH or partner; DSCP, ports and marks, outside RoCEv2; VLAN, without a tag or with
//     more than two.
//
// A flow of MetaRoCE has the psns of all its paths together: its PSN fields count over these, FirstPSN and LastPSN are
// unknown, RetransmittedNAK is after a gap that an ACK showed and RNRNaks are NAKs for want of a receive buffer. See
// [MetaRoCERecord] for each path and stream.
//
// UC resends nothing, so its Retransmitted is 0 and known. Gaps count requests and READ responses together:
// of responses only those that must exist, since an acknowledgment may stand for any number of requests.
type Record struct {
	ID           ID
	ConnectionID ID // the same for both directions once they are paired; otherwise the flow's own ID
	ReverseID    ID // the other direction's flow, 0 when unknown
	Key          Key
	SourceQP     Count // QPN of the sender, or the connection id that it chose; unknown when nothing names it
	Pairing      Pairing

	// Where it says "of the first packet" below, a CNP is not meant, unless there are CNPs alone.

	// What the connection was set up for, by the REQ of the connection manager. Nothing is guessed from payload.
	ServiceID   Count           // unknown when the REQ or its REP was not seen
	Application mad.Application // that has the service ID's port; ApplicationUnknown when none has, or nobody knows

	SourceMAC, DestinationMAC [6]byte
	VLAN                      Count // VID of the innermost tag
	DSCP                      Count // of the first packet; unknown for RoCEv1
	SourcePort                Count // UDP source port of the first packet; unknown for RoCEv1
	SourcePorts               Count // distinct UDP source ports, counted up to a limit of 64
	Tunnel                    dissector.LayerType
	OuterSource               dissector.Address // all zero without a tunnel
	OuterDestination          dissector.Address

	HasTime     bool
	FirstTime   int64 // ns since the Unix epoch
	LastTime    int64
	FirstNumber uint64 // packet numbers in the capture
	LastNumber  uint64

	Packets      uint64
	Bytes        uint64 // on the wire
	PayloadBytes uint64 // transport payload on the wire, resent bytes included
	GoodputBytes Count  // payload without what was resent or duplicated
	Messages     Count  // operations seen, each once
	Operations   Operations
	PathMTU      Count // largest payload of a FIRST or MIDDLE packet, bytes

	FirstPSN, LastPSN    Count // of the flow's own requests (for a flow of responses: of what it answers)
	PSNGaps              Count // runs of missing PSNs, whether filled later or not
	MissingPSNs          Count // PSNs that never arrived at the vantage point
	MissingAcknowledged  Count // of these: acknowledged all the same, so the capture missed them, not the receiver
	Retransmitted        Count // packets whose PSN had already been passed: the original seen or known lost
	RetransmittedNAK     Count // of these: after a NAK for a sequence error
	RetransmittedRNR     Count // after an RNR NAK
	RetransmittedTimeout Count // after silence, with neither
	OutOfOrder           Count // packets that came late but were not resent
	Duplicates           Count // PSNs seen more than once, mirror copies aside
	MirrorCopies         uint64

	Acks        uint64     // positive, in this direction
	Naks        [32]uint64 // by NAK code
	RNRNaks     uint64
	RNRTimerMax int64  // ns, the largest RNR timer asked for; 0 when RNRNaks is 0
	CNPs        uint64 // in this direction
	CEMarked    Count  // unknown for RoCEv1 and native InfiniBand
	ECTMarked   Count  // packets that are ECN-capable, CE included

	ICRCGood, ICRCBad, ICRCUndetermined uint64
	PortRewritten                       Count // UDP source port before a device rewrote it, when the ICRC proves it
	Truncated, Malformed                uint64

	MetaRoCE *MetaRoCERecord // nil for RoCE

	Unseen Unseen
}

// Unseen names numbers of a record that nobody found out, because its packets were counted and not followed. 0: all are as
// they stand.
type Unseen uint8

// What may be unseen of a flow or path.
const (
	UnseenPackets    Unseen = 1 << iota // numbers of packets; how many were captured twice, came late, moved here or were refused
	UnseenSequence                      // of a path: gaps, and PSNs that are missing
	UnseenDuplicates                    // of a path
	UnseenChanges                       // of a path: of its source port and plane
	UnseenState                         // of a path: whether it failed, and recovered
)

// Flags are what the tracker found about one packet.
type Flags uint16

// Flags of a packet.
const (
	FlagRetransmitted Flags = 1 << iota
	FlagAfterNAK            // with FlagRetransmitted
	FlagAfterRNR
	FlagAfterTimeout
	FlagOutOfOrder
	FlagDuplicate  // this PSN was seen before
	FlagMirrorCopy // the same packet, captured twice
	FlagGapBefore  // PSNs before this one are missing at this moment
	FlagAckUnseen  // acknowledges a PSN that the capture never saw: the capture, not the network, lost it
)

// Observation is what the tracker says of one packet.
type Observation struct {
	Flow    ID // 0: the packet belongs to no flow
	Flags   Flags
	Message uint32 // message of the flow that the packet belongs to, from 1; 0 when it belongs to none
	Ack     AckObservation
	Revised Revision
}

// AckObservation is what an ACK of MetaRoCE tells of the path that it acknowledges. Of other packets, and of ACKs of a
// flow that was not seen, both are unknown. See InFlightMean and RTT of [PathRecord], which are made from these.
type AckObservation struct {
	InFlight Count // packets sent and not acknowledged, just before the ACK
	RTT      Count // ns, from the vantage point to the receiver and back
}

// Revision replaces the flags of an earlier packet, once a later one has told what it was. Number 0: none.
// An observation carries one at most, not always of its own flow; others follow with the next observations,
// and [Tracker.Revised] hands out what is left after the last packet. Counters are right at once.
type Revision struct {
	Number uint64
	Flags  Flags
}

// Totals are sums over all packets of one capture, whatever their flow, evicted flows included.
//
// RDMAPackets are those with a whole base transport header of RoCE or common header of MetaRoCE, be the rest cut, unknown or contradictory.
// Every other packet is one of Truncated, Malformed, Unsupported, PauseFrames and NotRDMA; an RDMA packet
// may count as Truncated, Malformed or Unsupported besides. Bytes are those on the wire.
type Totals struct {
	Packets          uint64 `json:"packets"`
	RDMAPackets      uint64 `json:"rdma_packets"`
	Bytes            uint64 `json:"bytes"`
	RDMABytes        uint64 `json:"rdma_bytes"`
	Messages         uint64 `json:"messages"`
	Retransmitted    uint64 `json:"retransmitted_packets"` // PSN already passed: the original seen or known lost
	OutOfOrder       uint64 `json:"out_of_order_packets"`  // late, not resent
	MirrorCopies     uint64 `json:"mirror_copy_packets"`
	MissingPSNs      uint64 `json:"missing_psns"`
	Naks             uint64 `json:"nak_packets"` // without RNR NAKs
	RNRNaks          uint64 `json:"rnr_nak_packets"`
	CNPs             uint64 `json:"cnp_packets"`
	CEMarked         uint64 `json:"ce_packets"`
	ICRCErrors       uint64 `json:"icrc_errors"`
	ICRCUndetermined uint64 `json:"icrc_undetermined"`
	Malformed        uint64 `json:"malformed_packets"`
	Truncated        uint64 `json:"truncated_packets"`
	Unsupported      uint64 `json:"unsupported_packets"`
	NotRDMA          uint64 `json:"not_rdma_packets"`
	PauseFrames      uint64 `json:"pause_frames"`
	Flows            uint64 `json:"flows"`
	Connections      uint64 `json:"connections"`
	EvictedFlows     uint64 `json:"evicted_flows"`
}
