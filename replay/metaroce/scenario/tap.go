package scenario

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce/judge"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Places where a tap may be.
const (
	NearSender = iota
	Middle
	NearReceiver
	Places
)

// PlaceNames are phrases for people.
var PlaceNames = [Places]string{"near the sender", "in the Middle", "near the receiver"}

// Taste is what a capture misses.
type Taste struct {
	Drop   float64                                                // share of packets
	From   time.Duration                                          // begins then
	OneWay bool                                                   // never sees the way back
	Join   time.Duration                                          // the way back is told only from then on
	Burst  int                                                    // packets that it misses in a row when it misses one
	Outage [2]time.Duration                                       // sees nothing from the first to the second
	Clock  func(now time.Duration) (at time.Duration, known bool) // nil: as it should be
}

// Tap is a capture of one connection at one place.
type Tap struct {
	Taste
	judge    *judge.Connection
	random   *rand.Rand
	Findings []*finding.Finding
	joined   bool
	skip     int
	Report   finding.Connection // when the world was closed
	Missed   map[uint64]bool    // numbers of the packets that it has not
}

// Ethernet wraps a frame of the simulation.
func Ethernet(b []byte, f *simulation.Frame, id uint16) []byte {
	b = append(b[:0], 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0)
	b = append(b, 0x45, byte(f.ECN))
	b = binary.BigEndian.AppendUint16(b, uint16(28+len(f.Payload)))
	b = binary.BigEndian.AppendUint16(b, id)
	b = append(b, 0, 0, 64, 17, 0, 0)
	from, to := f.Source.Addr().As4(), f.Destination.Addr().As4()
	b = append(append(b, from[:]...), to[:]...)
	b = binary.BigEndian.AppendUint16(b, f.Source.Port())
	b = binary.BigEndian.AppendUint16(b, f.Destination.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(f.Payload)))
	return append(append(b, 0, 0), f.Payload...)
}

// capture lets the taps of a place see a frame.
func (w *World) capture(place int, f *simulation.Frame) {
	receiver := len(w.Nodes) - 1
	lane, sender := 0, indexOf(f.Source.Addr())
	if sender == receiver {
		lane, sender = 1, indexOf(f.Destination.Addr())
	}
	w.number[place]++
	w.frame = Ethernet(w.frame, f, uint16(w.number[place]))
	meta := dissector.Meta{
		LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: 1_700_000_000_000_000_000 + int64(w.Net.Now),
		Number: w.number[place], OriginalLength: uint32(len(w.frame)),
	}
	err := dissector.Decode(w.frame, meta, &w.packet)
	s := finding.Sighting{Packet: &w.packet, Err: err, ICRC: dissector.ICRCGood}
	if err != nil {
		s.ICRC = dissector.VerifyICRC(&w.packet)
	} else if bad := w.packet.MetaRoCE.MR0.CH.Type == mr0.TypeProbe; !bad && w.number[place]&15 == 0 || w.checkICRC() {
		s.ICRC = dissector.VerifyICRC(&w.packet)
	}
	if w.Numbers[place] != nil {
		m := &w.packet.MetaRoCE.MR0
		w.Numbers[place][meta.Number] = fmt.Sprintf("%d %v lane %d port %d %+v", meta.Number, w.Net.Now, lane, w.packet.UDP.SourcePort, *m)
	}
	for _, t := range w.Taps[sender][place] {
		if t.skip > 0 {
			t.skip--
			t.Missed[meta.Number] = true
			continue
		}
		if t.Drop > 0 && t.random.Float64() < t.Drop {
			t.skip = max(0, t.Burst-1)
			t.Missed[meta.Number] = true
			continue
		}
		if w.Net.Now < t.From || w.Net.Now >= t.Outage[0] && w.Net.Now < t.Outage[1] || lane == 1 && (t.OneWay || w.Net.Now < t.Join) {
			continue
		}
		s.Packet.Meta = meta
		if t.Clock != nil {
			var at time.Duration
			at, s.Packet.Meta.HasTime = t.Clock(w.Net.Now)
			s.Packet.Meta.Time = 1_700_000_000_000_000_000 + int64(at)
		}
		if t.Join > 0 && lane == 1 && !t.joined {
			t.joined = true
			t.judge.Join()
		}
		t.judge.Observe(lane, &s)
	}
}

func (w *World) checkICRC() bool { return w.Nodes[0].Out != nil || w.Nodes[len(w.Nodes)-1].Out != nil }

// Explain prints a finding with its packets.
func (w *World) Explain(place int, f *finding.Finding) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s path %d of %v: %s", f.Rule, f.Verdict, f.Path, f.Endpoint, f.Sentence)
	for _, n := range f.Packets() {
		fmt.Fprintf(&s, "\n    packet %d %s", n, w.Numbers[place][n])
	}
	return s.String()
}
