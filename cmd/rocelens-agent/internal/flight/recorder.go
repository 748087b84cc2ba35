package flight

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/analysis/excerpt"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
)

// maxEvents is how many events one record may tell of.
const maxEvents = 16

// underWay is how long a packet may take from its time stamp to the recorder, when few come.
const underWay = 200 * time.Millisecond

// Recorder keeps the latest packets of one watch. It implements watch.Tap; all but Demand is for the goroutine of the watch.
type Recorder struct {
	hub      *Hub
	name     string
	cut      int
	ring     *ring
	spares   chan *ring // rings that are written come back
	detector detector
	packet   packet
	lost     [64]loss // of the capture, the latest, by losses mod their number
	losses   int
	pending  *take
	last     time.Time // when the latest record was begun
	demand   atomic.Pointer[Event]
}

// loss is a time in which the capture lost packets, ns since the Unix epoch.
type loss struct {
	packets  uint64
	from, to int64
}

// take is a record that is being made.
type take struct {
	id       uuid.UUID
	iface    string
	events   []*Event
	from, to int64  // of its packets, ns since the Unix epoch
	limit    uint64 // of the ring, behind which what came before would be lost
	ring     *ring
	lost     uint64
	gaps     int // in which the capture lost packets
}

var _ watch.Tap = (*Recorder)(nil)

// NewRecorder is for one watch.
func (h *Hub) NewRecorder(name string) *Recorder {
	r := &Recorder{
		hub: h, name: name, cut: h.options.Cut, ring: newRing(h.options.Memory / 2), spares: make(chan *ring, 1),
	}
	r.spares <- newRing(h.options.Memory / 2)
	r.detector = detector{rules: h.options.Rules, name: name, found: r.found}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.recorders = append(h.recorders, r)
	return r
}

// Lost implements watch.Tap.
func (r *Recorder) Lost(packets uint64, from, to int64) {
	r.lost[r.losses%len(r.lost)] = loss{packets, from, to}
	r.losses++
}

// Packet implements watch.Tap. It allocates nothing, unless something is found.
func (r *Recorder) Packet(e *watch.Event) {
	if !flow.Tracks(e.Packet) {
		return
	}
	f := e.Frame
	r.packet = packet{
		Number: e.Packet.Meta.Number, Time: f.Time, OriginalLength: f.OriginalLength, LinkType: f.LinkType,
		Data: f.Data[:min(len(f.Data), r.cut)],
	}
	r.ring.put(&r.packet)
	r.detector.observe(e)
	if r.pending != nil && (f.Time > r.pending.to || r.ring.head >= r.pending.limit) {
		r.finish()
	}
	if r.demand.Load() != nil {
		r.demanded()
	}
}

// Tick implements watch.Tap.
func (r *Recorder) Tick(now time.Time) {
	r.demanded()
	r.detector.tick(now)
	if r.pending != nil && now.UnixNano() > r.pending.to+int64(underWay) {
		r.finish()
	}
}

// Found is told of divergences.
func (r *Recorder) Found(f *finding.Finding) {
	rules := &r.detector.rules
	if (!rules.Divergences || f.Rule.Describe().Severity < rules.Severity) && !rules.Findings[f.Rule] {
		return
	}
	at := time.Now()
	if f.HasTime {
		at = time.Unix(0, f.Time)
	}
	r.found(&Event{
		Kind: KindDivergence, Rule: f.Rule.String(), Interface: r.name, Connection: uint64(f.Connection), Time: at.UTC(),
		Sentence: f.Sentence, Packets: append([]uint64(nil), f.Packets()...),
	})
}

// demanded takes what a person wants.
func (r *Recorder) demanded() {
	if e := r.demand.Swap(nil); e != nil {
		r.found(e)
	}
}

// found begins a record, or adds to the one that is being made.
func (r *Recorder) found(e *Event) {
	now := time.Now()
	if e.ID == (uuid.UUID{}) {
		e.ID = uuid.New()
	}
	switch {
	case r.hub.known(e):
		return
	case r.pending != nil && len(r.pending.events) < maxEvents:
	case r.pending != nil:
		r.hub.refuse(e, fmt.Sprintf("the record that was being made tells of %d events already", maxEvents))
		return
	case now.Sub(r.last) < r.hub.options.Every && !r.last.IsZero():
		r.hub.refuse(e, fmt.Sprintf("the record before was begun less than %s ago", r.hub.options.Every))
		return
	case len(r.spares) == 0:
		r.hub.refuse(e, "the record before is still being written")
		return
	default:
		r.begin(e, now)
	}
	r.pending.events = append(r.pending.events, e)
	r.hub.accept(e)
}

// begin makes a record of what is there and what comes. The spare ring takes this one's place when it is done.
func (r *Recorder) begin(e *Event, now time.Time) {
	r.last = now
	r.pending = &take{
		id: e.ID, iface: r.name, ring: r.ring, limit: r.ring.head + uint64(len(r.ring.data)/2),
		from: e.Time.Add(-r.hub.options.Before).UnixNano(), to: max(now.UnixNano(), e.Time.UnixNano()) + int64(r.hub.options.After),
	}
}

// finish hands the record over to be written.
func (r *Recorder) finish() {
	t := r.pending
	r.pending = nil
	for i := max(0, r.losses-len(r.lost)); i < r.losses; i++ {
		if l := &r.lost[i%len(r.lost)]; l.from <= t.to && l.to >= t.from {
			t.lost += l.packets
			t.gaps++
		}
	}
	r.ring = <-r.spares
	r.hub.write(t, r.spares)
}

// end finishes what is being made when the watch has ended.
func (r *Recorder) end() {
	r.demanded()
	if r.pending != nil {
		r.finish()
	}
}

// comments are what a packet is to bear: which events it proves.
func (t *take) comments(number uint64) []string {
	var all []string
	for _, e := range t.events {
		claim := excerpt.Claim{Rule: e.claim(), Verdict: "diverges", Sentence: e.Sentence, Packets: e.Packets}
		if e.Kind != KindDivergence {
			claim.Verdict = "seen"
		}
		if said := claim.Comment(number, fmt.Sprintf("packet %d of the agent", number)); said != "" {
			all = append(all, said)
		}
	}
	return all
}
