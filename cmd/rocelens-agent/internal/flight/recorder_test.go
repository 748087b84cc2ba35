package flight

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/injector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// stand is a recorder with its hub, and what it told.
type stand struct {
	*Hub

	r       *Recorder
	tracker *flow.Tracker
	number  uint64
	now     int64 // of the next packet

	mutex sync.Mutex
	rows  []Row
}

func newStand(t *testing.T, change func(o *Options)) *stand {
	t.Helper()
	s := &stand{tracker: flow.NewTracker(flow.Config{}, func(*flow.Record) {}), now: time.Now().Add(-time.Hour).UnixNano()}
	rules, err := ParseRules([]string{"naks=3"})
	require.NoError(t, err)
	o := Options{
		Directory: t.TempDir(), MaxBytes: 1 << 30, Memory: 16 << 20, Cut: 192, Before: time.Hour, After: time.Hour, Window: time.Hour,
		Rules: rules, Host: "node7", Logger: slog.New(slog.DiscardHandler),
		Row: func(r *Row) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.rows = append(s.rows, *r)
		},
	}
	if change != nil {
		change(&o)
	}
	s.Hub, err = Open(o)
	require.NoError(t, err)
	s.Run(context.Background())
	s.r = s.NewRecorder("eth7")
	return s
}

// pass hands frames to the recorder as a watch does, 10 µs apart.
func (s *stand) pass(frames [][]byte) {
	var p dissector.Packet
	for _, data := range frames {
		s.number++
		s.now += 10_000
		f := capture.Frame{Data: data, Number: s.number, Time: s.now, HasTime: true, OriginalLength: uint32(len(data)), LinkType: 1}
		err := dissector.Decode(data, dissector.Meta{Time: f.Time, Number: f.Number, OriginalLength: f.OriginalLength, LinkType: dissector.LinkTypeEthernet, HasTime: true}, &p)
		o := s.tracker.Observe(&p, err, dissector.ICRCNotChecked)
		s.r.Packet(&watch.Event{Frame: &f, Packet: &p, Err: err, Observation: o, Tracker: s.tracker})
	}
}

// fates are those of the rows, in order, with what they are about.
func (s *stand) fates(kind Kind) (fates []Fate) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i := range s.rows {
		if s.rows[i].Kind == kind {
			fates = append(fates, s.rows[i].Fate)
		}
	}
	return fates
}

// records are the files, by name.
func (s *stand) records(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.options.Directory, "*"+suffixRecord))
	require.NoError(t, err)
	return files
}

// deviating are the frames of a connection that breaks a rule.
func deviating(t *testing.T, rule finding.Rule, seed uint64) [][]byte {
	t.Helper()
	for _, d := range injector.Deviations() {
		if d.Rule == rule {
			frames, err := d.Frames(scenario.Middle, seed)
			require.NoError(t, err)
			return frames
		}
	}
	t.Fatal("there is no such deviation")
	return nil
}

// A burst of NAKs is recorded once, with what came before and behind, and the packets that show it say so.
func TestABurstIsRecordedOnce(t *testing.T) {
	s := newStand(t, nil)
	frames := deviating(t, finding.RoCENAKRepeated, 4)
	s.r.Lost(7, s.now, s.now+1000)
	s.pass(frames)
	s.pass(frames)
	s.Close()
	assert.Equal(t, []Fate{FateRecording, FateRecorded}, s.fates(KindNAKs))
	files := s.records(t)
	require.Len(t, files, 1)

	source, err := pcapfile.Open(files[0], pcapfile.Options{})
	require.NoError(t, err)
	defer source.Close()
	var batch capture.Batch
	packets, proofs, firstProof := 0, 0, 0
	for source.Next(&batch) == nil {
		for i := range batch.Frames {
			f := &batch.Frames[i]
			require.LessOrEqual(t, len(f.Data), 192)
			require.Equal(t, len(frames[packets%len(frames)]), int(f.OriginalLength))
			packets++
			for _, said := range source.Comments(f.Number) {
				assert.Contains(t, said, "proves NAK burst")
				if proofs++; proofs == 1 {
					firstProof = packets
				}
			}
		}
	}
	assert.Equal(t, 2*len(frames), packets)
	assert.Equal(t, 3, proofs)
	assert.Greater(t, firstProof, 1)
	report := source.Report()
	assert.False(t, report.Partial)
	assert.Contains(t, report.Comments[0], "the file: Recorded by the agent on node7, interface eth7, at ")
	assert.Contains(t, report.Comments[0], "3 NAKs in ")
	assert.Contains(t, report.Comments[1], "The capture lost packets meanwhile, 7 of which it knows.")
	require.NotNil(t, source.Interfaces()[0].Dropped)
	assert.EqualValues(t, 7, *source.Interfaces()[0].Dropped)
	opensInTshark(t, files[0], packets)
}

