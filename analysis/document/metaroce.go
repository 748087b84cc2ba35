package document

import (
	"github.com/rocelens/rocelens/flow"
)

// MetaRoCE is what a flow of MetaRoCE has beside the fields of every flow.
type MetaRoCE struct {
	Profile          string     `json:"profile"`
	Handshake        string     `json:"handshake"`
	Requests         uint64     `json:"requests"`
	AcceptTimeNS     flow.Count `json:"accept_time_ns"`
	RejectReason     *string    `json:"reject_reason"`
	PathCount        flow.Count `json:"path_count"`
	PlaneCount       flow.Count `json:"plane_count"`
	MTU              flow.Count `json:"mtu"`
	LinkRate         flow.Count `json:"link_rate_mbps"`
	InitialPSN       flow.Count `json:"initial_psn"`
	StreamCount      flow.Count `json:"stream_count"`
	MaxWindow        flow.Count `json:"max_window"`
	DisconnectReason *string    `json:"disconnect_reason"`
	Probes           uint64     `json:"probes"`
	RateHint         Hint       `json:"rate_hint"`
	UntrackedStreams uint64     `json:"untracked_stream_packets"`
	Paths            []Path     `json:"paths"`
	Streams          []Stream   `json:"streams"`
}

// Hint is rate hints, Mbit/s.
type Hint struct {
	Last      flow.Count `json:"last_mbps"`
	Min       flow.Count `json:"min_mbps"`
	Max       flow.Count `json:"max_mbps"`
	Unlimited uint64     `json:"unlimited"`
}

// PortUse is a UDP source port of a path.
type PortUse struct {
	Port        uint16     `json:"port"`
	Packets     uint64     `json:"packets"`
	FirstNumber flow.Count `json:"first_number"`
	FirstTime   *string    `json:"first_time"`
}

// Path is one path of one direction.
type Path struct {
	ID                  uint8      `json:"path_id"`
	Plane               flow.Count `json:"plane_id"`
	PlaneChanges        flow.Count `json:"plane_changes"`
	SourcePorts         []PortUse  `json:"source_ports"`
	RePaths             flow.Count `json:"re_paths"`
	FirstTime           *string    `json:"first_time"`
	LastTime            *string    `json:"last_time"`
	FirstNumber         flow.Count `json:"first_number"`
	LastNumber          flow.Count `json:"last_number"`
	FirstPSN            flow.Count `json:"first_psn"`
	LastPSN             flow.Count `json:"last_psn"`
	Packets             uint64     `json:"packets"`
	Bytes               uint64     `json:"bytes"`
	PayloadBytes        uint64     `json:"payload_bytes"`
	PSNGaps             flow.Count `json:"psn_gaps"`
	MissingPSNs         flow.Count `json:"missing_psns"`
	MissingAcknowledged flow.Count `json:"missing_acknowledged"`
	Retransmitted       uint64     `json:"retransmitted"`
	RetransmittedSeen   flow.Count `json:"retransmitted_seen"`
	RetransmittedGap    flow.Count `json:"retransmitted_after_gap"`
	RetransmittedRNR    flow.Count `json:"retransmitted_after_rnr"`
	RetransmittedMoved  flow.Count `json:"retransmitted_moved"`
	OutOfOrder          flow.Count `json:"out_of_order"`
	Duplicates          flow.Count `json:"duplicates"`
	Probes              uint64     `json:"probes"`
	CEMarked            uint64     `json:"ce_marked"`
	ECTMarked           uint64     `json:"ect_marked"` //nolint:misspell // ECN-capable transport
	Naks                flow.Count `json:"naks"`
	Acks                flow.Count `json:"acks"`
	ReceivedPackets     flow.Count `json:"received_packets"`
	ReceivedCE          flow.Count `json:"received_ce"`
	RateHint            Hint       `json:"rate_hint"`
	RTT                 RTT        `json:"rtt"`
	InFlightMax         flow.Count `json:"in_flight_max"`
	InFlightMean        flow.Count `json:"in_flight_mean"`
}

// RTT is a round trip from the vantage point to the receiver and back, ns.
type RTT struct {
	Samples   uint64     `json:"samples"`
	Smoothed  flow.Count `json:"smoothed_ns"`
	Variation flow.Count `json:"variation_ns"`
	Min       flow.Count `json:"min_ns"`
	Max       flow.Count `json:"max_ns"`
}

// Stream is one stream of one direction.
type Stream struct {
	ID            uint16     `json:"stream_id"`
	Messages      uint64     `json:"messages"`
	Writes        uint64     `json:"writes"`
	Sends         uint64     `json:"sends"`
	Reads         uint64     `json:"reads"`
	Atomics       uint64     `json:"atomics"`
	Complete      flow.Count `json:"complete"`
	FirstMSN      flow.Count `json:"first_msn"`
	LastMSN       flow.Count `json:"last_msn"`
	FirstTime     *string    `json:"first_time"`
	LastTime      *string    `json:"last_time"`
	FirstNumber   uint64     `json:"first_number"`
	LastNumber    uint64     `json:"last_number"`
	Packets       uint64     `json:"packets"`
	PayloadBytes  uint64     `json:"payload_bytes"`
	GoodputBytes  uint64     `json:"goodput_bytes"`
	ResponseBytes uint64     `json:"response_bytes"`
	Retransmitted uint64     `json:"retransmitted"`
	Naks          uint64     `json:"naks"`
	Latency       Latency    `json:"latency"`
}

