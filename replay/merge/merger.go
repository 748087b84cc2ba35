package merge

import (
	"cmp"
	"math"
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Config bounds what a [Merger] remembers. A zero field means its default.
type Config struct {
	// Window is how long a packet waits for its counterpart, ns. 200 ms by default.
	Window int64
	// MaxWaiting is how many packets wait at a time; when there are more the window becomes shorter. 2,097,152 by
	// default, of 80 bytes each.
	MaxWaiting int
	// MaxDirections is how many directions of connections are told apart. 32,768 by default.
	MaxDirections int
	// MaxExamples is how many packets of a direction that one capture has alone are named. All are counted. 64 by default.
	MaxExamples int
	// MaxNamed is how many of them are named in all. 524,288 by default.
	MaxNamed int
}

func (c Config) withDefaults() Config {
	if c.Window <= 0 {
		c.Window = 200e6
	}
	if c.MaxWaiting <= 0 {
		c.MaxWaiting = 1 << 21
	}
	if c.MaxDirections <= 0 {
		c.MaxDirections = 1 << 15
	}
	if c.MaxExamples <= 0 {
		c.MaxExamples = 64
	}
	if c.MaxNamed <= 0 {
		c.MaxNamed = 1 << 19
	}
	return c
}

// held is a packet that waits for its counterpart, or was just given it.
type held struct {
	key      uint64
	number   uint64
	at       int64 // by the first capture's clock
	mate     int   // index of its counterpart in the other list, -1: none
	sequence uint32
	icrc     uint32
	kind     kind
	stamp    uint32
	ack      *mr0.ACKH
	ecn      dissector.ECN
	state    state
	flags    heldFlags
}

type heldFlags uint8

const (
	heldICRC heldFlags = 1 << iota
	heldAckRequest
	heldDamaged
	heldOutside // the other capture may not have been running
)

// state is what pairing made of a packet.
type state uint8

const (
	stateAlone     state = iota
	statePaired          // with mate
	stateReordered       // with mate, and overtook others or was overtaken
	stateAmbiguous       // it may be one of several, or a repetition of what the other saw
	stateDoubled         // equal to one that was paired
)

// strand is a lane with what waits in it.
type strand struct {
	lane    lane
	order   Order
	counts  bool // packets and their repetitions differ in IP identification
	mixed   bool // they do not, and the network changes the order
	waiting [2][]held
	report  *Direction
	sums    *sums
}

// conversation is the strands of a connection: evidence of one direction is in the other's answers.
type conversation struct {
	strands   []*strand
	dialogues map[lane]*dialogue // by the lane of the requests
	next      int                // packets that wait before it is looked at again
	waiting   int
	oldest    int64
}

// Merger pairs the packets of two captures.
type Merger struct {
	config  Config
	clocks  *Clocks
	strands map[lane]*strand
	talks   map[uint64]*conversation // by flow, both of them
	all     []*conversation
	waiting int
	index   int   // of the piece at hand
	now     int64 // time of the packet at hand
	cut     int64 // when packets were last settled that had not waited long enough
	result  Result
	done    []event // scratch
	naming  naming
	pairing pairing
}

// NewMerger is a merger of two captures whose clocks are related.
func NewMerger(config Config, clocks *Clocks) *Merger {
	m := &Merger{config: config.withDefaults(), clocks: clocks, strands: map[lane]*strand{}, talks: map[uint64]*conversation{}, cut: minTime}
	m.result.Window = m.config.Window
	m.naming = naming{each: m.config.MaxExamples, left: m.config.MaxNamed}
	return m
}

// Before tells whether a packet of the first capture comes before one of the second: packets are to be observed in
// this order.
func (m *Merger) Before(first, second *Sighting) bool {
	i, _ := m.clocks.piece(0, first.Number)
	k, _ := m.clocks.piece(1, second.Number)
	if i != k {
		return i < k
	}
	return first.Time <= m.clocks.Pieces[k].common(1, second.Time)
}

// Observe takes the next packet, of the first capture (point 0) or the second (1).
func (m *Merger) Observe(point int, s *Sighting) {
	m.result.Packets[point]++
	index, between := m.clocks.piece(point, s.Number)
	if index > m.index {
		m.settleAll(maxTime)
		m.index, m.now = index, minTime
	}
	at := m.clocks.Pieces[index].common(point, s.Time)
	m.now = max(m.now, at)
	t := m.strand(s)
	if t == nil {
		m.result.Left++
		return
	}
	h := held{key: s.key, number: s.Number, at: at, mate: -1, sequence: s.sequence, icrc: s.icrc, kind: s.kind, ecn: s.ecn, stamp: s.stamp, ack: s.ack}
	if s.hasICRC {
		h.flags |= heldICRC
	}
	if s.ackRequest {
		h.flags |= heldAckRequest
	}
	if s.damaged {
		h.flags |= heldDamaged
	}
	if between || m.outside(point, index, at) {
		h.flags |= heldOutside
	}
	t.waiting[point] = append(t.waiting[point], h)
	m.waiting++
	c := m.talks[s.lane.flow]
	if c.waiting == 0 {
		c.oldest = at
	}
	c.waiting++
	if c.waiting >= c.next && c.oldest < m.now-m.config.Window {
		m.settle(c, m.now-m.config.Window)
	}
	if m.waiting > m.config.MaxWaiting {
		m.makeRoom()
	}
}

// nearStep is how far from the moment at which a clock was set packets are left out, ns: which came before it is not
// the same at both points.
const nearStep = 1e6

// outside tells whether the other capture may not have been running when the packet passed its point, or a clock was
// just being set.
func (m *Merger) outside(point, index int, at int64) bool {
	c := m.clocks
	p := &c.Pieces[index]
	if index > 0 && at < p.origin+int64(p.line.firstT)+4*c.slack+nearStep || index < len(c.Pieces)-1 && at > p.origin+int64(p.line.lastT)-4*c.slack-nearStep {
		return true
	}
	margin := 2*c.slack + c.Grain[0] + c.Grain[1]
	if p.DoubtKnown {
		margin += p.OffsetDoubt
	}
	other := c.extent[1-point]
	if index == 0 && at < p.common(1-point, other[0])+margin {
		return true
	}
	return index == len(c.Pieces)-1 && at > p.common(1-point, other[1])-margin
}

const (
	maxTime = math.MaxInt64
	minTime = -maxTime
)

// makeRoom settles what has waited for less than the window.
func (m *Merger) makeRoom() {
	window := m.config.Window
	m.settleAll(m.now - m.config.Window) // these have waited long enough
	m.cut = m.now
	for m.waiting > m.config.MaxWaiting/2 && window > 0 {
		m.settleAll(m.now - window)
		m.result.Window = min(m.result.Window, window)
		window /= 4
	}
	if m.waiting > m.config.MaxWaiting/2 {
		m.settleAll(maxTime)
		m.result.Window = 0
	}
}

func (m *Merger) settleAll(horizon int64) {
	for _, c := range m.all {
		if c.waiting > 0 {
			m.settle(c, horizon)
		}
	}
}

// strand finds or makes the strand of a packet's lane, and its conversation. nil: there are too many.
func (m *Merger) strand(s *Sighting) *strand {
	if t := m.strands[s.lane]; t != nil {
		return t
	}
	if len(m.strands) >= m.config.MaxDirections {
		return nil
	}
	c := m.talks[s.lane.flow]
	if c == nil {
		partner := m.clocks.partners[s.lane.flow]
		if partner != 0 {
			c = m.talks[partner]
		}
		if c == nil {
			c = &conversation{dialogues: map[lane]*dialogue{}, next: 1024}
			m.all = append(m.all, c)
		}
		m.talks[s.lane.flow] = c
		if partner != 0 && m.talks[partner] == nil {
			m.talks[partner] = c
		}
	}
	r := route{s.source, s.destination}
	t := &strand{
		lane: s.lane, order: m.clocks.orders[r], counts: s.lane.path >= 0 || m.clocks.counting[s.lane],
		report: &Direction{
			Flow: s.lane.flow, Partner: m.clocks.partners[s.lane.flow], Source: s.source, Destination: s.destination,
			DestinationQP: s.qp, Path: s.lane.path, CNPs: s.lane.cnp, Order: m.clocks.orders[r], naming: &m.naming,
		},
		sums: &sums{},
	}
	m.strands[s.lane] = t
	c.strands = append(c.strands, t)
	return t
}

// settle pairs what has waited long enough in a conversation, and judges it in the order of time.
func (m *Merger) settle(c *conversation, horizon int64) {
	m.done = m.done[:0]
	for _, t := range c.strands {
		m.pairing.pair(t, m.tolerance(), m.config.Window, c.roundTrip(t.lane))
		m.take(t, horizon)
	}
	slices.SortStableFunc(m.done, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for i := range m.done {
		m.judge(c, &m.done[i])
	}
	c.oldest, c.waiting = maxTime, 0
	for _, t := range c.strands {
		for point := range t.waiting {
			c.waiting += len(t.waiting[point])
			if len(t.waiting[point]) > 0 {
				c.oldest = min(c.oldest, t.waiting[point][0].at)
			}
		}
	}
	c.next = 2*c.waiting + 1024
}

// tolerance is how far behind its time a packet may seem to be before its counterpart, ns.
func (m *Merger) tolerance() int64 {
	p := &m.clocks.Pieces[m.index]
	if !p.DoubtKnown {
		return m.config.Window
	}
	return 2*p.OffsetDoubt + m.clocks.Grain[0] + m.clocks.Grain[1]
}

// take moves what is older than the horizon from a strand into events, pairs whole.
func (m *Merger) take(t *strand, horizon int64) {
	gone := func(h *held, other []held) bool {
		return h.at <= horizon || (h.mate >= 0 && other[h.mate].at <= horizon)
	}
	for i := range t.waiting[0] {
		h := &t.waiting[0][i]
		if !gone(h, t.waiting[1]) {
			continue
		}
		e := event{strand: t, at: h.at, seen: [2]*held{h}}
		if h.mate >= 0 {
			e.seen[1] = &t.waiting[1][h.mate]
			e.at = min(e.at, e.seen[1].at)
		}
		m.done = append(m.done, e)
	}
	for i := range t.waiting[1] {
		if h := &t.waiting[1][i]; h.mate < 0 && gone(h, nil) {
			m.done = append(m.done, event{strand: t, at: h.at, seen: [2]*held{1: h}})
		}
	}
	m.keep(t, gone)
}

// keep leaves in a strand what is to wait on. Events point at what is taken, so the rest goes into new memory.
func (m *Merger) keep(t *strand, gone func(*held, []held) bool) {
	var rest [2][]held
	for point := range t.waiting {
		for i := range t.waiting[point] {
			if h := &t.waiting[point][i]; !gone(h, t.waiting[1-point]) {
				rest[point] = append(rest[point], *h)
			}
		}
		m.waiting -= len(t.waiting[point]) - len(rest[point])
	}
	for point := range rest {
		for i := range rest[point] {
			rest[point][i].mate, rest[point][i].state = -1, stateAlone
		}
	}
	t.waiting = rest
}

// Finish judges what still waits. The Merger is of no use after it.
func (m *Merger) Finish() *Result {
	m.settleAll(maxTime)
	m.finish()
	return &m.result
}
