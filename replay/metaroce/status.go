package metaroce

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Statistics counts what a connection has done, in packets unless said otherwise.
type Statistics struct {
	// Sequenced packets that were sent.
	Packets         uint64
	Bytes           uint64 // with their IP headers
	Payload         uint64 // bytes of payload, those sent again included
	Retransmissions uint64 // on their path, with their psn
	Moved           uint64 // sent again on another path
	Probes          uint64

	Lost         uint64 // declared lost by gaps
	Timeouts     uint64 // retransmission timers that ran out
	Cuts         uint64 // of a path's window
	PathFailures uint64
	Repaths      uint64

	ACKs     uint64 // that arrived
	LateACKs uint64
	NAKs     uint64 // that arrived

	// Sequenced packets that arrived.
	Received     uint64 // duplicates and refused ones included
	Duplicates   uint64
	CE           uint64
	BeyondWindow uint64
	ACKsSent     uint64
	NAKsSent     uint64
}

// Statistics is what the connection has done so far.
func (c *Connection) Statistics() Statistics { return c.statistics }

// PathStatus is a view of an own path.
type PathStatus struct {
	ID, Plane  uint8
	SourcePort uint16
	Failed     bool
	Unacked    uint32  // oldest psn that is not acknowledged, or the next one
	Next       uint32  // psn that the next new packet gets
	InFlight   int     // packets
	Window     float64 // packets
	SRTT       time.Duration
	RTTVar     time.Duration
	RTO        time.Duration
	Timeouts   int // in a row
}

// Paths is the number of own paths, 0 after the connection was closed.
func (c *Connection) Paths() int { return len(c.paths) }

// Path is a view of an own path, 0 to Paths-1.
func (c *Connection) Path(i int) PathStatus {
	p := &c.paths[i]
	return PathStatus{
		ID: p.id, Plane: p.plane, SourcePort: p.sourcePort, Failed: p.failed, Unacked: p.una, Next: p.next, InFlight: p.inflight,
		Window: p.window, SRTT: p.srtt, RTTVar: p.rttvar, RTO: p.rto(&c.endpoint.config.Parameters), Timeouts: p.timeouts,
	}
}

// InboundStatus is a view of a path of the peer.
type InboundStatus struct {
	CumulativePSN uint32
	Arrived       int // psns beyond it that have arrived
	PacketCount   uint32
	CECount       uint32
	SourcePort    uint16 // last seen, 0: none
}

// InboundPaths is the number of the peer's paths.
func (c *Connection) InboundPaths() int { return len(c.inbound) }

// InboundPath is a view of a path of the peer, 0 to InboundPaths-1.
func (c *Connection) InboundPath(i int) InboundStatus {
	p := &c.inbound[i]
	s := InboundStatus{
		CumulativePSN: p.cumulative, PacketCount: p.packetCount, CECount: p.ceCount, SourcePort: p.sourcePort,
	}
	for d := int32(1); d <= mr0.SACKBits; d++ {
		if p.has(d) {
			s.Arrived++
		}
	}
	return s
}

// RateHint is what the peer grants at present, Mbit/s; 0xFFFFFFFF: no limit, or nothing was heard yet.
func (c *Connection) RateHint() uint32 { return c.hint }

// InFlight is how many bytes are under way, IP headers included.
func (c *Connection) InFlight() int { return c.inflightBytes }
