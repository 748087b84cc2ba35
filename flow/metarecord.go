package flow

import (
	"slices"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// ServiceMetaRoCE stands in a [Key] for all services of MetaRoCE, which multiplexes them in one connection. The
// services of InfiniBand have three bits, so that none has this number.
const ServiceMetaRoCE infiniband.Service = 8

// ServiceName is the name of a key's service: RC, UD, MetaRoCE ...
func ServiceName(s infiniband.Service) string {
	if s == ServiceMetaRoCE {
		return "MetaRoCE"
	}
	return s.String()
}

// Transport is the family of transport protocols that the flow belongs to: "RoCE" or "MetaRoCE".
func (r *Record) Transport() string {
	if r.MetaRoCE != nil {
		return "MetaRoCE"
	}
	return "RoCE"
}

// Clone is a copy that may be kept when emit has returned.
func (r *Record) Clone() Record {
	out := *r
	if r.MetaRoCE != nil {
		x := *r.MetaRoCE
		x.Paths, x.Streams = slices.Clone(x.Paths), slices.Clone(x.Streams)
		for i := range x.Paths {
			x.Paths[i].Ports = slices.Clone(x.Paths[i].Ports)
		}
		out.MetaRoCE = &x
	}
	return out
}

// Handshake is how the setting up of a MetaRoCE connection went, as seen from the one who asked for it.
type Handshake uint8

// Results of handshakes.
const (
	HandshakeUnseen    Handshake = iota // the capture began later, or missed it
	HandshakeRequested                  // a CONN_REQ, and no answer to it
	HandshakeAccepted                   // CONN_REP
	HandshakeRejected                   // CONN_REJ
)

var handshakeNames = [...]string{"unseen", "requested", "accepted", "rejected"}

// String is the name of the result: "accepted".
func (h Handshake) String() string { return handshakeNames[h] }

// MetaRoCERecord is what a flow of MetaRoCE has beside the fields of [Record]: one direction of a connection, its
// paths and its streams. What follows from ACKs is unknown while the other direction is.
type MetaRoCERecord struct {
	Profile string // wire profile: mr0

	Handshake    Handshake
	Requests     uint64           // CONN_REQ packets in this direction, repetitions included
	AcceptTime   Count            // ns from the first CONN_REQ to the CONN_REP; of the requester's direction
	RejectReason mr0.RejectReason // with HandshakeRejected

	// What the sender of this direction said of itself in CONN_REQ or CONN_REP. Unknown when that was not seen.
	PathCount, PlaneCount, MTU, LinkRate, InitialPSN, StreamCount, MaxWindow Count

	Disconnected     bool // a DISCONNECT in this direction
	DisconnectReason mr0.DisconnectReason

	Probes           uint64 // PROBE packets
	RateHint         Hint   // that the other side granted, over all paths
	UntrackedStreams uint64 // streams beyond the limit of 1024 a flow: their packets count for flow and path only

	Paths   []PathRecord   // by number
	Streams []StreamRecord // by number
}

// Hint is the rate hints of ACKs, Mbit/s; those without limit are left out of it.
type Hint struct {
	Last, Min, Max Count
	Unlimited      uint64 // ACKs that set no limit
}

// PortUse is a UDP source port of a path.
type PortUse struct {
	Port        uint16
	Packets     uint64
	FirstNumber uint64 // of the packet in the capture
	FirstTime   Count  // ns since the Unix epoch
}

// PathRecord is one path of one direction of a MetaRoCE connection: its own sequence of packets. It counts
// sequenced packets alone, and leaves mirror copies out.
type PathRecord struct {
	ID           uint8
	Plane        Count // plane_id of the latest packet
	PlaneChanges uint64
	Ports        []PortUse // in the order of their first use; at most 8, the last of which is the latest
	RePaths      uint64    // source ports after the first

	HasTime                 bool
	FirstTime, LastTime     int64 // ns since the Unix epoch
	FirstNumber, LastNumber uint64

	FirstPSN, LastPSN Count
	Packets           uint64
	Bytes             uint64 // on the wire
	PayloadBytes      uint64

	PSNGaps             uint64 // runs of missing psns, filled later or not
	MissingPSNs         uint64 // psns that never arrived at the vantage point
	MissingAcknowledged Count  // of these: covered by an ACK, so the capture missed them, not the receiver
	Retransmitted       uint64 // RTX, or a psn seen before with another timestamp
	RetransmittedSeen   uint64 // of these: the original was captured, so it was lost behind the vantage point or not at all
	RetransmittedGap    Count  // of these: after a gap that an ACK showed
	RetransmittedRNR    Count  // after a NAK for want of a receive buffer
	RetransmittedMoved  uint64 // with a psn of their own: their bytes were sent on another path before
	OutOfOrder          uint64 // came late, but were not resent
	Duplicates          uint64 // psns seen more than once
	Probes              uint64
	FirstProbe          Count // packet numbers; the path had failed before the first PROBE
	LastProbe           Count
	Failed              bool  // a PROBE was the last packet, and no ACK of it was captured
	FirstProbeTime      Count // ns since the Unix epoch
	CEMarked, ECTMarked uint64
	Naks                uint64 // NAKs that named a packet of the path

	// By the receiver's word, from ACKs of this path.
	Acks            Count
	ReceivedPackets Count // packet_count of the latest ACK: arrived since the connection began, duplicates too
	ReceivedCE      Count // ce_count of the latest ACK
	RateHint        Hint

	// From the vantage point to the receiver and back: time between a packet and the ACK that echoes its
	// timestamp, less ack_delay; smoothed by RFC 6298. ns.
	RTT RTT

	InFlightMax  Count // most packets sent and not acknowledged at one moment: the least that the window was
	InFlightMean Count // mean over the ACKs

	Unseen Unseen
}

// RTT is estimates of a round trip, ns; unknown without samples.
type RTT struct {
	Samples                       uint64
	Smoothed, Variation, Min, Max Count
}

// StreamRecord is one stream of one direction of a MetaRoCE connection. A READ or atomic is a message of the
// requester's direction, and complete when its response has been acknowledged.
type StreamRecord struct {
	ID                            uint16
	Messages                      uint64 // messages begun: at least one of their packets was captured
	Writes, Sends, Reads, Atomics uint64 // of these
	Complete                      Count  // messages of which all bytes were captured and acknowledged
	FirstMSN, LastMSN             Count
	Packets                       uint64 // without mirror copies
	PayloadBytes                  uint64 // resent bytes included
	GoodputBytes                  uint64 // without what had been captured before
	ResponseBytes                 uint64 // of GoodputBytes: answers to READs of the other direction
	Retransmitted                 uint64
	Naks                          uint64 // that refused a message of the stream
	Latency                       Latency
	HasTime                       bool
	FirstTime, LastTime           int64
	FirstNumber, LastNumber       uint64
}

// Latency is the time from the first packet of a message that was seen to the ACK that covers its last byte, over
// the messages of a stream, ns. Quantiles are right to 1/16 of their value. Unknown without a message to tell.
type Latency struct {
	Samples                  uint64
	Min, Mean, P50, P90, P99 Count
	Max                      Count
}
