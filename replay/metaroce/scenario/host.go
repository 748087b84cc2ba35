package scenario

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Host is an endpoint whose packets may be altered at its boundary, where the capture does not see it.
type Host struct {
	*simulation.Endpoint
	// Out and In, when set, stand between endpoint and capture: Out gives what takes a packet's place, In tells whether
	// the endpoint gets it.
	Out    func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame
	In     func(now time.Duration, f *simulation.Frame, m *mr0.Packet) bool
	queue  []simulation.Frame
	late   []lateFrame // in order
	packet mr0.Packet
}

type lateFrame struct {
	at    time.Duration
	frame simulation.Frame
}

// Delay sends a frame then.
func (h *Host) Delay(at time.Duration, f simulation.Frame) {
	h.late = append(h.late, lateFrame{at, f})
	slices.SortStableFunc(h.late, func(a, b lateFrame) int { return cmp.Compare(a.at, b.at) })
}

// Poll is the next frame to be sent.
func (h *Host) Poll(now time.Duration, scratch []byte) (simulation.Frame, bool) {
	if len(h.late) > 0 && h.late[0].at <= now {
		f := h.late[0].frame
		h.late = h.late[1:]
		return f, true
	}
	for len(h.queue) == 0 {
		f, ok := h.Endpoint.Poll(now, scratch)
		if !ok || h.Out == nil {
			return f, ok
		}
		if mr0.Decode(f.Payload, &h.packet) != nil {
			panic("the reference sent what cannot be decoded")
		}
		h.queue = append(h.queue, h.Out(now, &f, &h.packet)...)
	}
	f := h.queue[0]
	h.queue = h.queue[1:]
	return f, true
}

// NextTimeout is when the host wants to be asked again.
func (h *Host) NextTimeout() time.Duration {
	if len(h.queue) > 0 {
		return 0
	}
	at := h.Endpoint.NextTimeout()
	if len(h.late) > 0 {
		at = min(at, h.late[0].at)
	}
	return at
}

// Handle takes a frame.
func (h *Host) Handle(now time.Duration, f *simulation.Frame) {
	if h.In != nil {
		if mr0.Decode(f.Payload, &h.packet) == nil && !h.In(now, f, &h.packet) {
			return
		}
	}
	h.Endpoint.Handle(now, f)
}

// Rewritten is a frame with another packet in it.
func Rewritten(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
	g := *f
	payload := append([]byte(nil), f.Payload[m.PayloadOffset:len(f.Payload)-4]...)
	var err error
	if g.Payload, err = m.AppendDatagram(nil, payload, f.Source, f.Destination); err != nil {
		panic(err)
	}
	return g
}

// Kept is a copy of a frame.
func Kept(f *simulation.Frame) simulation.Frame {
	g := *f
	g.Payload = append([]byte(nil), f.Payload...)
	return g
}

// uniquePorts hands out ports that no other path of the endpoint has.
type uniquePorts struct {
	random *rand.Rand
	used   map[uint16]bool
}

func (u *uniquePorts) Acquire(_ netip.Addr, _ uint16) uint16 {
	for {
		if p := uint16(49152 + u.random.IntN(16384)); !u.used[p] {
			u.used[p] = true
			return p
		}
	}
}

func (u *uniquePorts) Release(_ netip.Addr, p uint16) { delete(u.used, p) }

// Raw alters the bytes of a frame, behind the common header's check, and makes the ICRC right again.
func Raw(f *simulation.Frame, change func(b []byte)) simulation.Frame {
	g := Kept(f)
	change(g.Payload)
	n := len(g.Payload) - 4
	crc := mr0.ComputeICRC(g.Payload[:n], g.Source, g.Destination)
	for i := range 4 {
		g.Payload[n+i] = byte(crc >> (8 * i))
	}
	return g
}
