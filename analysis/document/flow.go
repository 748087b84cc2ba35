// Package document has the JSON form of what an analysis finds; docs/json.md describes it.
package document

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// Version is raised when a field changes its meaning or goes away, not when one is added.
const Version = 1

// Flow is one direction of one connection, with null for what the capture cannot tell.
type Flow struct {
	ID                        string            `json:"id"`
	ConnectionID              string            `json:"connection_id"`
	ReverseFlowID             *string           `json:"reverse_flow_id"`
	Source                    string            `json:"source"`
	SourceQP                  flow.Count        `json:"source_qp"`
	Destination               string            `json:"destination"`
	DestinationQP             uint32            `json:"destination_qp"`
	Pairing                   string            `json:"pairing"`
	ServiceID                 *string           `json:"service_id"`
	Application               *string           `json:"application"`
	Transport                 string            `json:"transport"`
	Service                   string            `json:"service"`
	Protocol                  string            `json:"protocol"`
	SourceMAC                 string            `json:"source_mac"`
	DestinationMAC            string            `json:"destination_mac"`
	VLAN                      flow.Count        `json:"vlan"`
	DSCP                      flow.Count        `json:"dscp"`
	SourcePort                flow.Count        `json:"source_port"`
	SourcePorts               flow.Count        `json:"source_ports"`
	PortRewrittenFrom         flow.Count        `json:"port_rewritten_from"`
	Tunnel                    *string           `json:"tunnel"`
	OuterSource               *string           `json:"outer_source"`
	OuterDestination          *string           `json:"outer_destination"`
	FirstTime                 *string           `json:"first_time"`
	LastTime                  *string           `json:"last_time"`
	DurationNS                *string           `json:"duration_ns"`
	FirstNumber               flow.Count        `json:"first_number"`
	LastNumber                flow.Count        `json:"last_number"`
	Packets                   uint64            `json:"packets"`
	Bytes                     uint64            `json:"bytes"`
	PayloadBytes              uint64            `json:"payload_bytes"`
	GoodputBytes              flow.Count        `json:"goodput_bytes"`
	ThroughputBPS             *float64          `json:"throughput_bps"`
	Messages                  flow.Count        `json:"messages"`
	Operations                Operations        `json:"operations"`
	PathMTU                   flow.Count        `json:"path_mtu"`
	FirstPSN                  flow.Count        `json:"first_psn"`
	LastPSN                   flow.Count        `json:"last_psn"`
	PSNGaps                   flow.Count        `json:"psn_gaps"`
	MissingPSNs               flow.Count        `json:"missing_psns"`
	MissingAcknowledged       flow.Count        `json:"missing_acknowledged"`
	Retransmitted             flow.Count        `json:"retransmitted"`
	RetransmittedAfterNAK     flow.Count        `json:"retransmitted_after_nak"`
	RetransmittedAfterRNR     flow.Count        `json:"retransmitted_after_rnr"`
	RetransmittedAfterTimeout flow.Count        `json:"retransmitted_after_timeout"`
	OutOfOrder                flow.Count        `json:"out_of_order"`
	Duplicates                flow.Count        `json:"duplicates"`
	MirrorCopies              flow.Count        `json:"mirror_copies"`
	Acks                      uint64            `json:"acks"`
	Naks                      uint64            `json:"naks"`
	NaksByCode                map[string]uint64 `json:"naks_by_code"`
	RNRNaks                   uint64            `json:"rnr_naks"`
	RNRTimerMaxNS             *int64            `json:"rnr_timer_max_ns"`
	CNPs                      uint64            `json:"cnps"`
	CEMarked                  flow.Count        `json:"ce_marked"`
	ECTMarked                 flow.Count        `json:"ect_marked"` //nolint:misspell // ECN-capable transport
	ICRCGood                  uint64            `json:"icrc_good"`
	ICRCBad                   uint64            `json:"icrc_bad"`
	ICRCUndetermined          uint64            `json:"icrc_undetermined"`
	Truncated                 uint64            `json:"truncated"`
	Malformed                 uint64            `json:"malformed"`
	MetaRoCE                  *MetaRoCE         `json:"metaroce"`
}

// seen is a number of a record, unknown when the record says so.
func seen(n uint64, unseen, mask flow.Unseen) flow.Count {
	return flow.Count{N: n, Known: unseen&mask == 0}
}

// Operations is flow.Operations with its JSON names.
type Operations struct {
	Send           uint64 `json:"send"`
	Write          uint64 `json:"write"`
	ReadRequest    uint64 `json:"read_request"`
	Atomic         uint64 `json:"atomic"`
	ReadResponse   uint64 `json:"read_response"`
	AtomicResponse uint64 `json:"atomic_response"`
	Ack            uint64 `json:"ack"`
	Datagram       uint64 `json:"datagram"`
	Other          uint64 `json:"other"`
}

