package judge

import (
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// dialogue is what one end asks for and the other answers.
type dialogue struct {
	c    *Connection
	lane int // of the requests

	// Requester.
	started bool
	first   position // first PSN seen
	next    position // behind the highest PSN sent, as far as was seen
	ring    ring
	mtu     uint32 // path MTU, bytes; 0: unknown
	mtuFrom uint64 // number of the packet that told it; 0: the connection manager
	open    bool   // the latest request is a READ whose span is not known, since the MTU is not
	sent    uint64 // request packets
	reads   reads
	going   position // of the latest request packet
	episode episode
	stuck   struct {
		at    position
		times uint32
	}
	idSteps int // new requests in a row whose IP identification was not that of the one before
	lastID  uint16
	holes   int // PSNs in the ring that were skipped and not yet seen

	// Responder.
	heard   bool     // any answer was seen
	acked   position // acknowledged up to and with it
	ackSeen bool     // acked is known
	ack     answer   // that acknowledged it
	ahead   ahead
	nak     complaint
	naks    [8]struct { // the latest, whatever came of them
		at     position
		number uint64
		time   int64
	}
	nakCount uint64
	repair   struct { // what a NAK asked for, which was sent again just once
		pending bool
		at      position
		nak     uint64 // number of the NAK
		time    int64  // of the repetition
	}
	untrue   untrue // of the latest that covers a gap
	rnr      complaint
	fatal    complaint
	messages count

	notices notices
	pace    pace

	missed  uint64 // PSNs that the responder had and the capture has not
	sampled uint64 // PSNs of which that could be told, or that were seen
	losses  finding.Losses
	there   trip // to the responder and back
	back    trip // to the requester and back

	evidence struct {
		goBackStart, nakIgnored, rnrEarly, ackedResent, timeoutEarly, timeoutLate, afterFatal                       finding.Evidence
		ackUnsent, nakRepeated, nakMissing, nakOfAcked, ackOverGap, duplicate, ackRequest, readSequence, cnpMissing finding.Evidence
	}
	timeouts  trip // between a packet and its repetition by the timer
	backoff   backoff
	rnrWaits  trip     // between an RNR NAK and the repetition that it asked for
	goBack    uint64   // retransmissions that went on with the next PSN
	selective uint64   // and those that resent only what was missing
	resent    position // what a NAK asked for and was just sent again; the next request tells how it goes on
	resending bool
	// resentBehind is the number of the ACK whose packets were last sent again.
	resentBehind uint64
	agreed       *Agreement
}

// answer is an answer that was seen.
type answer struct {
	number uint64
	time   int64
	msn    uint32
}

// complaint is a NAK or RNR NAK that was seen.
type complaint struct {
	pending bool
	at      position
	number  uint64
	time    int64
	wait    int64 // ns, of an RNR NAK
	newest  int64 // time of the latest new request after it
	repeats uint32
	ipID    uint16
	sentAt  uint64 // requests sent when it was seen
	highest position
	known   bool // it, or one before it, is there
	heeded  bool // what follows what it asks for was sent again at once
}

// untrue is what an ACK seems to cover that has not arrived.
type untrue struct{ from, to position }

// trip measures a time.
type trip struct {
	n        uint64
	min, max int64
	sum      float64
}

func (t *trip) add(ns int64) {
	if ns < 0 {
		return
	}
	if t.n == 0 || ns < t.min {
		t.min = ns
	}
	t.max = max(t.max, ns)
	t.sum += float64(ns)
	t.n++
}

func (t *trip) roundTrip() finding.RoundTrip {
	if t.n == 0 {
		return finding.RoundTrip{}
	}
	return finding.RoundTrip{Known: true, Samples: t.n, Minimum: t.min, Mean: int64(t.sum / float64(t.n)), Max: t.max}
}

func (t *trip) wait() finding.Wait { return finding.Wait{Times: t.n, NS: int64(t.sum)} }

func (d *dialogue) init(c *Connection, lane int) {
	d.c, d.lane = c, lane
	d.reads.init()
}

// agree takes what the connection manager said of the requester.
func (d *dialogue) agree(a *Agreement) {
	d.agreed = a
	if a.PathMTU != 0 {
		d.mtu, d.mtuFrom = uint32(a.PathMTU), 0
	}
}

// extend is the position of a PSN near another.
func extend(psn uint32, near position) position {
	return near + position(infiniband.PSNDiff(psn, uint32(uint64(near)&0xffffff)))
}

const (
	maxJump = 1 << 18 // a PSN further ahead begins a new life of the QP
	maxBack = 1 << 16 // one further behind, the same
	// base keeps positions positive.
	base = position(1) << 32
)

// restart forgets what was seen of a QP whose number is used again.
func (d *dialogue) restart() {
	d.ring.clear()
	d.reads.init()
	d.started, d.open, d.holes = false, false, 0
	d.join()
}

// join forgets what spans both directions.
func (d *dialogue) join() {
	d.ackSeen, d.repair.pending = false, false
	clear(d.naks[:])
	d.ahead, d.nak, d.rnr, d.fatal, d.messages, d.episode = ahead{}, complaint{}, complaint{}, complaint{}, count{}, episode{}
}

// doubt bounds the probability that a packet was not seen, or did not arrive: the share that the capture missed, and
// that of packets lost on the way.
func (d *dialogue) doubt() (missed, lost float64) {
	other := &d.c.dialogues[1-d.lane]
	missed = finding.ShareAtMost(d.missed+other.missed, d.sampled+other.sampled)
	all := d.losses.Before + d.losses.After + d.losses.Unknown + other.losses.Before + other.losses.After + other.losses.Unknown
	lost = finding.ShareAtMost(all, d.sent+other.sent)
	return missed, lost
}

// answers is the lane of the answers.
func (d *dialogue) answers() int { return 1 - d.lane }

func spanOf(length, mtu uint32) position {
	return max(1, (position(length)+position(mtu)-1)/position(mtu))
}

// validMTU tells whether a payload can be a path MTU (IBTA volume 1, section 9.5).
func validMTU(n uint32) bool { return n >= 256 && n <= 4096 && n&(n-1) == 0 }
