package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store"
)

// fullCapture has a value of its own in every field.
func fullCapture() *store.Capture {
	c := newCapture("all-reduce [1].pcapng.gz")
	c.Status, c.Message = store.StatusPartial, "cut at byte 17; the 3 packets before it were kept"
	c.Format, c.Compression, c.LinkTypes = "pcapng", "gzip", []uint16{1, 113}
	c.Interfaces, c.AccessIndex = `[{"name":"eth0"}]`, `{"points":[1,2]}`
	c.AnalyzedAt = new(time.Unix(0, start+1).UTC())
	c.FirstPacket = new(time.Unix(0, start+2).UTC())
	c.LastPacket = new(time.Unix(0, start+3).UTC())
	c.Notes, c.Software = []string{"block of type 5 at byte 9 passed over"}, "1.2.3"
	c.Totals = &store.Totals{MissingAcknowledged: 1<<62 + 1, ICRCRewritten: 1<<62 + 2}
	totals := reflect.ValueOf(&c.Totals.Totals).Elem()
	for i := range totals.NumField() {
		totals.Field(i).SetUint(1<<63 + uint64(i))
	}
	return c
}

func TestCapturesComeBackAsTheyWere(t *testing.T) {
	s := open(t, "rocelens_captures")
	full, bare := fullCapture(), newCapture("bare.pcap")
	bare.LinkTypes, bare.Notes = []uint16{}, []string{}
	for _, c := range []*store.Capture{full, bare} {
		if err := s.SaveCapture(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		got, err := s.Capture(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*c, got); diff != "" {
			t.Errorf("capture (-want +got):\n%s", diff)
		}
	}
}

func TestSaveReplaces(t *testing.T) {
	s := open(t, "rocelens_save")
	c := newCapture("a.pcap")
	for _, status := range []store.Status{store.StatusQueued, store.StatusAnalyzing, store.StatusDone} {
		c.Status = status
		if err := s.SaveCapture(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		got, err := s.Capture(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != status {
			t.Errorf("status = %s, want %s", got.Status, status)
		}
	}
	page, err := s.Captures(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Captures) != 1 {
		t.Errorf("captures = %d, want 1", len(page.Captures))
	}
	tables, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if table.Name == "captures" && table.Rows != 1 {
			t.Errorf("the schema has %d captures, want 1", table.Rows)
		}
	}
}

func TestListIsNewestFirstAndHasPages(t *testing.T) {
	s := open(t, "rocelens_list")
	var want []string
	for i := range 5 {
		c := newCapture(string(rune('a' + i)))
		c.UploadedAt = c.UploadedAt.Add(time.Duration(i/2) * time.Nanosecond) // some at the same moment
		if err := s.SaveCapture(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want = append(want, c.Name)
	}
	var got []string
	var stamps []time.Time
	for cursor, pages := "", 0; ; pages++ {
		page, err := s.Captures(t.Context(), cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Captures {
			got, stamps = append(got, c.Name), append(stamps, c.UploadedAt)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if pages > 3 {
			t.Fatal("the list does not end")
		}
	}
	for i := 1; i < len(stamps); i++ {
		if stamps[i].After(stamps[i-1]) {
			t.Errorf("capture %d is newer than the one before it", i)
		}
	}
	seen := map[string]bool{}
	for _, name := range got {
		seen[name] = true
	}
	if len(got) != len(want) || len(seen) != len(want) {
		t.Errorf("names = %v, want each of %v once", got, want)
	}
	if _, err := s.Captures(t.Context(), "nonsense", 2); !errors.Is(err, store.ErrBadRequest) {
		t.Errorf("a cursor of nonsense = %v, want ErrBadRequest", err)
	}
}

func TestCaptureByContent(t *testing.T) {
	s := open(t, "rocelens_content")
	c := newCapture("a.pcap")
	c.SHA256 = "ab" + c.SHA256[2:]
	if err := s.SaveCapture(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	got, err := s.CaptureBySHA256(t.Context(), "AB"+c.SHA256[2:])
	if err != nil || got.ID != c.ID {
		t.Errorf("CaptureBySHA256 = %s, %v, want %s", got.ID, err, c.ID)
	}
	if _, err := s.CaptureBySHA256(t.Context(), "00"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CaptureBySHA256 of another = %v, want ErrNotFound", err)
	}
	if _, err := s.Capture(t.Context(), uuid.New()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Capture of another = %v, want ErrNotFound", err)
	}
}

func TestReopenKeepsDataAndListsTheInterrupted(t *testing.T) {
	config := config(t, "rocelens_reopen")
	first, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	done, broken := newCapture("done.pcap"), newCapture("broken.pcap")
	done.Status, broken.Status = store.StatusDone, store.StatusAnalyzing
	for _, c := range []*store.Capture{done, broken} {
		if err := first.SaveCapture(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := analyze(t.Context(), first, done.ID, 5000, 2); err != nil {
		t.Fatal(err)
	}
	a, err := first.BeginAnalysis(t.Context(), broken.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := feed(t.Context(), a, 50_000, 2); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // as after a crash: neither committed nor aborted
		t.Fatal(err)
	}
	second := open(t, "rocelens_reopen")
	wantStored(t, second, done.ID, 5000, 2)
	wantStored(t, second, broken.ID, 0, 0)
	wantStaged(t, "rocelens_reopen", 0)
	interrupted, err := second.Interrupted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(interrupted) != 1 || interrupted[0].ID != broken.ID {
		t.Errorf("interrupted = %v, want only %s", interrupted, broken.ID)
	}
}
