package service

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/blocks"
)

// paths implements server.Paths.
type paths struct{ store *store.Store }

// Defaults of the API's document.
const (
	defaultRows        = 200
	defaultPathBuckets = 200
)

// ListPaths implements server.Paths.
func (p *paths) ListPaths(ctx context.Context, capture uuid.UUID, params api.ListPathsParams) (api.PathList, error) {
	id, err := flowID(params.FlowId)
	if err != nil {
		return api.PathList{}, err
	}
	page, err := p.store.Paths(ctx, capture, store.ListQuery{
		Flow: id, BothDirections: valueOr(params.BothDirections, false), Sort: string(valueOr(params.Sort, "")),
		Descending: valueOr(params.Order, "") == api.ListPathsParamsOrderDesc, Filter: valueOr(params.Filter, ""),
		Offset: valueOr(params.Offset, 0), Limit: valueOr(params.Limit, defaultRows),
	})
	if err != nil {
		return api.PathList{}, served(err)
	}
	out := api.PathList{Paths: make([]api.Path, 0, len(page.Paths)), Total: int64(page.Total)}
	for i := range page.Paths {
		out.Paths = append(out.Paths, pathOf(&page.Paths[i]))
	}
	return out, nil
}

// ListStreams implements server.Paths.
func (p *paths) ListStreams(ctx context.Context, capture uuid.UUID, params api.ListStreamsParams) (api.StreamList, error) {
	id, err := flowID(params.FlowId)
	if err != nil {
		return api.StreamList{}, err
	}
	page, err := p.store.Streams(ctx, capture, store.ListQuery{
		Flow: id, BothDirections: valueOr(params.BothDirections, false), Sort: string(valueOr(params.Sort, "")),
		Descending: valueOr(params.Order, "") == api.ListStreamsParamsOrderDesc, Filter: valueOr(params.Filter, ""),
		Offset: valueOr(params.Offset, 0), Limit: valueOr(params.Limit, defaultRows),
	})
	if err != nil {
		return api.StreamList{}, served(err)
	}
	out := api.StreamList{Streams: make([]api.Stream, 0, len(page.Streams)), Total: int64(page.Total)}
	for i := range page.Streams {
		out.Streams = append(out.Streams, streamOf(&page.Streams[i]))
	}
	return out, nil
}

// PathSeries implements server.Paths.
func (p *paths) PathSeries(ctx context.Context, capture uuid.UUID, id uint64, path uint8, params api.GetPathSeriesParams) (api.PathSeries, error) {
	series, err := p.store.PathSeries(ctx, capture, flow.ID(id), path, valueOr(params.Buckets, defaultPathBuckets))
	if err != nil {
		return api.PathSeries{}, served(err)
	}
	out := api.PathSeries{
		BucketNs: strconv.FormatInt(series.Width, 10), StartNs: make([]string, len(series.Starts)),
		Packets: signedAll(series.Packets), Bytes: signedAll(series.Bytes), Retransmitted: signedAll(series.Retransmitted),
		Ce: signedAll(series.CE), Acks: signedAll(series.Acks),
		RateHintMbps: widenAll(series.RateHint), InFlight: widenAll(series.InFlight),
		RttMinNs: widenAll(series.RTTMin), RttMeanNs: widenAll(series.RTTMean), RttMaxNs: widenAll(series.RTTMax),
	}
	for i, start := range series.Starts {
		out.StartNs[i] = strconv.FormatInt(start, 10)
	}
	return out, nil
}

func widenAll(in []*uint64) []*int64 {
	out := make([]*int64, len(in))
	for i, n := range in {
		out[i] = wide(n)
	}
	return out
}

// wide is a number that may be unknown, as the API has it.
func wide[T uint8 | uint16 | uint32 | uint64](n *T) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

func narrow[T uint8 | uint16](n *T) *int {
	if n == nil {
		return nil
	}
	v := int(*n)
	return &v
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	v := t.UTC()
	return &v
}