// opensInTshark holds a file against tshark, where it is installed.
func opensInTshark(t *testing.T, path string, packets int) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Log("tshark is not installed: the file was read by our own reader only")
		return
	}
	var complaints strings.Builder
	command := exec.CommandContext(t.Context(), tshark, "-r", path, "-T", "fields", "-e", "frame.number")
	command.Stderr = &complaints
	out, err := command.Output()
	require.NoError(t, err, "%s", complaints.String())
	assert.Len(t, strings.Fields(string(out)), packets)
	for line := range strings.Lines(complaints.String()) {
		assert.Contains(t, line, "Running as user", "tshark complains") // of root, as it always does
	}
}

// A new process knows what the one before has recorded, and finds what it left.
func TestARestartRemembersEvents(t *testing.T) {
	directory := t.TempDir()
	frames := deviating(t, finding.RoCENAKRepeated, 4)
	first := newStand(t, func(o *Options) { o.Directory = directory })
	first.pass(frames)
	first.Close()
	require.Len(t, first.records(t), 1)
	require.NoError(t, os.WriteFile(filepath.Join(directory, ".new-1"), []byte("cut"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "gone.json"), []byte("{}"), 0o600))

	second := newStand(t, func(o *Options) { o.Directory = directory })
	assert.Equal(t, 1, second.State().Waiting)
	second.pass(frames)
	second.Close()
	assert.Empty(t, second.fates(KindNAKs))
	assert.Len(t, second.records(t), 1)
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	assert.Len(t, left, 3, "a record, what is known of it, and the keys: %v", left)
}

// An interface begins one record at a time, and not too often; what is refused is told of once.
func TestRecordsAreLimitedInTime(t *testing.T) {
	s := newStand(t, func(o *Options) { o.Every = time.Hour })
	s.pass(deviating(t, finding.RoCENAKRepeated, 4))
	s.r.end()
	other := deviating(t, finding.RoCENAKRepeated, 5)
	s.pass(other)
	s.pass(other)
	s.Close()
	all := s.fates(KindNAKs)
	assert.ElementsMatch(t, []Fate{FateRecording, FateRecorded, FateRefused}, all)
	assert.Len(t, s.records(t), 1)
	assert.EqualValues(t, 2, s.State().Events)
}

// People may ask for a record again, but not at once.
func TestPeopleAskForRecords(t *testing.T) {
	s := newStand(t, func(o *Options) { o.Every = time.Hour })
	s.pass(deviating(t, finding.RoCEPartitionKey, 4))
	events, err := s.Demand(KindRequest, "A request asked for a record.")
	require.NoError(t, err)
	assert.Len(t, events, 1)
	_, err = s.Demand(KindSignal, "A signal asked for a record.")
	require.ErrorIs(t, err, ErrSoon)
	s.r.Tick(time.Now())
	s.Close()
	assert.Equal(t, []Fate{FateRecording, FateRecorded}, s.fates(KindRequest))
	assert.Len(t, s.records(t), 1)
}

// Divergences are recorded by severity, or by name.
func TestDivergencesAreRecordedByRule(t *testing.T) {
	s := newStand(t, func(o *Options) {
		var err error
		o.Rules, err = ParseRules([]string{"divergence=error", "rule=roce.reserved-bits"})
		require.NoError(t, err)
	})
	s.pass(deviating(t, finding.RoCEPartitionKey, 4))
	for i, r := range []finding.Rule{finding.RoCEPartitionKey, finding.RoCEReservedBits, finding.RoCEICRC} {
		s.r.Found(&finding.Finding{Rule: r, Verdict: finding.Diverges, Connection: finding.ConnectionID(i + 1), HasTime: true, Time: s.now})
	}
	s.Close()
	var rules []string
	for _, r := range s.rows {
		if r.Fate == FateRecorded {
			rules = append(rules, r.Rule)
		}
	}
	assert.Equal(t, []string{"roce.reserved-bits", "roce.icrc"}, rules, "of %s, a warning, nobody asked", finding.RoCEPartitionKey)
	assert.Len(t, s.records(t), 1, "what happens meanwhile is in the same record")
}