// Latency is the time that messages took, ns.
type Latency struct {
	Samples uint64     `json:"samples"`
	Min     flow.Count `json:"min_ns"`
	Mean    flow.Count `json:"mean_ns"`
	P50     flow.Count `json:"p50_ns"`
	P90     flow.Count `json:"p90_ns"`
	P99     flow.Count `json:"p99_ns"`
	Max     flow.Count `json:"max_ns"`
}

// NewMetaRoCE puts the MetaRoCE part of a record into its JSON form, nil for none.
func NewMetaRoCE(r *flow.MetaRoCERecord) *MetaRoCE {
	if r == nil {
		return nil
	}
	m := &MetaRoCE{
		Profile: r.Profile, Handshake: r.Handshake.String(), Requests: r.Requests, AcceptTimeNS: r.AcceptTime,
		PathCount: r.PathCount, PlaneCount: r.PlaneCount, MTU: r.MTU, LinkRate: r.LinkRate, InitialPSN: r.InitialPSN,
		StreamCount: r.StreamCount, MaxWindow: r.MaxWindow, Probes: r.Probes, RateHint: Hint(r.RateHint),
		UntrackedStreams: r.UntrackedStreams, Paths: make([]Path, 0, len(r.Paths)), Streams: make([]Stream, 0, len(r.Streams)),
	}
	if r.Handshake == flow.HandshakeRejected {
		reason := r.RejectReason.String()
		m.RejectReason = &reason
	}
	if r.Disconnected {
		reason := r.DisconnectReason.String()
		m.DisconnectReason = &reason
	}
	for i := range r.Paths {
		m.Paths = append(m.Paths, NewPath(&r.Paths[i]))
	}
	for i := range r.Streams {
		m.Streams = append(m.Streams, NewStream(&r.Streams[i]))
	}
	return m
}

// NewPath puts a path into its JSON form.
func NewPath(r *flow.PathRecord) Path {
	packets := func(n uint64) flow.Count { return seen(n, r.Unseen, flow.UnseenPackets) }
	p := Path{
		ID: r.ID, Plane: r.Plane, SourcePorts: make([]PortUse, 0, len(r.Ports)),
		PlaneChanges: seen(r.PlaneChanges, r.Unseen, flow.UnseenChanges), RePaths: seen(r.RePaths, r.Unseen, flow.UnseenChanges),
		FirstNumber: packets(r.FirstNumber), LastNumber: packets(r.LastNumber), FirstPSN: r.FirstPSN, LastPSN: r.LastPSN,
		Packets: r.Packets, Bytes: r.Bytes, PayloadBytes: r.PayloadBytes,
		PSNGaps: seen(r.PSNGaps, r.Unseen, flow.UnseenSequence), MissingPSNs: seen(r.MissingPSNs, r.Unseen, flow.UnseenSequence), MissingAcknowledged: r.MissingAcknowledged,
		Retransmitted: r.Retransmitted, RetransmittedSeen: packets(r.RetransmittedSeen), RetransmittedGap: r.RetransmittedGap,
		RetransmittedRNR: r.RetransmittedRNR, RetransmittedMoved: packets(r.RetransmittedMoved),
		OutOfOrder: packets(r.OutOfOrder), Duplicates: seen(r.Duplicates, r.Unseen, flow.UnseenDuplicates), Probes: r.Probes,
		CEMarked: r.CEMarked, ECTMarked: r.ECTMarked, Naks: packets(r.Naks), Acks: r.Acks,
		ReceivedPackets: r.ReceivedPackets, ReceivedCE: r.ReceivedCE, RateHint: Hint(r.RateHint), RTT: RTT(r.RTT),
		InFlightMax: r.InFlightMax, InFlightMean: r.InFlightMean,
	}
	p.FirstTime, p.LastTime = span(r.HasTime, r.FirstTime, r.LastTime)
	for _, u := range r.Ports {
		use := PortUse{Port: u.Port, Packets: u.Packets, FirstNumber: packets(u.FirstNumber)}
		if u.FirstTime.Known {
			use.FirstTime = Time(int64(u.FirstTime.N))
		}
		p.SourcePorts = append(p.SourcePorts, use)
	}
	return p
}

// NewStream puts a stream into its JSON form.
func NewStream(r *flow.StreamRecord) Stream {
	s := Stream{
		ID: r.ID, Messages: r.Messages, Writes: r.Writes, Sends: r.Sends, Reads: r.Reads, Atomics: r.Atomics, Complete: r.Complete,
		FirstMSN: r.FirstMSN, LastMSN: r.LastMSN, FirstNumber: r.FirstNumber, LastNumber: r.LastNumber, Packets: r.Packets,
		PayloadBytes: r.PayloadBytes, GoodputBytes: r.GoodputBytes, ResponseBytes: r.ResponseBytes,
		Retransmitted: r.Retransmitted, Naks: r.Naks,
		Latency: Latency{
			Samples: r.Latency.Samples, Min: r.Latency.Min, Mean: r.Latency.Mean,
			P50: r.Latency.P50, P90: r.Latency.P90, P99: r.Latency.P99, Max: r.Latency.Max,
		},
	}
	s.FirstTime, s.LastTime = span(r.HasTime, r.FirstTime, r.LastTime)
	return s
}

func span(has bool, first, last int64) (from, to *string) {
	if !has {
		return nil, nil
	}
	return Time(first), Time(last)
}