// NewFlow puts a record into its JSON form.
func NewFlow(r *flow.Record) *Flow {
	f := &Flow{
		ID: idText(r.ID), ConnectionID: idText(r.ConnectionID),
		Source: r.Key.Source.String(), SourceQP: r.SourceQP,
		Destination: r.Key.Destination.String(), DestinationQP: r.Key.DestinationQP,
		Pairing: r.Pairing.String(), Transport: r.Transport(), Service: flow.ServiceName(r.Key.Service), Protocol: r.Key.Protocol.String(),
		SourceMAC: net.HardwareAddr(r.SourceMAC[:]).String(), DestinationMAC: net.HardwareAddr(r.DestinationMAC[:]).String(),
		VLAN: r.VLAN, DSCP: r.DSCP, SourcePort: r.SourcePort, SourcePorts: r.SourcePorts, PortRewrittenFrom: r.PortRewritten,
		FirstNumber: seen(r.FirstNumber, r.Unseen, flow.UnseenPackets), LastNumber: seen(r.LastNumber, r.Unseen, flow.UnseenPackets),
		Packets: r.Packets, Bytes: r.Bytes, PayloadBytes: r.PayloadBytes, GoodputBytes: r.GoodputBytes,
		Messages: r.Messages, Operations: Operations(r.Operations), PathMTU: r.PathMTU,
		FirstPSN: r.FirstPSN, LastPSN: r.LastPSN, PSNGaps: r.PSNGaps, MissingPSNs: r.MissingPSNs, MissingAcknowledged: r.MissingAcknowledged,
		Retransmitted: r.Retransmitted, RetransmittedAfterNAK: r.RetransmittedNAK,
		RetransmittedAfterRNR: r.RetransmittedRNR, RetransmittedAfterTimeout: r.RetransmittedTimeout,
		OutOfOrder: r.OutOfOrder, Duplicates: r.Duplicates, MirrorCopies: seen(r.MirrorCopies, r.Unseen, flow.UnseenPackets),
		Acks: r.Acks, Naks: Naks(r), NaksByCode: map[string]uint64{}, RNRNaks: r.RNRNaks,
		CNPs: r.CNPs, CEMarked: r.CEMarked, ECTMarked: r.ECTMarked,
		ICRCGood: r.ICRCGood, ICRCBad: r.ICRCBad, ICRCUndetermined: r.ICRCUndetermined,
		Truncated: r.Truncated, Malformed: r.Malformed,
	}
	if r.ReverseID != 0 {
		id := idText(r.ReverseID)
		f.ReverseFlowID = &id
	}
	if r.ServiceID.Known {
		id := fmt.Sprintf("0x%016x", r.ServiceID.N)
		f.ServiceID = &id
	}
	if r.Application != mad.ApplicationUnknown {
		name := r.Application.String()
		f.Application = &name
	}
	if r.Tunnel != dissector.LayerNone {
		tunnel, source, destination := r.Tunnel.String(), r.OuterSource.String(), r.OuterDestination.String()
		f.Tunnel, f.OuterSource, f.OuterDestination = &tunnel, &source, &destination
	}
	if r.HasTime {
		f.FirstTime, f.LastTime = Time(r.FirstTime), Time(r.LastTime)
		// Clocks can be set back during a capture, and files can be given in any order.
		if r.LastTime >= r.FirstTime {
			duration := strconv.FormatInt(r.LastTime-r.FirstTime, 10)
			f.DurationNS = &duration
		}
	}
	if bps, ok := Rate(r); ok {
		f.ThroughputBPS = &bps
	}
	for code, n := range r.Naks {
		if n > 0 {
			f.NaksByCode[nakName(r, code)] = n
		}
	}
	if r.RNRNaks > 0 {
		f.RNRTimerMaxNS = &r.RNRTimerMax
	}
	f.MetaRoCE = NewMetaRoCE(r.MetaRoCE)
	return f
}

// nakName is the name of a NAK's code, in which RoCE and MetaRoCE differ.
func nakName(r *flow.Record, code int) string {
	if r.MetaRoCE != nil {
		return mr0.NAKReason(code).String()
	}
	return infiniband.NAKCode(code).String()
}

func idText(id flow.ID) string { return strconv.FormatUint(uint64(id), 10) }

// Time is a time stamp, ns since the Unix epoch, as RFC 3339 in UTC with nine digits of fraction.
func Time(ns int64) *string {
	text := time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
	return &text
}

// Naks is the sum over all codes.
func Naks(r *flow.Record) uint64 {
	var sum uint64
	for _, n := range r.Naks {
		sum += n
	}
	return sum
}

// Rate is bits a second on the wire between the first and the last packet of a flow.
func Rate(r *flow.Record) (float64, bool) {
	if !r.HasTime || r.LastTime <= r.FirstTime {
		return 0, false
	}
	return float64(r.Bytes) * 8 / (float64(r.LastTime-r.FirstTime) / 1e9), true
}
