package judge_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce/judge"
)

// What the reference endpoint sends over sockets, with a kernel between whose timers are late, is not accused either.
func TestKeptCapturesConform(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "metaroce", "*.pcap"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { judgeFile(t, name) })
	}
}

// judgeFile judges the connections of a file, one for each pair of addresses.
func judgeFile(t *testing.T, name string) {
	t.Helper()
	source, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	type pair [2]dissector.Address
	judges := map[pair]*judge.Connection{}
	var b capture.Batch
	var p dissector.Packet
	for {
		err := source.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			f := &b.Frames[i]
			meta := dissector.Meta{Time: f.Time, HasTime: f.HasTime, Number: f.Number, OriginalLength: f.OriginalLength, LinkType: dissector.LinkType(f.LinkType)}
			err := dissector.Decode(f.Data, meta, &p)
			key, lane := pair{p.Network.Source, p.Network.Destination}, 0
			if string(key[0][:]) > string(key[1][:]) {
				key, lane = pair{key[1], key[0]}, 1
			}
			if judges[key] == nil {
				judges[key] = judge.New(finding.ConnectionID(len(judges)+1), mr0.DefaultParameters(), func(f *finding.Finding) {
					if f.Verdict == finding.Diverges {
						t.Errorf("%s: %s %v", f.Rule, f.Sentence, f.Packets())
					}
				})
			}
			judges[key].Observe(lane, &finding.Sighting{Packet: &p, Err: err, ICRC: dissector.VerifyICRC(&p)})
		}
	}
	for _, j := range judges {
		var report finding.Connection
		j.Close(&report)
		t.Logf("%d and %d packets, %s, to receiver %+v, %+v", report.Directions[0].Packets, report.Directions[1].Packets, report.Vantage, report.Directions[0].ToReceiver, report.Properties)
	}
}
