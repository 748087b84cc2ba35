package watch

import (
	"maps"

	"github.com/rocelens/rocelens/flow"
)

// Reasons for which a packet does not get on, by stage.
const (
	DropRing        = "source: ring full"
	DropNotRDMA     = "decode: not RDMA"
	DropMalformed   = "decode: malformed"
	DropTruncated   = "decode: truncated"
	DropUnsupported = "decode: unsupported"
	DropFragment    = "decode: fragment"    // of IP, behind the first one, which has the headers
	DropDoubtful    = "decode: doubtful"    // on a port of RDMA, and strange: only a right ICRC could tell
	DropSegmented   = "decode: segmented"   // several in one, which the NIC is to take apart
	DropPause       = "decode: pause frame" // counted of its own, but belongs to no flow
	DropNoFlow      = "track: no flow"      // damaged, and of no flow that is known
	DropShed        = "track: shed"         // of connections that are not followed, to keep the budget
	DropTableFull   = "track: table full"   // of connections that the kernel had no room for
	DropSpoolFull   = "spool: full"
	DropSpoolFailed = "spool: disk"
)

// Account is the ledger of an interface: packets that came in and went on at each stage, and why the others did not.
// At each stage, in = out + drops, but for those that the ring holds.
type Account struct {
	SourceIn   uint64 // reached the capture
	SourceHeld uint64 // of these: lie in its ring
	SourceOut  uint64 // were handed on
	DecodeOut  uint64 // RDMA
	TrackOut   uint64 // counted by records of flows
	Bytes      uint64 // on the wire, of SourceOut
	RDMABytes  uint64 // of DecodeOut
	FlowRows   uint64
	PathRows   uint64
	Drops      map[string]uint64
}

// since is what has been added to the account since it was another. What the ring holds is a level, not a sum.
func (a *Account) since(before *Account) Account {
	out := Account{
		SourceIn: a.SourceIn - before.SourceIn, SourceHeld: a.SourceHeld, SourceOut: a.SourceOut - before.SourceOut,
		DecodeOut: a.DecodeOut - before.DecodeOut, TrackOut: a.TrackOut - before.TrackOut,
		Bytes: a.Bytes - before.Bytes, RDMABytes: a.RDMABytes - before.RDMABytes,
		FlowRows: a.FlowRows - before.FlowRows, PathRows: a.PathRows - before.PathRows, Drops: map[string]uint64{},
	}
	for reason, n := range a.Drops {
		if d := n - before.Drops[reason]; d > 0 {
			out.Drops[reason] = d
		}
	}
	return out
}

func (a *Account) clone() Account {
	out := *a
	out.Drops = maps.Clone(a.Drops)
	return out
}

// observe brings the account up to the tracker's totals. Decode complains of what belongs to no flow, and of packets that
// do: those are no drop. The fragments, which are counted already, are among what is unsupported.
func (a *Account) observe(t *flow.Totals) {
	a.SourceOut, a.Bytes = t.Packets, t.Bytes
	a.DecodeOut, a.RDMABytes = t.RDMAPackets, t.RDMABytes
	rest := t.Packets - t.RDMAPackets
	for _, d := range []struct {
		reason string
		n      uint64
	}{
		{DropPause, t.PauseFrames},
		{DropNotRDMA, t.NotRDMA},
		{DropFragment, a.Drops[DropFragment]},
		{DropUnsupported, t.Unsupported - a.Drops[DropFragment]},
		{DropTruncated, t.Truncated},
		{DropMalformed, t.Malformed},
	} {
		n := min(d.n, rest)
		rest -= n
		a.Drops[d.reason] = n
	}
	a.Drops[DropMalformed] += rest
	a.Drops[DropNoFlow] = a.DecodeOut - min(a.TrackOut+a.Drops[DropShed], a.DecodeOut)
}
