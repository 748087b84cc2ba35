package service

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// flows implements server.Flows.
type flows struct{ store *store.Store }

// Defaults of the API's document, for callers that did not come through its validation.
const (
	defaultFlows   = 200
	defaultPackets = 200
	defaultBuckets = 300
)

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// flowID reads an identifier; 0 for none.
func flowID(text *string) (flow.ID, error) {
	if text == nil {
		return 0, nil
	}
	id, err := strconv.ParseUint(*text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: the flow id %s is too large", server.ErrBadRequest, *text)
	}
	return flow.ID(id), nil
}

// ListFlows implements server.Flows.
func (f *flows) ListFlows(ctx context.Context, capture uuid.UUID, p api.ListFlowsParams) (api.FlowList, error) {
	page, err := f.store.Flows(ctx, capture, store.FlowQuery{
		Sort: string(valueOr(p.Sort, api.FlowSortBytes)), Ascending: valueOr(p.Order, api.ListFlowsParamsOrderDesc) == api.ListFlowsParamsOrderAsc,
		Filter: valueOr(p.Filter, ""), Offset: valueOr(p.Offset, 0), Limit: valueOr(p.Limit, defaultFlows),
	})
	if err != nil {
		return api.FlowList{}, served(err)
	}
	out := api.FlowList{Flows: make([]api.Flow, 0, len(page.Flows)), Total: int64(page.Total)}
	for i := range page.Flows {
		out.Flows = append(out.Flows, flowOf(&page.Flows[i]))
	}
	return out, nil
}

// Flow implements server.Flows.
func (f *flows) Flow(ctx context.Context, capture uuid.UUID, id uint64) (api.Flow, error) {
	found, err := f.store.Flow(ctx, capture, flow.ID(id))
	if err != nil {
		return api.Flow{}, served(err)
	}
	return flowOf(&found), nil
}

// Throughput implements server.Flows.
func (f *flows) Throughput(ctx context.Context, capture uuid.UUID, p api.GetThroughputParams) (api.Throughput, error) {
	id, err := flowID(p.FlowId)
	if err != nil {
		return api.Throughput{}, err
	}
	series, err := f.store.Throughput(ctx, capture, store.ThroughputQuery{
		Flow: id, Buckets: valueOr(p.Buckets, defaultBuckets), From: p.From, To: p.To,
	})
	if err != nil {
		return api.Throughput{}, served(err)
	}
	out := api.Throughput{
		BucketNs: strconv.FormatInt(series.Width, 10), StartNs: make([]string, len(series.Bytes)),
		Bytes: signedAll(series.Bytes), Packets: signedAll(series.Packets), Retransmitted: signedAll(series.Retransmitted),
		Ce: signedAll(series.CE), Cnps: signedAll(series.CNPs),
	}
	for i := range out.StartNs {
		out.StartNs[i] = strconv.FormatInt(series.Start+int64(i)*series.Width, 10)
	}
	return out, nil
}

func signedAll(in []uint64) []int64 {
	out := make([]int64, len(in))
	for i, n := range in {
		out[i] = int64(n)
	}
	return out
}

func countOf[T int | int64](c flow.Count) *T {
	if !c.Known {
		return nil
	}
	n := T(c.N)
	return &n
}

func idOf(id flow.ID) string { return strconv.FormatUint(uint64(id), 10) }

func macText(mac [6]byte) string {
	if mac == [6]byte{} {
		return ""
	}
	return net.HardwareAddr(mac[:]).String()
}

var pairings = map[flow.Pairing]api.FlowPairing{
	flow.PairingNone: api.None, flow.PairingInferred: api.Inferred, flow.PairingDatagram: api.Datagram, flow.PairingCM: api.Cm,
	flow.PairingAddresses: api.Addresses,
}

