package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Limits of a flow of MetaRoCE.
const (
	metaPaths      = 256     // as path_id has bits
	metaStreams    = 1024    // streams followed
	metaMessages   = 1024    // open messages of more than one packet; the oldest makes room
	metaWindow     = 256     // psns that are remembered a path: no sender has more in flight (max_window)
	metaFirstRing  = 32      // of these at first
	metaReach      = 1 << 16 // a psn or acknowledgment further off belongs to another life of the connection
	metaPorts      = 8       // source ports remembered a path
	metaRuns       = 8       // runs of missing psns remembered a path, beyond the window
	metaRecentMSNs = 1 << 11 // messages of a stream of which is known whether they have begun
)

// metaFlow is one direction of a MetaRoCE connection while it is tracked.
type metaFlow struct {
	hash   uint64
	id     ID // the hash at first; it stays when the peer's connection id becomes known
	key    Key
	number uint32 // its own, in the tracker
	stamp  uint64

	gone      bool // emitted
	told      *told
	reverse   *metaFlow
	reverseID ID
	pairing   Pairing
	addresses [2]uint64
	peerID    uint32 // connection id that the sender of this direction chose
	hasPeerID bool

	packets, bytes, payload     uint64
	hasTime, hasID, idStuck     bool
	lastID                      uint16
	firstTime, lastTime         int64
	firstNumber, lastNumber     uint64
	link                        link
	sourcePort                  uint16
	ports                       *portSet
	mtu                         uint16
	operations                  Operations
	messages                    uint64
	acks, rnrNaks, mirrorCopies uint64
	naks                        [32]uint64
	rnrTimerMax                 int64
	marked, capable             uint64
	icrc                        [4]uint64
	truncated, malformed        uint64
	probes                      uint64
	handshake                   handshake
	acksSeen                    metaAcks // ACKs of this direction, to know their copies

	paths   []*metaPath // by number, nil where there is none
	streams []*metaStream
	byID    chains // of streams
	dropped uint64 // streams beyond the limit, packets of
	open    messageTable
	parts   int // paths and streams
	hint    hints
	trail   trail
}

// handshake is what the messages about the connection said, of the sender of this direction.
type handshake struct {
	result        Handshake
	requests      uint64
	requestTime   int64
	timed         bool
	acceptTime    Count
	reject        mr0.RejectReason
	nonce         uint64
	hasNonce      bool
	conn          mr0.CONN
	declared      bool // conn is known
	disconnected  bool
	disconnection mr0.DisconnectReason
}

// hints follows rate hints.
type hints struct {
	last, min, max uint32
	known          bool
	unlimited      uint64
}

func (h *hints) add(hint uint32) {
	if hint == mr0.ACKHRateHintNoLimit {
		h.unlimited++
		return
	}
	if !h.known {
		h.min, h.max, h.known = hint, hint, true
	}
	h.last, h.min, h.max = hint, min(h.min, hint), max(h.max, hint)
}

func (h *hints) record() Hint {
	out := Hint{Unlimited: h.unlimited}
	if h.known {
		out.Last, out.Min, out.Max = known(uint64(h.last)), known(uint64(h.min)), known(uint64(h.max))
	}
	return out
}

// sent is a psn of a path within the window: seen, or passed over.
type sent struct {
	time      int64 // of the latest packet with it
	first     int64 // of the first one
	psn       uint32
	timestamp uint32 // of the sender's clock, of the latest
	offset    uint32 // in its message; with sentOnly the msn
	id        uint16 // IP ID
	length    uint16 // payload
	message   uint16 // number plus one; 0: it has none of its own
	life      uint16 // of that message's place
	stream    uint16 // number of its stream plus one; 0: not known
	vantage   uint8
	what      uint8
	timed     bool
}

// What a psn is.
const (
	sentKnown  = 1 << iota // the entry is in use
	sentSeen               // captured; otherwise missing
	sentAcked              // covered by an ACK
	sentRTX                // the latest packet had the flag RTX
	sentOnly               // it is the whole of its message
	sentMoved              // its bytes have been sent again on another path
	sentMarked             // CE
	sentNaked              // refused for want of a receive buffer
)

// run is psns beyond the window that were never seen and not acknowledged.
type run struct{ start, end uint32 }

