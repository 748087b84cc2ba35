package service

import (
	"context"

	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/store"
)

// replaySink hands what replay finds to the store. Its first error stands until the analysis ends.
type replaySink struct {
	ctx  context.Context //nolint:containedctx // replay knows no context; this one lives as long as it
	into *store.Analysis
	err  error
}

var _ replay.Sink = (*replaySink)(nil)

// Finding implements replay.Sink.
func (s *replaySink) Finding(f *finding.Finding) {
	if s.err == nil {
		s.err = s.into.Divergence(s.ctx, f)
	}
}

// Connection implements replay.Sink.
func (s *replaySink) Connection(c *finding.Connection) {
	if s.err == nil {
		s.err = s.into.Replay(s.ctx, c)
	}
}

// Attempt implements replay.Sink. Attempts to connect are told by the packets of the connection manager.
func (s *replaySink) Attempt(*finding.Attempt) {}
