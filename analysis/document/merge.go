package document

import (
	"strconv"

	"github.com/rocelens/rocelens/analysis/merging"
	"github.com/rocelens/rocelens/replay/merge"
)

// Merge is what two captures of the same traffic tell together. In pairs, the first capture comes first.
type Merge struct {
	Version    int              `json:"version"`
	Files      [2]string        `json:"files"`
	Clock      []ClockPiece     `json:"clock"` // more than one when a clock was set
	Packets    [2]uint64        `json:"packets"`
	Both       uint64           `json:"packets_at_both"`
	Missed     [2]uint64        `json:"missed_by"`
	Unjudged   uint64           `json:"unjudged_packets"`
	WindowNS   int64            `json:"window_ns"`
	Directions []MergeDirection `json:"directions"`
	Rules      [2][]RuleTally   `json:"rules"` // of each capture alone, those that applied
}

// ClockPiece relates the second capture's clock to the first's. OffsetDoubt and DriftDoubt are null when only a bound of
// the offset is known.
type ClockPiece struct {
	Time          *string  `json:"time"`
	OffsetNS      string   `json:"offset_ns"`
	OffsetDoubtNS *string  `json:"offset_doubt_ns"`
	DriftPPM      *float64 `json:"drift_ppm"`
	DriftDoubtPPM *float64 `json:"drift_doubt_ppm"`
	Packets       uint64   `json:"packets"`
	Contradicting uint64   `json:"contradicting_packets"`
}

// MergeDirection is what went one way between the points. What depends on their order is null when that is unknown.
type MergeDirection struct {
	FlowID      string        `json:"flow_id"`
	ReverseID   *string       `json:"reverse_flow_id"`
	Source      string        `json:"source"`
	Destination Endpoint      `json:"destination"`
	Path        *int16        `json:"path"`
	CNPs        bool          `json:"cnps"`
	Order       string        `json:"order"`
	Both        uint64        `json:"packets_at_both"`
	LostMin     *uint64       `json:"lost_between_min"`
	LostMax     *uint64       `json:"lost_between_max"`
	LostBefore  uint64        `json:"lost_before"`
	LostBehind  *uint64       `json:"lost_behind"`
	Missed      [2]uint64     `json:"missed_by"`
	Only        [2]uint64     `json:"undetermined_only_at"`
	Outside     [2]uint64     `json:"outside_only_at"`
	Reordered   uint64        `json:"reordered"`
	Marked      *uint64       `json:"ce_marked_between"`
	Damaged     *uint64       `json:"damaged_between"`
	Delay       *MergeDelay   `json:"delay_ns"`
	Examples    []MergeSingle `json:"examples"`
}

// MergeDelay is the time between the points, ns. All share the doubt of the clock's offset.
type MergeDelay struct {
	Packets uint64 `json:"packets"`
	Min     int64  `json:"min"`
	P50     int64  `json:"p50"`
	P99     int64  `json:"p99"`
	Max     int64  `json:"max"`
}

// MergeSingle is a packet that one capture has alone.
type MergeSingle struct {
	Capture int    `json:"capture"` // 0: the first
	Packet  uint64 `json:"packet"`
	PSN     uint32 `json:"psn"`
	Fate    string `json:"fate"`
}

// NewMerge has all but the files' names, which are the caller's to add.
func NewMerge(result *merging.Result) *Merge {
	c, r := result.Clocks, result.Merged
	out := &Merge{
		Version: Version, Clock: []ClockPiece{}, Packets: r.Packets, Both: r.Both, Missed: r.Missed, Unjudged: r.Left, WindowNS: r.Window,
		Directions: []MergeDirection{}, Rules: [2][]RuleTally{tallies(&result.Alone[0].Replay.Tallies, true), tallies(&result.Alone[1].Replay.Tallies, true)},
	}
	for i := range c.Pieces {
		p := &c.Pieces[i]
		x := ClockPiece{Time: Time(p.Time), OffsetNS: strconv.FormatInt(p.Offset, 10), Packets: p.Packets, Contradicting: p.Contradicting}
		if p.DoubtKnown {
			doubt, drift, driftDoubt := strconv.FormatInt(p.OffsetDoubt, 10), p.Drift*1e6, p.DriftDoubt*1e6
			x.OffsetDoubtNS, x.DriftPPM, x.DriftDoubtPPM = &doubt, &drift, &driftDoubt
		}
		out.Clock = append(out.Clock, x)
	}
	for i := range r.Directions {
		out.Directions = append(out.Directions, newMergeDirection(&r.Directions[i]))
	}
	return out
}

func newMergeDirection(d *merge.Direction) MergeDirection {
	qp := d.DestinationQP
	out := MergeDirection{
		FlowID: strconv.FormatUint(d.Flow, 10), Source: d.Source.String(), Destination: Endpoint{Address: d.Destination.String(), QP: &qp},
		CNPs: d.CNPs, Order: d.Order.String(), Both: d.Both, LostBefore: d.LostBefore, Reordered: d.Reordered, Examples: []MergeSingle{},
		Missed: [2]uint64{d.Only[1].Missed, d.Only[0].Missed},
	}
	if path := d.Path; path >= 0 {
		out.Path = &path
	}
	if d.Partner != 0 {
		id := strconv.FormatUint(d.Partner, 10)
		out.ReverseID = &id
	}
	for i := range d.Only {
		out.Only[i], out.Outside[i] = d.Only[i].Undetermined+d.Only[i].Ambiguous, d.Only[i].Outside
	}
	if d.Both > 0 && (d.Order == merge.FirstPoint || d.Order == merge.SecondPoint) {
		lost, behind, marked, damaged := d.Lost, d.LostBehind, d.Marked, d.Damaged
		out.LostMin, out.LostMax, out.LostBehind, out.Marked, out.Damaged = &lost[0], &lost[1], &behind, &marked, &damaged
	}
	if d.Delays.Packets > 0 && d.Order != merge.OrderUnknown {
		x := MergeDelay(d.Delays)
		out.Delay = &x
	}
	for _, e := range d.Examples {
		out.Examples = append(out.Examples, MergeSingle{Capture: e.Point, Packet: e.Number, PSN: e.Sequence, Fate: e.Fate.String()})
	}
	return out
}