// metaPath is one path of a flow.
type metaPath struct {
	id         uint8
	started    bool // a sequenced packet was seen
	told       [pathCounts]uint64
	hasPlane   bool
	plane      uint8
	firstPSN   uint32 // the lowest
	next       uint32 // the highest one seen, plus one
	ring       []sent // by psn modulo its length, a power of two
	bytes      uint64
	payload    uint64
	packets    uint64
	lastTime   int64
	firstTime  int64
	hasTime    bool
	lastNumber uint64

	acked      bool   // an ACK was seen
	cumulative uint32 // of the latest ACK
	sack       [4]uint64
	sacked     uint32 // bits of it
	highest    uint32 // highest psn that a SACK told, plus one
	hasHighest bool

	acks, flights, flightSum uint64
	flightMax                uint32
	received, ce             uint32
	hint                     hints
	rtt                      roundTrip

	firstNumber                              uint64
	planeChanges, rePaths                    uint64
	gaps, missing, missingAcked              uint64
	retransmitted, again, afterGap, afterRNR uint64
	moved, outOfOrder, duplicates, probes    uint64
	firstProbe, lastProbe, firstProbeTime    Count
	probePSN                                 uint32 // of the last one
	marked, capable, naks                    uint64
	runs                                     [metaRuns]run
	runCount                                 uint8
	portCount                                uint8
	ports                                    [metaPorts]PortUse
}

// roundTrip estimates a round trip by RFC 6298.
type roundTrip struct {
	begun            bool
	samples          uint64 // in the interval, as are min and max
	smoothed, varied int64
	min, max         int64
}

func (r *roundTrip) add(sample int64) {
	if !r.begun {
		r.begun, r.smoothed, r.varied = true, sample, sample/2
	} else {
		off := r.smoothed - sample
		if off < 0 {
			off = -off
		}
		r.varied += (off - r.varied) / 4
		r.smoothed += (sample - r.smoothed) / 8
	}
	if r.samples == 0 || sample < r.min {
		r.min = sample
	}
	if r.samples == 0 || sample > r.max {
		r.max = sample
	}
	r.samples++
}

func (r *roundTrip) record() RTT {
	if r.samples == 0 {
		return RTT{}
	}
	return RTT{
		Samples: r.samples, Smoothed: known(uint64(r.smoothed)), Variation: known(uint64(r.varied)),
		Min: known(uint64(r.min)), Max: known(uint64(r.max)),
	}
}

// at is the entry of a psn, be it of that psn or not.
func (s *metaPath) at(psn uint32) *sent { return &s.ring[psn&uint32(len(s.ring)-1)] }

// find is the entry of a psn that is remembered, nil otherwise.
func (s *metaPath) find(psn uint32) *sent {
	if len(s.ring) == 0 {
		return nil
	}
	if e := s.at(psn); e.psn == psn && e.what&sentKnown != 0 {
		return e
	}
	return nil
}

// covers tells whether the ACKs seen so far cover the psn.
func (s *metaPath) covers(psn uint32) bool {
	if !s.acked {
		return false
	}
	d := int32(psn - s.cumulative)
	if d <= 0 || d > metaWindow {
		return d < 0
	}
	return s.sack[(d-1)/64]>>((d-1)%64)&1 != 0
}

// flight is how many psns are sent and not acknowledged.
func (s *metaPath) flight() uint32 {
	n := int32(s.next-s.cumulative) - int32(s.sacked)
	if n < 0 {
		return 0
	}
	return uint32(n)
}

// usePort notes the source port of a packet that moves the path on.
func (s *metaPath) usePort(p *dissector.Packet) {
	port := p.UDP.SourcePort
	for i := int(s.portCount) - 1; i >= 0; i-- {
		if s.ports[i].Port == port {
			s.ports[i].Packets++
			return
		}
	}
	use := PortUse{Port: port, Packets: 1, FirstNumber: p.Meta.Number}
	if p.Meta.HasTime {
		use.FirstTime = known(uint64(p.Meta.Time))
	}
	if s.portCount > 0 {
		s.rePaths++
	}
	if s.portCount < metaPorts {
		s.portCount++
	}
	s.ports[s.portCount-1] = use
}

// metaAcks knows the latest unsequenced packets of a kind, to recognise their copies.
type metaAcks struct {
	ring [ringSize]ackSighting
	next uint8
}

type ackSighting struct {
	key     uint64 // of what they say
	time    int64
	id      uint16
	vantage uint8
	valid   bool
	timed   bool
}
