package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/analysis/merging"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/merge"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
)

// namedPackets is how many packets of a direction are kept that one capture has alone.
const namedPackets = 4096

// merger implements server.Merger.
type merger struct{}

// Merge implements server.Merger.
func (merger) Merge(ctx context.Context, first, second server.MergeInput, progress func(server.MergeStep)) (*server.Merged, error) {
	var inputs [2]merging.Input
	var alone [2]verdicts
	names := [2]string{first.Name, second.Name}
	for i, in := range []server.MergeInput{first, second} {
		inputs[i] = merging.Input{Name: in.Name, Replay: &alone[i], Open: func() (merging.Source, error) {
			source, err := pcapfile.Open(in.Path, pcapfile.Options{})
			if err != nil {
				return nil, readable(err)
			}
			return source, nil
		}}
	}
	run := merging.New(inputs[0], inputs[1])
	run.Config = merge.Config{MaxExamples: namedPackets}
	stop := every(progressInterval, func() {
		progress(mergeStep(run, first.Packets+second.Packets))
	})
	result, err := run.Do(ctx)
	stop()
	if errors.Is(err, merge.ErrNothingInCommon) {
		return nil, &server.UnreadableError{Reason: fmt.Sprintf("%s and %s have %v", names[0], names[1], merge.ErrNothingInCommon)}
	}
	if err != nil {
		return nil, err
	}
	out, err := merged(result)
	if err == nil {
		out.Lists.Verdicts = together(&alone)
	}
	return out, err
}

// keptVerdicts bounds what is kept of each capture: one for each rule that applied to a connection.
const keptVerdicts = 200_000

// verdict is a rule of a connection.
type verdict struct {
	connection finding.ConnectionID
	rule       finding.Rule
}

// verdicts are what replay says of the connections of one capture.
type verdicts map[verdict]api.MergeTally

// Finding takes nothing of it.
func (v *verdicts) Finding(*finding.Finding) {}

// Attempt takes nothing of it.
func (v *verdicts) Attempt(*finding.Attempt) {}

// Connection keeps what came of each rule.
func (v *verdicts) Connection(c *finding.Connection) {
	if *v == nil {
		*v = verdicts{}
	}
	for i := range c.Tallies {
		if t := &c.Tallies[i]; *t != (finding.Tally{}) && len(*v) < keptVerdicts {
			key := verdict{c.ID, finding.Rule(i)}
			sum := (*v)[key]
			sum.Diverges += int64(t.Diverges)
			sum.Undetermined += int64(t.Undetermined)
			sum.Conforms += int64(t.Conforms)
			(*v)[key] = sum
		}
	}
}

// together has what both say of a rule of a connection in one row.
func together(alone *[2]verdicts) (rows []server.MergeVerdict) {
	row := func(key verdict) server.MergeVerdict {
		out := server.MergeVerdict{Connection: strconv.FormatUint(uint64(key.connection), 10), Rule: key.rule.String()}
		for i, to := range []**api.MergeTally{&out.First, &out.Second} {
			if t, ok := alone[i][key]; ok {
				*to = &t
			}
		}
		return out
	}
	for key := range alone[0] {
		rows = append(rows, row(key))
	}
	for key := range alone[1] {
		if _, both := alone[0][key]; !both {
			rows = append(rows, row(key))
		}
	}
	return rows
}

func mergeStep(run *merging.Run, packets int64) server.MergeStep {
	phases := map[merging.Phase]api.MergeProgressPhase{
		merging.Aligning: api.MergeProgressPhaseAligning, merging.Pairing: api.MergeProgressPhasePairing, merging.Judging: api.MergeProgressPhaseJudging,
	}
	return server.MergeStep{Phase: phases[run.Phase()], Packets: int64(run.Packets()), PacketsTotal: int64(run.Readings()) * packets}
}

// merged puts a result into the API's form, whose names are those of the command line's document.
func merged(r *merging.Result) (*server.Merged, error) {
	d := document.NewMerge(r)
	out := &server.Merged{}
	head := *d
	head.Directions = nil // of which the result has the number
	if err := carry(&head, &out.Result); err != nil {
		return nil, err
	}
	out.Result.Directions = int64(len(d.Directions))
	out.Result.Together.Reason = pointerTo("This version judges each capture alone.")
	for i := range d.Directions {
		from := &d.Directions[i]
		var to api.MergeDirection
		if err := carry(from, &to); err != nil {
			return nil, err
		}
		out.Lists.Directions = append(out.Lists.Directions, to)
		if from.Both > 0 {
			out.Result.DirectionsAtBoth++
		}
		for _, x := range from.Examples {
			out.Lists.Packets = append(out.Lists.Packets, api.MergePacket{
				FlowId: to.FlowId, Path: to.Path, Cnps: to.Cnps, Capture: x.Capture, Packet: int64(x.Packet), Psn: int64(x.PSN), Fate: api.MergeFate(x.Fate),
			})
		}
	}
	for i := range r.Merged.Directions {
		only := &r.Merged.Directions[i].Only
		out.Lists.Counted += int64(only[0].Sum() + only[1].Sum())
	}
	return out, nil
}

// carry copies what two forms of a document have in common.
func carry(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