func pathOf(p *store.Path) api.Path {
	out := api.Path{
		FlowId: idOf(flow.ID(p.Flow)), ConnectionId: idOf(flow.ID(p.Connection)),
		Source: p.Source.String(), Destination: p.Destination.String(), DestinationQp: int64(p.DestinationQP),
		PathId: int(p.ID), PlaneId: narrow(p.Plane), PlaneChanges: int64(p.PlaneChanges), State: api.PathState(blocks.PathState(p.State).String()),
		SourcePorts: make([]api.PortUse, 0, len(p.Ports)), RePaths: int64(p.RePaths),
		FirstTime: utc(p.FirstTime), LastTime: utc(p.LastTime), FirstNumber: int64(p.FirstNumber), LastNumber: int64(p.LastNumber),
		FirstPsn: wide(p.FirstPSN), LastPsn: wide(p.LastPSN),
		Packets: int64(p.Packets), Bytes: int64(p.Bytes), PayloadBytes: int64(p.PayloadBytes), ThroughputBps: p.ThroughputBPS,
		PsnGaps: int64(p.PSNGaps), MissingPsns: int64(p.MissingPSNs), MissingAcknowledged: wide(p.MissingAcknowledged),
		Retransmitted: int64(p.Retransmitted), RetransmittedSeen: int64(p.RetransmittedSeen), RetransmittedAfterGap: wide(p.RetransmittedGap),
		RetransmittedAfterRnr: wide(p.RetransmittedRNR), RetransmittedMoved: int64(p.RetransmittedMoved),
		OutOfOrder: int64(p.OutOfOrder), Duplicates: int64(p.Duplicates),
		Probes: int64(p.Probes), FirstProbeNumber: wide(p.FirstProbe), LastProbeNumber: wide(p.LastProbe), FirstProbeTime: utc(p.FirstProbeTime),
		CeMarked: int64(p.CEMarked), EctMarked: int64(p.ECTMarked), Naks: int64(p.Naks),
		Acks: wide(p.Acks), ReceivedPackets: wide(p.ReceivedPackets), ReceivedCe: wide(p.ReceivedCE),
		RateHint: api.RateHint{LastMbps: wide(p.HintLast), MinMbps: wide(p.HintMin), MaxMbps: wide(p.HintMax), Unlimited: int64(p.HintUnlimited)},
		Rtt: api.RTT{
			Samples: int64(p.RTTSamples), SmoothedNs: wide(p.RTTSmoothed), VariationNs: wide(p.RTTVariation),
			MinNs: wide(p.RTTMin), MaxNs: wide(p.RTTMax),
		},
		InFlightMax: wide(p.InFlightMax), InFlightMean: wide(p.InFlightMean),
	}
	for i, port := range p.Ports {
		out.SourcePorts = append(out.SourcePorts, api.PortUse{
			Port: int(port), Packets: int64(p.PortPackets[i]), FirstNumber: int64(p.PortFirstNumber[i]), FirstTime: utc(p.PortFirstTime[i]),
		})
	}
	return out
}

func streamOf(s *store.Stream) api.Stream {
	return api.Stream{
		FlowId: idOf(flow.ID(s.Flow)), ConnectionId: idOf(flow.ID(s.Connection)),
		Source: s.Source.String(), Destination: s.Destination.String(), DestinationQp: int64(s.DestinationQP),
		StreamId: int(s.ID), Messages: int64(s.Messages), Writes: int64(s.Writes), Sends: int64(s.Sends), Reads: int64(s.Reads),
		Atomics: int64(s.Atomics), Complete: wide(s.Complete), FirstMsn: wide(s.FirstMSN), LastMsn: wide(s.LastMSN),
		FirstTime: utc(s.FirstTime), LastTime: utc(s.LastTime), FirstNumber: int64(s.FirstNumber), LastNumber: int64(s.LastNumber),
		Packets: int64(s.Packets), PayloadBytes: int64(s.PayloadBytes), GoodputBytes: int64(s.GoodputBytes), ResponseBytes: int64(s.ResponseBytes),
		Retransmitted: int64(s.Retransmitted), Naks: int64(s.Naks),
		Latency: api.Latency{
			Samples: int64(s.LatencySamples), MinNs: wide(s.LatencyMin), MeanNs: wide(s.LatencyMean), P50Ns: wide(s.LatencyP50),
			P90Ns: wide(s.LatencyP90), P99Ns: wide(s.LatencyP99), MaxNs: wide(s.LatencyMax),
		},
	}
}
