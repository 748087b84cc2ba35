package simulation

import (
	"net/netip"
	"testing"
	"time"
)

// flood sends a frame of 1250 bytes on each plane in turn, as long as it is asked.
type flood struct {
	from, to netip.AddrPort
	share    []uint8 // planes, one after the other
	sent     int
}

func (f *flood) Handle(time.Duration, *Frame) {}
func (f *flood) NextTimeout() time.Duration   { return never }
func (f *flood) Poll(time.Duration, []byte) (Frame, bool) {
	plane := f.share[f.sent%len(f.share)]
	f.sent++
	return Frame{Source: f.from, Destination: f.to, Plane: plane, Size: 1250}, f.sent < 10_000
}

// A host's ports send side by side: one that gets three quarters of the frames does not hold up the other.
func TestBusyPortHoldsNoOtherUp(t *testing.T) {
	n := New(1, 2, 1, Link{})
	a, b := netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:1")
	h := n.AddHost(a.Addr(), &flood{from: a, to: b, share: []uint8{0, 0, 0, 1}}, Link{Rate: 10e9}, Link{})
	n.AddHost(b.Addr(), &flood{from: b, to: a, sent: 10_000, share: []uint8{0}}, Link{Rate: 10e9}, Link{})
	h.Backlog = time.Microsecond
	n.Wake(h)
	n.Run(time.Millisecond, nil)
	for i, l := range h.Up { // 1,000 frames of 1 us
		if l.Passed < 990 {
			t.Errorf("port %d sent %d frames, so it was idle", i, l.Passed)
		}
	}
	if other := h.Up[1]; other.Passed > 1010 {
		t.Errorf("the host went on although both ports were busy: %d frames", other.Passed)
	}
}
