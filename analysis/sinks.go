package analysis

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// PacketEvent is one packet with everything that is known of it. It and what it points to are valid during
// the call only.
type PacketEvent struct {
	Packet      *dissector.Packet // Meta.Number and Meta.Interface count over all files of the run
	Err         error             // Decode's answer
	ICRC        dissector.ICRCState
	Observation flow.Observation
	File        int    // index of the file in the run, from 0
	FileNumber  uint64 // of the packet within its file, from 1
	Offset      int64  // of the record or block in the (decompressed) file, -1 for live sources
}

// PacketSink takes the packets of a run, in the order of the capture, from one goroutine at a time. An error ends the run.
type PacketSink interface {
	Packet(e *PacketEvent) error
}

// FlowSink takes the flow records of a run: at its end, or when the tracker has to make room. The record is
// valid during the call only. An error ends the run.
type FlowSink interface {
	Flow(r *flow.Record) error
}

// RevisionSink takes the verdicts on earlier packets that were reached after the last packet was handed out;
// all others come with the Observation of a later packet.
type RevisionSink interface {
	Revision(r flow.Revision) error
}
