package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// doubledWithin is how far a packet of connecting and its copy by the network may lie apart, ns: they bear nothing that
// tells them from a repetition.
const doubledWithin = 200_000

// setup is what was seen of connecting.
type setup struct {
	number    uint64 // packet in which the end told of itself
	request   bool   // it was a CONN_REQ
	fromStart bool   // before any data of the end was seen
	several   bool   // requests with one id had several nonces
	attempts  int
	gaps      int // between repetitions
	early     int // that were too short
	earlyAt   uint64
	at        int64
}

// left is what an end did after it had sent DISCONNECT.
type left struct {
	at       int64 // of the first
	last     int64
	number   uint64
	times    int       // repetitions that are no copies
	each     [6]uint64 // the first of these
	ignored  int       // packets that it sent while the peer's went unanswered
	ignored1 uint64
	after    int // packets long after its own
	after1   uint64
}

// setUp takes a packet of connecting.
func (c *Connection) setUp(l *lane, e *event) {
	m := e.m
	other := &c.lanes[1-l.index]
	if m.CONN.SourceConnID != 0 && !l.end.HasQP {
		l.end.QP, l.end.HasQP = m.CONN.SourceConnID, true
	}
	if m.CH.Type != mr0.TypeConnReq && other.setup.request && m.CH.DestConnID == other.conn.SourceConnID && !other.setup.several {
		nonce := m.CONN.Nonce | m.REJ.Nonce
		if nonce != other.conn.Nonce {
			c.diverges(finding.MetaRoCEConnNonce, l, -1, e, other.setup.number, "the nonce of the request", "another",
				"The %s has the nonce %#x, the request %#x.", m.CH.Type, nonce, other.conn.Nonce)
			return
		}
		c.conforms(finding.MetaRoCEConnNonce)
	}
	if m.CH.Type == mr0.TypeConnRej {
		return
	}
	c.repeated(l, e)
	if e.timed && m.CH.Type == mr0.TypeConnRep && other.replyAt == 0 {
		other.replyAt = e.time
		if other.setup.attempts == 1 && other.requestAt != 0 {
			other.answer, other.answered = e.time-other.requestAt, true
		}
	}
}

// repeated holds a CONN_REQ or CONN_REP against the one before.
func (c *Connection) repeated(l *lane, e *event) {
	m := e.m
	request := m.CH.Type == mr0.TypeConnReq
	if l.hasConn && l.conn.Nonce == m.CONN.Nonce && l.conn.SourceConnID == m.CONN.SourceConnID {
		if l.conn != m.CONN {
			c.diverges(finding.MetaRoCEConnChanged, l, -1, e, l.setup.number, "the same parameters", "others",
				"The %s says something else than the one before with the same nonce.", m.CH.Type)
		} else {
			c.conforms(finding.MetaRoCEConnChanged)
		}
		if request {
			c.retriedRequest(l, e)
		}
		return
	}
	before := l.conn
	hadConn := l.hasConn
	begun := l.data > 0
	if hadConn && begun { // the ids were given to another connection
		l.restart()
		c.lanes[1-l.index].restart()
		begun = false
	}
	l.conn, l.hasConn = m.CONN, true
	l.end.QP, l.end.HasQP = m.CONN.SourceConnID, true
	l.setup = setup{number: e.number, request: request, fromStart: !begun, attempts: 1, at: e.time}
	l.setup.several = hadConn && before.SourceConnID == m.CONN.SourceConnID
	l.requestAt, l.replyAt = 0, 0
	if request && e.timed {
		l.requestAt = e.time
	}
}

// restart forgets what belongs to an earlier connection with the same ids.
func (l *lane) restart() {
	for _, p := range l.paths {
		if p != nil {
			*p = path{id: p.id, slots: p.slots}
			clear(p.slots)
		}
	}
	l.streams, l.messages = streams{}, messages{}
	l.left, l.fatalAt, l.hasKey, l.data = left{}, 0, false, 0
}

// retriedRequest judges when a CONN_REQ is sent again. A missed one makes the time between longer, never shorter.
func (c *Connection) retriedRequest(l *lane, e *event) {
	t := &l.setup
	if !e.timed {
		return
	}
	gap := e.time - t.at
	if gap < doubledWithin {
		return
	}
	least := int64(c.parameters.RTOInitial) << min(t.gaps, 8)
	t.at = e.time
	t.gaps++
	t.attempts++
	early := 10*gap < 8*least
	if early {
		if t.early++; t.early == 1 {
			t.earlyAt = e.number
		}
	}
	if early && t.early >= 2 || t.attempts > 6 {
		if t.early == 2 {
			c.tallies[index(finding.MetaRoCEConnRetry)].Add(finding.Diverges)
		}
		c.diverges(finding.MetaRoCEConnRetry, l, -1, e, t.number, "repetitions after rto_initial, doubling, five times", "more, or sooner",
			"Request number %d came %d ns after the one before.", t.attempts, gap)
		return
	}
	if !early {
		c.conforms(finding.MetaRoCEConnRetry)
	}
}

// handshakeReply measures the way from CONN_REP to the requester and back.
func (c *Connection) handshakeReply(d *lane, e *event) {
	if d.replyAt > 0 && !d.replied && e.timed {
		d.reply, d.replied = e.time-d.replyAt, true
	}
}