// Records take no more room than they may: the oldest go, and are told of.
func TestRecordsAreBounded(t *testing.T) {
	s := newStand(t, func(o *Options) { o.MaxBytes, o.After = 150<<10, time.Nanosecond })
	frames := deviating(t, finding.RoCEPartitionKey, 4)
	for i := range 6 {
		s.pass(frames)
		s.r.found(&Event{Kind: KindDivergence, Rule: strconv.Itoa(i), Time: time.Unix(0, s.now), Interface: "eth7"})
		s.r.end()
		settle(t, s)
	}
	s.Close()
	sum := int64(0)
	for _, file := range s.records(t) {
		info, err := os.Stat(file)
		require.NoError(t, err)
		sum += info.Size()
	}
	assert.LessOrEqual(t, sum, int64(150<<10))
	assert.NotZero(t, s.State().Waiting)
	lost := 0
	for _, f := range s.fates(KindDivergence) {
		if f == FateLost {
			lost++
		}
	}
	assert.Equal(t, 6, lost+s.State().Waiting)
	assert.EqualValues(t, lost, s.State().Lost)
}

// settle waits until the writer has done what it was told.
func settle(t *testing.T, s *stand) {
	t.Helper()
	done := make(chan struct{})
	require.True(t, s.do(func() { close(done) }))
	<-done
}

// A packet that nothing is found in costs no memory.
func TestAPacketAllocatesNothing(t *testing.T) {
	s := newStand(t, nil)
	frame := deviating(t, finding.RoCEPartitionKey, 4)[0]
	var p dissector.Packet
	f := capture.Frame{Data: frame, Time: s.now, HasTime: true, OriginalLength: uint32(len(frame)), LinkType: 1}
	require.NoError(t, dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: f.Time}, &p))
	e := watch.Event{Frame: &f, Packet: &p, Tracker: s.tracker, Observation: s.tracker.Observe(&p, nil, dissector.ICRCNotChecked)}
	assert.Zero(t, testing.AllocsPerRun(5000, func() { s.r.Packet(&e) }))
	s.Close()
}

// A disk that is full loses no older record for nothing, and says so.
func TestAFullDiskIsTold(t *testing.T) {
	s := newStand(t, nil)
	s.pass(deviating(t, finding.RoCEPartitionKey, 4))
	require.NoError(t, os.RemoveAll(s.options.Directory)) // nothing can be written there any more
	s.r.found(&Event{Kind: KindPathFailure, Time: time.Unix(0, s.now), Interface: "eth7"})
	s.Close()
	assert.Equal(t, []Fate{FateRecording, FateLost}, s.fates(KindPathFailure))
	assert.EqualValues(t, 1, s.State().Lost)
}

func TestRulesAreStrict(t *testing.T) {
	for _, word := range []string{"", "nak=3", "naks=0", "naks=x", "ce=20", "ce=0%", "retransmitted=101%", "divergence=bad", "rule=roce.none", "none=1", "path-failure=2"} {
		_, err := ParseRules([]string{word})
		require.Error(t, err, word)
	}
	r, err := ParseRules(DefaultRules)
	require.NoError(t, err)
	assert.True(t, r.NeedReplay() && r.PathFailure)
	assert.InDelta(t, 0.05, r.Retransmitted, 1e-9)
	_, err = NewUploader("db:9000")
	require.Error(t, err)
}

func BenchmarkRecorder(b *testing.B) {
	o := Options{Directory: b.TempDir(), MaxBytes: 1 << 30, Memory: 64 << 20, Cut: 192, Logger: slog.New(slog.DiscardHandler)}
	h, err := Open(o)
	require.NoError(b, err)
	r := h.NewRecorder("eth7")
	var frames [][]byte
	for _, d := range injector.Deviations() {
		if d.Rule == finding.RoCEPartitionKey {
			frames, err = d.Frames(scenario.Middle, 4)
			require.NoError(b, err)
		}
	}
	tracker := flow.NewTracker(flow.Config{}, func(*flow.Record) {})
	var p dissector.Packet
	f := capture.Frame{Data: frames[10], Time: 1, HasTime: true, OriginalLength: uint32(len(frames[10])), LinkType: 1}
	require.NoError(b, dissector.Decode(f.Data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: 1}, &p))
	e := watch.Event{Frame: &f, Packet: &p, Tracker: tracker, Observation: tracker.Observe(&p, nil, dissector.ICRCNotChecked)}
	b.ReportAllocs()
	for b.Loop() {
		r.Packet(&e)
	}
}
