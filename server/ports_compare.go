package server

import (
	"context"

	"github.com/rocelens/rocelens/server/api"
)

// Merger joins captures of the same traffic.
type Merger interface {
	// Merge reads the files of two captures, each several times. It calls progress now and then, from any goroutine.
	// Captures that have nothing in common, or cannot be read, are an *UnreadableError.
	Merge(ctx context.Context, first, second MergeInput, progress func(MergeStep)) (*Merged, error)
}

// MergeInput is a capture to merge.
type MergeInput struct {
	Name    string
	Path    string
	Packets int64
}

// MergeStep is how far a merge has come.
type MergeStep struct {
	Phase        api.MergeProgressPhase
	Packets      int64 // read
	PacketsTotal int64 // to be read in all
}

// Merged is what two captures tell together.
type Merged struct {
	Result api.MergeResult
	Lists  MergeLists
}

// MergeLists are the long parts of it.
type MergeLists struct {
	Directions []api.MergeDirection // the two of a connection one after the other
	Packets    []api.MergePacket    // that one capture has alone
	Counted    int64                // all of those, with what Packets leaves out
	Verdicts   []MergeVerdict
	Findings   []api.MergeFinding // of both together, the gravest first
}

// MergeVerdict is what came of a rule for a connection, by each capture alone and by both together; nil: it did not apply,
// or was not judged.
type MergeVerdict struct {
	Connection              string
	Rule                    string
	First, Second, Together *api.MergeTally
}

// Decided tells whether a capture alone leaves the rule undetermined in places, and both together in none.
func (v *MergeVerdict) Decided() bool {
	if v.Together == nil || v.Together.Undetermined > 0 {
		return false
	}
	return v.First != nil && v.First.Undetermined > 0 || v.Second != nil && v.Second.Undetermined > 0
}

// Differ sets captures and connections side by side.
type Differ interface {
	Diff(ctx context.Context, a, b DiffInput) (api.Diff, error)
}

// DiffInput is one side.
type DiffInput struct {
	Capture api.Capture
	Flow    *api.Flow // nil: the whole capture, otherwise the connection of the flow
}
