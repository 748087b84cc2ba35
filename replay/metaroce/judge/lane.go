package judge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// maxPaths is how many paths a connection may have.
const maxPaths = 128

// lane is one direction: the data of one end, what is known of the answers to them, and what the end says of itself.
type lane struct {
	index   int
	end     finding.Endpoint
	known   bool // the address
	packets uint64
	key     uint16 // partition key
	hasKey  bool

	conn    mr0.CONN // what the end has said of itself
	hasConn bool
	setup   setup

	paths    []*path // by id
	streams  streams
	messages messages
	ports    ports

	icrcBad, icrcGood uint64
	badICRC           [finding.MaxProof]uint64
	notECT            uint64
	notECTPacket      uint64

	// Of the packets that the receiver has told of.
	data     uint64 // sequenced packets seen, copies included
	doubled  uint64 // copies
	requests uint64 // of these neither PROBEs nor answers
	covered  uint64 // psns acknowledged
	missed   uint64 // of these not seen before
	before   uint64 // psns shown missing that were not seen before
	after    uint64 // psns shown missing that were seen
	resent   uint64 // psns sent again though no ACK had told of them
	retired  uint64 // psns out of sight
	holes    uint64 // of these never seen
	ackSpan  uint64 // ACK numbers from the first seen on
	ackSeen  uint64 // of these seen
	naks     uint64
	strays   uint64 // bytes under a new psn with RTX that were not seen elsewhere before

	patience int // slots that may still be looked through for moved bytes

	toReceiver, toSender roundTrip
	reply                int64 // from CONN_REP to the first packet of this lane, ns
	replied              bool
	replyAt              int64
	answer               int64 // from CONN_REQ of this lane to its CONN_REP, ns
	answered             bool
	requestAt            int64
	jitter               jitter

	rate        rate
	fatalAt     int64 // a NAK that ends the connection was seen; 0: none
	fatalNumber uint64
	left        left

	suspicions [clueCount]suspicion
}

// init makes the lane ready.
func (l *lane) init(i int) {
	l.index = i
	l.patience = 128 * mostSlots
	l.paths = make([]*path, 0, 8)
}

// address notes who sends.
func (l *lane) address(p *dissector.Packet) {
	if !l.known {
		l.known = true
		l.end.Address = p.Network.Source
	}
}

// identify notes the id by which packets of the other lane name this lane's end.
func (l *lane) identify(m *mr0.Packet) {
	if !l.end.HasQP && m.CH.DestConnID != 0 {
		l.end.QP, l.end.HasQP = m.CH.DestConnID, true
	}
}

// path is a path of the lane, made when it is new, nil when the id is out of every range.
func (l *lane) path(id uint8) *path {
	if id >= maxPaths {
		return nil
	}
	for int(id) >= len(l.paths) {
		l.paths = append(l.paths, nil)
	}
	if l.paths[id] == nil {
		l.paths[id] = &path{id: id}
	}
	return l.paths[id]
}

func (l *lane) missedAtMost() float64 { return finding.ShareAtMost(l.missed, l.covered) }

func (l *lane) absentAtMost() float64 {
	if l.covered == 0 {
		return finding.ShareAtMost(l.holes, l.retired)
	}
	return finding.ShareAtMost(l.missed+l.before, l.covered+l.before)
}

func (l *lane) acksAbsentAtMost() float64 {
	return finding.ShareAtMost(l.ackSpan-l.ackSeen, l.ackSpan)
}

// roundTrip collects samples.
type roundTrip struct {
	samples, sum uint64
	least, most  int64
}

func (r *roundTrip) add(d int64) {
	if d < 0 || d > 1e9 {
		return
	}
	if r.samples == 0 || d < r.least {
		r.least = d
	}
	r.most = max(r.most, d)
	r.samples++
	r.sum += uint64(d)
}

func (r *roundTrip) result() finding.RoundTrip {
	if r.samples == 0 {
		return finding.RoundTrip{}
	}
	return finding.RoundTrip{
		Known: true, Samples: r.samples, Minimum: r.least, Mean: int64(r.sum / r.samples), Max: r.most,
	}
}

// jitter is by how much the way from the sender to the capture varies: the capture's time less the sender's.
type jitter struct {
	base        uint32
	begun       bool
	least, most int32
}

func (j *jitter) add(time int64, timestamp uint32) {
	offset := uint32(time) - timestamp
	if !j.begun {
		j.begun, j.base = true, offset
		return
	}
	d := int32(offset - j.base)
	j.least, j.most = min(j.least, d), max(j.most, d)
}

func (j *jitter) span() int64 { return int64(j.most) - int64(j.least) }

// toSender is an upper bound of how long it takes from an answer that passes the capture to a packet that the sender
// sends because of it, ns.
func (c *Connection) toSender(d *lane) (int64, bool) {
	other := &c.lanes[1-d.index]
	bound, known := int64(0), false
	if d.toSender.samples > 0 {
		bound, known = max(bound, d.toSender.most), true
	}
	if other.toReceiver.samples > 0 {
		bound, known = max(bound, other.toReceiver.most), true
	}
	return max(bound, d.reply, other.answer), known || d.replied || other.answered
}

// toSenderAtLeast is the least time that this took, ns, 0 when it is unknown.
func (c *Connection) toSenderAtLeast(d *lane) int64 {
	if other := &c.lanes[1-d.index]; other.toReceiver.samples > 0 {
		return other.toReceiver.least
	}
	return d.toSender.least
}

// roundTripAtMost is an upper bound of the sender's round trip, ns.
func (c *Connection) roundTripAtMost(d *lane) (int64, bool) {
	there, ok := c.toSender(d)
	if !ok || d.toReceiver.samples == 0 {
		return 0, false
	}
	return there + d.toReceiver.most + d.jitter.span(), true
}

// lossAtMost is an upper bound of the share of packets that are lost or missed, 0 when nothing was told.
func (l *lane) lossAtMost() float64 {
	bound := 0.0
	if told := l.covered + l.before + l.after; told > 0 {
		bound = finding.ShareAtMost(l.missed+l.before+l.after, told)
	}
	if l.ackSpan > 0 {
		bound = max(bound, l.acksAbsentAtMost())
	}
	return bound
}