// inRange judges the path and stream that a packet of the data of d, or an answer to them, names.
func (c *Connection) inRange(d, by *lane, e *event) bool {
	m := e.m
	if d.hasConn && m.CH.PathID >= d.conn.PathCount {
		c.diverges(finding.MetaRoCEPathRange, by, int(m.CH.PathID), e, d.setup.number, "a path below path_count", "one beyond",
			"The %s names path %d; the sender of the data has %d paths.", m.CH.Type, m.CH.PathID, d.conn.PathCount)
		return false
	}
	if d.hasConn {
		c.conforms(finding.MetaRoCEPathRange)
	}
	other := &c.lanes[1-d.index]
	switch m.CH.Type {
	case mr0.TypeWrite, mr0.TypeSend, mr0.TypeReadReq, mr0.TypeAtomicReq:
		if !other.hasConn {
			break
		}
		if m.DH.StreamID >= other.conn.StreamCount {
			c.diverges(finding.MetaRoCEStreamRange, by, int(m.CH.PathID), e, other.setup.number, "a stream below stream_count", "one beyond",
				"The %s names stream %d; the receiver takes %d.", m.CH.Type, m.DH.StreamID, other.conn.StreamCount)
			break
		}
		c.conforms(finding.MetaRoCEStreamRange)
	default:
	}
	return true
}

// disconnect takes a DISCONNECT.
func (c *Connection) disconnect(l *lane, e *event) {
	b := &l.left
	other := &c.lanes[1-l.index]
	if l.fatalAt != 0 {
		c.weigh(l, clueAfterFatalNAK, -1, e, false, 0)
		l.fatalAt = 0
	}
	if other.left.at != 0 && b.times == 0 {
		c.conforms(finding.MetaRoCEDisconnectUnanswered)
	}
	if !e.timed {
		b.at, b.times = max(b.at, 1), max(b.times, 1)
		return
	}
	if b.times == 0 {
		b.at, b.number = e.time, e.number
	}
	if b.times == 0 || e.time-b.last > doubledWithin {
		if b.times < len(b.each) {
			b.each[b.times] = e.number
		}
		b.times++
	}
	b.last = e.time
}

// underWay is for how long packets may be under way at most, ns.
const underWay = 10_000_000

// count judges a packet of the end that is no DISCONNECT.
func (b *left) count(c *Connection, l *lane, e *event) {
	if !e.timed {
		return
	}
	if peer := &c.lanes[1-l.index].left; peer.times >= 6 && b.times == 0 && e.time-peer.last > underWay {
		if b.ignored++; b.ignored == 1 {
			b.ignored1 = e.number
		}
	}
	if b.times == 0 || e.time-b.at <= underWay {
		return
	}
	if b.after++; b.after == 1 {
		b.after1 = e.number
	}
	if b.after >= 3 {
		if b.after == 3 {
			c.tallies[index(finding.MetaRoCEAfterDisconnect)].Diverges += 2
		}
		c.diverges(finding.MetaRoCEAfterDisconnect, l, int(e.m.CH.PathID), e, b.number, "silence", "data or ACKs",
			"A %s, %d ns after the first DISCONNECT of its sender.", e.m.CH.Type, e.time-b.at)
	}
}

func (c *Connection) afterDisconnect(d *lane, e *event) { d.left.count(c, d, e) }

// concludeSetUp decides at the end what was not decided.
func (c *Connection) concludeSetUp(l *lane) {
	if l.setup.early == 1 {
		c.undetermined(finding.MetaRoCEConnRetry, l, l.setup.earlyAt, "A CONN_REQ was repeated early, once: the network may have doubled it.")
	}
	b, peer := &l.left, &c.lanes[1-l.index].left
	if b.after > 0 && b.after < 3 {
		c.undetermined(finding.MetaRoCEAfterDisconnect, l, b.after1, "A packet or two came behind the DISCONNECT of their sender.")
	}
	if peer.times == 0 || b.times > 0 || l.packets == 0 {
		return
	}
	loss := max(0.02, 2*c.lanes[0].lossAtMost(), 2*c.lanes[1].lossAtMost())
	if six := loss * loss * loss * loss * loss * loss; b.ignored >= 3 && six < 1e-9 && c.lanes[0].covered+c.lanes[1].covered > 0 {
		if f := c.found(finding.MetaRoCEDisconnectUnanswered, finding.Diverges, l, -1, nil); f != nil {
			for _, number := range peer.each {
				prove(f, number)
			}
			prove(f, b.ignored1)
			f.Expected, f.Seen = "a DISCONNECT", "other packets"
			f.Sentence = "Six DISCONNECTs of the peer went unanswered, and this end went on with the connection."
			c.out(f)
		}
		return
	}
	c.undetermined(finding.MetaRoCEDisconnectUnanswered, l, peer.number, "No answer to the peer's DISCONNECT was seen.")
}

func (c *Connection) undetermined(r finding.Rule, l *lane, number uint64, sentence string) {
	if f := c.found(r, finding.Undetermined, l, -1, nil); f != nil {
		prove(f, number)
		f.Expected, f.Seen, f.Sentence = r.Describe().Title, "it may be otherwise", sentence
		c.out(f)
	}
}