func flowOf(f *store.Flow) api.Flow {
	o := &f.Operations
	out := api.Flow{
		Id: idOf(f.ID), ConnectionId: idOf(f.ConnectionID),
		Source: f.Key.Source.String(), Destination: f.Key.Destination.String(),
		SourceQp: countOf[int](f.SourceQP), DestinationQp: int(f.Key.DestinationQP), Pairing: pairings[f.Pairing],
		Service: flow.ServiceName(f.Key.Service), Protocol: f.Key.Protocol.String(),
		SourceMac: macText(f.SourceMAC), DestinationMac: macText(f.DestinationMAC),
		Vlan: countOf[int](f.VLAN), Dscp: countOf[int](f.DSCP),
		SourcePort: countOf[int](f.SourcePort), SourcePorts: countOf[int](f.SourcePorts), PortRewrittenFrom: countOf[int](f.PortRewritten),
		FirstNumber: int64(f.FirstNumber), LastNumber: int64(f.LastNumber),
		Packets: int64(f.Packets), Bytes: int64(f.Bytes), PayloadBytes: int64(f.PayloadBytes),
		GoodputBytes: countOf[int64](f.GoodputBytes), ThroughputBps: f.ThroughputBPS, Messages: countOf[int64](f.Messages),
		Operations: api.Operations{
			Send: int64(o.Send), Write: int64(o.Write), ReadRequest: int64(o.ReadRequest), Atomic: int64(o.Atomic),
			ReadResponse: int64(o.ReadResponse), AtomicResponse: int64(o.AtomicResponse), Ack: int64(o.Ack),
			Datagram: int64(o.Datagram), Other: int64(o.Other),
		},
		PathMtu: countOf[int](f.PathMTU), FirstPsn: countOf[int](f.FirstPSN), LastPsn: countOf[int](f.LastPSN),
		PsnGaps: countOf[int64](f.PSNGaps), MissingPsns: countOf[int64](f.MissingPSNs),
		MissingAcknowledged: countOf[int64](f.MissingAcknowledged), Retransmitted: countOf[int64](f.Retransmitted),
		RetransmittedAfterNak: countOf[int64](f.RetransmittedNAK), RetransmittedAfterRnr: countOf[int64](f.RetransmittedRNR),
		RetransmittedAfterTimeout: countOf[int64](f.RetransmittedTimeout), OutOfOrder: countOf[int64](f.OutOfOrder),
		Duplicates: countOf[int64](f.Duplicates), MirrorCopies: int64(f.MirrorCopies),
		Acks: int64(f.Acks), NaksByCode: map[string]int64{}, RnrNaks: int64(f.RNRNaks), Cnps: int64(f.CNPs),
		CeMarked: countOf[int64](f.CEMarked), EctMarked: countOf[int64](f.ECTMarked),
		IcrcGood: int64(f.ICRCGood), IcrcBad: int64(f.ICRCBad), IcrcUndetermined: int64(f.ICRCUndetermined),
		Truncated: int64(f.Truncated), Malformed: int64(f.Malformed),
	}
	for code, n := range f.Naks {
		if n > 0 {
			out.Naks += int64(n)
			name := infiniband.NAKCode(code).String()
			if f.Key.Service == flow.ServiceMetaRoCE {
				name = mr0.NAKReason(code).String()
			}
			out.NaksByCode[name] += int64(n)
		}
	}
	if f.RNRNaks > 0 {
		out.RnrTimerMaxNs = &f.RNRTimerMax
	}
	if f.ReverseID != 0 {
		reverse := idOf(f.ReverseID)
		out.ReverseFlowId = &reverse
	}
	if f.ServiceID.Known {
		id := fmt.Sprintf("0x%016x", f.ServiceID.N)
		out.ServiceId = &id
	}
	out.Metaroce = metaRoCEOf(f.MetaRoCE)
	out.Application = pointerTo(f.Application.String())
	if f.Tunnel != dissector.LayerNone {
		tunnel, from, to := f.Tunnel.String(), f.OuterSource.String(), f.OuterDestination.String()
		out.Tunnel = &tunnel
		if f.OuterSource != (dissector.Address{}) {
			out.OuterSource, out.OuterDestination = &from, &to
		}
	}
	if f.HasTime {
		first, last := time.Unix(0, f.FirstTime).UTC(), time.Unix(0, f.LastTime).UTC()
		duration := strconv.FormatInt(f.LastTime-f.FirstTime, 10)
		out.FirstTime, out.LastTime, out.DurationNs = &first, &last, &duration
	}
	return out
}
