package judging_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/judging"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/injector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
	"github.com/rocelens/rocelens/store/shipping"
)

// passing hands frames to a judge as a watch does, a microsecond apart from time 1 ms on.
func passing(t *testing.T, j *judging.Judge, frames [][]byte) {
	t.Helper()
	tracker := flow.NewTracker(flow.Config{}, j.Flow)
	var p dissector.Packet
	for i, data := range frames {
		f := capture.Frame{Data: data, Number: uint64(i + 1), Time: int64(1_000_000 + 1000*i), HasTime: true, OriginalLength: uint32(len(data)), LinkType: 1}
		err := dissector.Decode(data, dissector.Meta{Time: f.Time, Number: f.Number, OriginalLength: f.OriginalLength, LinkType: dissector.LinkTypeEthernet, HasTime: true}, &p)
		icrc := dissector.ICRCNotChecked
		if p.IsRDMA() {
			icrc = dissector.VerifyICRC(&p)
		}
		o := tracker.Observe(&p, err, icrc)
		j.Packet(&watch.Event{Frame: &f, Packet: &p, Err: err, ICRC: icrc, Observation: o, Tracker: tracker})
	}
	tracker.Flush()
}

func account(j *judging.Judge, decoded int) (shipping.AgentInterval, []shipping.AgentBatch) {
	i := shipping.AgentInterval{DecodeOut: uint64(decoded), Drops: map[string]uint64{}}
	return i, j.Rows(shipping.AgentSpan{Agent: uuid.UUID{1}}, &i)
}

func frames(t *testing.T) [][]byte {
	t.Helper()
	for _, d := range injector.Deviations() {
		if d.Rule == finding.RoCEPartitionKey {
			all, err := d.Frames(scenario.Middle, 4)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
	}
	t.Fatal("there is no such deviation")
	return nil
}

// What was captured while packets were lost is not judged, is counted, and what lies around it is judged apart.
func TestNothingIsJudgedBesideALoss(t *testing.T) {
	all := frames(t)
	var found []finding.Finding
	j := judging.New(judging.Options{Found: func(f *finding.Finding) { found = append(found, *f) }})
	j.Lost(1, 1_000_000+100_000, 1_000_000+199_999) // while packets 101 to 200 came
	passing(t, j, all)
	i, batches := account(j, len(all))
	if i.Drops[judging.DropGap] != 100 || i.Judged.N+i.Drops[judging.DropGap]+i.Drops[judging.DropOther] != uint64(len(all)) {
		t.Errorf("of %d packets %d were judged, the others: %v", len(all), i.Judged.N, i.Drops)
	}
	if len(found) == 0 || i.DivergenceRows == 0 || len(batches) != 1 || batches[0].Rows != uint32(i.DivergenceRows) {
		t.Errorf("%d divergences, %d rows in %d batches", len(found), i.DivergenceRows, len(batches))
	}
	for _, f := range found {
		before, behind := false, false
		for _, number := range f.Packets() {
			if number > 100 && number <= 200 {
				t.Errorf("packet %d proves something beside a loss", number)
			}
			before, behind = before || number <= 100, behind || number > 200
		}
		if before && behind {
			t.Errorf("packets %v prove something across a loss", f.Packets())
		}
	}
	if i, batches := account(j, 0); i.Divergences != 0 || len(batches) != 0 {
		t.Error("an interval tells what the one before told")
	}
}

// A capture that loses all the time judges nothing and accuses nobody.
func TestALossThatGoesOnAccusesNobody(t *testing.T) {
	all := frames(t)
	j := judging.New(judging.Options{Found: func(f *finding.Finding) { t.Errorf("%s was found", f.Rule) }})
	j.Lost(1, 0, 500_000)
	j.Lost(1, 400_000, 1<<62)
	passing(t, j, all)
	if i, _ := account(j, len(all)); i.Judged.N != 0 || i.Drops[judging.DropGap] != uint64(len(all)) {
		t.Errorf("%d packets were judged, %d not", i.Judged.N, i.Drops[judging.DropGap])
	}
}
