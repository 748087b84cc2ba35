package scenario

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
	"github.com/rocelens/rocelens/replay/roce"
)

// Host is an endpoint in the network, and the applications on it.
type Host struct {
	Endpoint *roce.Endpoint
	Address  netip.Addr
	MAC      [6]byte
	Server   bool
	// OnHandle, when set, is called after each frame that the endpoint took.
	OnHandle func(now time.Duration, frame []byte, v roce.Verdict)

	run    *Run
	place  *simulation.Host
	memory *memory
	sides  []*side // of connections
	byQP   map[*roce.QP]*side

	expected map[uint32]*Connection // by the client's QP, when the connection manager sets them up
	accepted map[uint32]*side       // by the own QP, just now

	egress  []held // on the way to the interface, by time
	ingress []held // on the way to the endpoint, by time
}

// held is a frame that waits.
type held struct {
	at   time.Duration
	data []byte
}

// hold keeps a frame until its time, behind those that have the same.
func hold(queue []held, at time.Duration, data []byte) []held {
	i := len(queue)
	for i > 0 && queue[i-1].at > at {
		i--
	}
	queue = append(queue, held{})
	copy(queue[i+1:], queue[i:])
	queue[i] = held{at, data}
	return queue
}

// Send adds a frame to what the host sends: for hooks.
func (h *Host) Send(now, after time.Duration, frame []byte) {
	h.egress = hold(h.egress, now+after, frame)
}

// Handle takes a frame from the network.
func (h *Host) Handle(now time.Duration, f *simulation.Frame) {
	applyMark(f)
	hook := h.run.config.Ingress
	if hook == nil {
		h.deliver(now, f.Payload)
		return
	}
	for _, d := range hook(now, h, append([]byte(nil), f.Payload...)) {
		if d.After <= 0 {
			h.deliver(now, d.Data)
			continue
		}
		h.ingress = hold(h.ingress, now+d.After, d.Data)
	}
}

func (h *Host) deliver(now time.Duration, frame []byte) {
	v := h.Endpoint.Handle(now, &roce.Datagram{Frame: frame})
	if h.OnHandle != nil {
		h.OnHandle(now, frame, v)
	}
}

// Poll gives a frame to the network.
func (h *Host) Poll(now time.Duration, scratch []byte) (simulation.Frame, bool) {
	for len(h.ingress) > 0 && h.ingress[0].at <= now {
		d := h.ingress[0]
		h.ingress = h.ingress[1:]
		h.deliver(now, d.data)
	}
	h.work(now)
	hook := h.run.config.Egress
	for {
		if len(h.egress) > 0 && h.egress[0].at <= now {
			d := h.egress[0]
			h.egress = h.egress[1:]
			return h.frame(d.data), true
		}
		d, ok := h.Endpoint.Poll(now, scratch)
		switch {
		case !ok && h.work(now): // timers may have ended work
			continue
		case !ok:
			return simulation.Frame{}, false
		}
		if hook == nil {
			return h.frame(d.Frame), true
		}
		for _, out := range hook(now, h, append([]byte(nil), d.Frame...)) {
			h.egress = hold(h.egress, now+max(0, out.After), out.Data)
		}
	}
}

// NextTimeout is when the host wants to be looked at.
func (h *Host) NextTimeout() time.Duration {
	at := h.Endpoint.NextTimeout()
	if len(h.egress) > 0 {
		at = min(at, h.egress[0].at)
	}
	if len(h.ingress) > 0 {
		at = min(at, h.ingress[0].at)
	}
	for _, s := range h.sides {
		at = min(at, s.next())
	}
	return at
}

// fcsLength counts for the time that a frame takes on a link.
const fcsLength = 4

// frame describes a frame to the network by its headers, which a hook may have changed.
func (h *Host) frame(data []byte) simulation.Frame {
	f := simulation.Frame{Size: len(data) + fcsLength, Payload: data}
	var ip dissector.Packet
	// What cannot be decoded is sent nowhere by the network: it has no destination.
	_ = dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &ip)
	f.Source = netip.AddrPortFrom(ip.Network.Source.Addr(), ip.UDP.SourcePort)
	f.Destination = netip.AddrPortFrom(ip.Network.Destination.Addr(), ip.UDP.DestinationPort)
	f.ECN = ip.Network.ECN
	return f
}

// applyMark writes into the frame what a queue has marked.
func applyMark(f *simulation.Frame) {
	const ethernet = 14
	b := f.Payload
	if f.ECN != dissector.ECNCE || len(b) < ethernet+20 {
		return
	}
	ip := b[ethernet:]
	switch binary.BigEndian.Uint16(b[12:]) {
	case 0x0800:
		if ip[1]&3 == 3 {
			return
		}
		before := binary.BigEndian.Uint16(ip)
		ip[1] |= 3
		sum := uint32(^binary.BigEndian.Uint16(ip[10:])) + uint32(^before) + uint32(binary.BigEndian.Uint16(ip)) // RFC 1624
		sum = sum>>16 + sum&0xffff
		sum += sum >> 16
		binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	case 0x86dd:
		ip[1] |= 0x30
	}
}
