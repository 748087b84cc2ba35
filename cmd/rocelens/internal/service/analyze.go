package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

const progressInterval = 200 * time.Millisecond

// analyzer implements server.Analyzer.
type analyzer struct {
	config analysis.Config
	store  *store.Store
}

// sink hands what an analysis finds to the store.
type sink struct {
	ctx  context.Context //nolint:containedctx // the analysis knows no context; this one lives as long as it
	into *store.Analysis
}

var (
	_ analysis.PacketSink   = (*sink)(nil)
	_ analysis.FlowSink     = (*sink)(nil)
	_ analysis.RevisionSink = (*sink)(nil)
)

// Packet implements analysis.PacketSink.
func (s *sink) Packet(e *analysis.PacketEvent) error {
	return s.into.Packet(s.ctx, e.Packet, e.Err, e.ICRC, e.Observation, e.Offset)
}

// Flow implements analysis.FlowSink.
func (s *sink) Flow(r *flow.Record) error { return s.into.Flow(s.ctx, r) }

// Revision implements analysis.RevisionSink.
func (s *sink) Revision(r flow.Revision) error {
	s.into.Revise(r)
	return nil
}

// Analyze reads a capture file and stores its flows and packets.
func (a *analyzer) Analyze(ctx context.Context, id uuid.UUID, path string, progress func(server.Step)) (server.Findings, error) {
	source, err := pcapfile.Open(path, pcapfile.Options{})
	if err != nil {
		return server.Findings{}, readable(err)
	}
	found, err := a.run(ctx, id, source, progress)
	if err == nil {
		var index []byte
		index, err = json.Marshal(source.Index())
		found.AccessIndex = string(index)
	}
	return found, errors.Join(err, source.Close())
}

func (a *analyzer) run(ctx context.Context, id uuid.UUID, source *pcapfile.Source, progress func(server.Step)) (found server.Findings, err error) {
	into, err := a.store.BeginAnalysis(ctx, id)
	if err != nil {
		return found, err
	}
	defer func() {
		if err != nil {
			give, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			err = errors.Join(err, into.Abort(give))
		}
	}()
	judged := &replaySink{ctx: ctx, into: into}
	config := a.config
	config.Replay = judged
	run := analysis.New(config, &sink{ctx: ctx, into: into})
	stop := report(run, progress)
	err = run.Add(ctx, "", source)
	stop()
	if err != nil {
		return found, err
	}
	last := run.Progress()
	progress(server.Step{Phase: api.ProgressPhaseStoring, Packets: int64(last.Packets), Bytes: last.BytesRead, BytesTotal: last.BytesTotal})
	result, err := run.Finish()
	if err == nil {
		err = judged.err
	}
	if err == nil {
		err = into.Commit(ctx)
	}
	if err != nil {
		return found, fmt.Errorf("store the results: %w", err)
	}
	return findings(&result), nil
}

// report tells the progress of a run until it is stopped.
func report(run *analysis.Analyzer, progress func(server.Step)) (stop func()) {
	return every(progressInterval, func() {
		p := run.Progress()
		progress(server.Step{Phase: api.ProgressPhaseAnalyzing, Packets: int64(p.Packets), Bytes: p.BytesRead, BytesTotal: p.BytesTotal})
	})
}

// every calls a function now and in intervals until it is stopped.
func every(interval time.Duration, tell func()) (stop func()) {
	done := make(chan struct{})
	var reporting sync.WaitGroup
	tell()
	reporting.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				tell()
			}
		}
	})
	return func() {
		close(done)
		reporting.Wait()
	}
}

func findings(r *analysis.Result) server.Findings {
	out := server.Findings{Totals: totals(&store.Totals{
		Totals: r.Totals, MissingAcknowledged: r.Explained.MissingAcknowledged, ICRCRewritten: r.Explained.ICRCRewritten,
	}), Pause: foundPause(&r.Pause)}
	if r.HasTime {
		first, last := time.Unix(0, r.FirstTime).UTC(), time.Unix(0, r.LastTime).UTC()
		out.First, out.Last = &first, &last
	}
	for i := range r.Files {
		f := &r.Files[i]
		out.Format = f.Report.Format
		out.Notes = append(out.Notes, f.Report.Skipped...)
		for _, comment := range f.Report.Comments {
			out.Notes = append(out.Notes, "comment on "+comment)
		}
		if f.Report.Partial {
			out.Fault = f.Report.Fault
		}
		for n := range f.Interfaces {
			at := &f.Interfaces[n]
			if !slices.Contains(out.LinkTypes, at.LinkType) {
				out.LinkTypes = append(out.LinkTypes, at.LinkType)
			}
			described := api.CaptureInterface{
				Index: n, Name: at.Name, LinkType: linkTypeName(at.LinkType),
				Received: signed(at.Received), Dropped: signed(at.Dropped),
			}
			if at.Description != "" {
				described.Description = &at.Description
			}
			snap := int(at.SnapLength)
			described.SnapLength = &snap
			out.Interfaces = append(out.Interfaces, described)
		}
	}
	for _, b := range r.Beside {
		out.Other = append(out.Other, server.Traffic{Name: b.Name, Packets: b.Packets})
	}
	return out
}

func signed(n *uint64) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

func totals(t *store.Totals) api.Totals {
	return api.Totals{
		Packets: int64(t.Packets), RdmaPackets: int64(t.RDMAPackets), Bytes: int64(t.Bytes), RdmaBytes: int64(t.RDMABytes),
		Messages: int64(t.Messages), RetransmittedPackets: int64(t.Retransmitted), OutOfOrderPackets: int64(t.OutOfOrder),
		MirrorCopyPackets: int64(t.MirrorCopies), MissingPsns: int64(t.MissingPSNs), MissingPsnsAcknowledged: int64(t.MissingAcknowledged), NakPackets: int64(t.Naks),
		RnrNakPackets: int64(t.RNRNaks), CnpPackets: int64(t.CNPs), CePackets: int64(t.CEMarked), IcrcErrors: int64(t.ICRCErrors),
		IcrcErrorsPortRewritten: int64(t.ICRCRewritten),
		IcrcUndetermined:        int64(t.ICRCUndetermined), MalformedPackets: int64(t.Malformed), TruncatedPackets: int64(t.Truncated),
		UnsupportedPackets: int64(t.Unsupported), NotRdmaPackets: int64(t.NotRDMA), PauseFrames: int64(t.PauseFrames),
		Flows: int64(t.Flows), Connections: int64(t.Connections), EvictedFlows: int64(t.EvictedFlows),
	}
}
