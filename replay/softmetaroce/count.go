package softmetaroce

import (
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Counts are packets of one direction, as the endpoint sends them into the network or takes them out of it: what the
// impairment does to those that are sent is not in them. Packets are those with a path sequence number.
type Counts struct {
	Packets         uint64 `json:"packets"`
	Bytes           uint64 `json:"bytes"`           // with IP and UDP headers
	Payload         uint64 `json:"payload"`         // bytes, those sent again included
	Retransmissions uint64 `json:"retransmissions"` // packets with RTX
	CE              uint64 `json:"ce"`              // packets marked CE
	Probes          uint64 `json:"probes"`
	ACKs            uint64 `json:"acks"`
	NAKs            uint64 `json:"naks"`
}

// PathCounts are those of one path. ACKs and NAKs are those of the other direction, which bear this path's number.
type PathCounts struct {
	Path        uint8    `json:"path"`
	Plane       uint8    `json:"plane"`
	SourcePorts []uint16 `json:"source_ports"` // in the order in which they were first used

	Counts
}

// StreamCounts are those of one stream. PROBEs belong to none.
type StreamCounts struct {
	Stream uint16 `json:"stream"`

	Counts
}

// Direction is what went one way within a connection.
type Direction struct {
	Counts

	Paths   []PathCounts   `json:"paths"`
	Streams []StreamCounts `json:"streams"`
}

// tally counts what goes one way.
type tally struct {
	Counts

	paths   [256]*PathCounts
	streams map[uint16]*StreamCounts
	stream  *StreamCounts // counted last
}

// add counts a packet.
func (t *tally) add(p *mr0.Packet, bytes int, source uint16, ecn dissector.ECN) {
	path := t.paths[p.CH.PathID]
	if path == nil {
		if !p.CH.Type.Sequenced() && p.CH.Type != mr0.TypeACK && p.CH.Type != mr0.TypeNAK {
			return
		}
		path = &PathCounts{Path: p.CH.PathID}
		t.paths[p.CH.PathID] = path
	}
	switch {
	case p.CH.Type == mr0.TypeACK:
		t.ACKs++
		path.ACKs++
	case p.CH.Type == mr0.TypeNAK:
		t.NAKs++
		path.NAKs++
	case p.CH.Type.Sequenced():
		path.Plane = p.CH.PlaneID
		if n := len(path.SourcePorts); n == 0 || path.SourcePorts[n-1] != source && !slices.Contains(path.SourcePorts, source) {
			path.SourcePorts = append(path.SourcePorts, source)
		}
		t.sequenced(p, bytes, ecn)
		path.sequenced(p, bytes, ecn)
		if p.CH.Type != mr0.TypeProbe {
			t.of(p.DH.StreamID).sequenced(p, bytes, ecn)
		}
	}
}

func (t *tally) of(id uint16) *StreamCounts {
	if t.stream == nil || t.stream.Stream != id {
		s := t.streams[id]
		if s == nil {
			if t.streams == nil {
				t.streams = map[uint16]*StreamCounts{}
			}
			s = &StreamCounts{Stream: id}
			t.streams[id] = s
		}
		t.stream = s
	}
	return t.stream
}

func (c *Counts) sequenced(p *mr0.Packet, bytes int, ecn dissector.ECN) {
	c.Packets++
	c.Bytes += uint64(bytes)
	c.Payload += uint64(p.CH.PayloadLength)
	if p.CH.Flags&mr0.FlagRTX != 0 {
		c.Retransmissions++
	}
	if ecn == dissector.ECNCE {
		c.CE++
	}
	if p.CH.Type == mr0.TypeProbe {
		c.Probes++
	}
}

// direction is what was counted so far.
func (t *tally) direction() Direction {
	d := Direction{Counts: t.Counts, Paths: []PathCounts{}, Streams: []StreamCounts{}}
	for _, p := range t.paths {
		if p != nil {
			copied := *p
			copied.SourcePorts = append([]uint16{}, p.SourcePorts...)
			d.Paths = append(d.Paths, copied)
		}
	}
	for _, s := range t.streams {
		d.Streams = append(d.Streams, *s)
	}
	slices.SortFunc(d.Streams, func(a, b StreamCounts) int { return int(a.Stream) - int(b.Stream) })
	return d
}

// SocketCounts are what the sockets did. A message of the kernel holds one datagram, or several that are joined.
type SocketCounts struct {
	DatagramsSent     uint64 `json:"datagrams_sent"`
	MessagesSent      uint64 `json:"messages_sent"`
	SendCalls         uint64 `json:"send_calls"`
	SendErrors        uint64 `json:"send_errors"` // datagrams that the kernel did not take
	DatagramsReceived uint64 `json:"datagrams_received"`
	MessagesReceived  uint64 `json:"messages_received"`
	ReceiveCalls      uint64 `json:"receive_calls"`
	KernelDrops       uint64 `json:"kernel_drops"` // for which the receive buffer had no room
	ReceiveBuffer     int    `json:"receive_buffer_bytes"`
	JoinedOut         bool   `json:"joined_out"` // datagrams were joined on their way out (UDP_SEGMENT)
	JoinedIn          bool   `json:"joined_in"`  // the kernel was asked to join what comes in (UDP_GRO)
}
