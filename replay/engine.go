package replay

import (
	"math"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// Sink takes what an engine finds. What is handed over is valid during the call only.
type Sink interface {
	Finding(f *finding.Finding)
	Connection(c *finding.Connection)
	Attempt(a *finding.Attempt) // to set up a connection, that failed
}

// Config bounds what an [Engine] remembers. A zero field means its default.
type Config struct {
	// MaxConnections is how many connections are judged at once. When one more appears, the one that was seen least
	// recently is reported and forgotten. 65,536 by default; each takes 4 KiB and more, up to 600 KiB with much under way.
	MaxConnections int
	// MaxWaiting is how many packets are kept in all of directions whose opposite is not known yet. 16,384 by default.
	MaxWaiting int
	// MaxWaitingEach is the same for each direction. When there are more, it is judged alone. 256 by default.
	MaxWaitingEach int
	// MaxBytes bounds the memory of all judges together. When they take more, the connections that were seen least
	// recently are reported and forgotten. No limit by default but that of MaxConnections.
	MaxBytes int64
}

func (c Config) withDefaults() Config {
	if c.MaxConnections <= 0 {
		c.MaxConnections = 1 << 16
	}
	if c.MaxWaiting <= 0 {
		c.MaxWaiting = 1 << 14
	}
	if c.MaxWaitingEach <= 0 {
		c.MaxWaitingEach = 256
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = math.MaxInt64
	}
	return c
}

// judge is what holds one connection against its transport's rules.
type judge interface {
	Observe(lane int, s *finding.Sighting)
	Join()
	Close(report *finding.Connection)
	Footprint() int // bytes
	Renew()
}

// direction is one direction of a connection, known by the flow that the tracker of flows made of it.
type direction struct {
	flow    uint64
	partner uint64 // 0: not known
	conn    *connection
	lane    int
	waiting []*waiting
}

// A decoded packet is large: those that wait are made some at a time and used again, since to let them grow with append
// copies each several times over, which took most of the time of a capture of many short connections.
const (
	waitingSlab = 16
	mostSpare   = 1 << 11
)

// waiting is a packet of a direction whose opposite is not known. Its bytes are not kept.
type waiting struct {
	packet   dissector.Packet
	sighting finding.Sighting
}

// connection is what a judge sees of one or two directions.
type connection struct {
	judge        judge
	flows        [2]uint64 // by lane; 0: none
	metaroce     bool
	newer, older *connection // in the order in which they were last seen
	last         int64       // time of its latest packet, ns since the Unix epoch
	packets      uint32      // since it was opened; wraps
	bytes        int         // of memory, when it was last looked at
}

// Totals counts what an engine has looked at.
type Totals struct {
	Packets        uint64 // that belong to a connection
	Copies         uint64 // of these: made by a mirror, and left out
	Unjudged       uint64 // of these: waited for their opposite direction until that was judged without them
	Connections    uint64
	OneWay         uint64 // of these: one direction only
	Evicted        uint64 // of these: reported early, since there were too many
	Diverging      uint64 // of these: with a divergence
	Undecided      uint64 // of these: without, but with a place that the capture cannot tell about
	FailedAttempts uint64 // to set up a connection
	Gaps           uint64 // places at which the capture lost packets
	Tallies        [finding.RuleCount]finding.Tally
}

// Engine judges connections. It is for one goroutine.
type Engine struct {
	config Config
	sink   Sink

	directions map[uint64]*direction
	agreements agreements
	notifiers  notifiers
	newest     *connection
	oldest     *connection
	count      int
	kept       int // packets that wait
	spare      []*waiting
	bytes      int64 // of all judges
	totals     Totals
	report     finding.Connection
	latest     *direction
}

// New is an engine that has seen nothing.
func New(c Config, sink Sink) *Engine {
	return &Engine{config: c.withDefaults(), sink: sink, directions: map[uint64]*direction{}, agreements: newAgreements(), notifiers: newNotifiers()}
}

// Observe takes the next packet of the capture. It keeps nothing of s, nor of the packet's bytes.
func (e *Engine) Observe(s *finding.Sighting) {
	if s.Packet.Has != 0 && s.Err == nil {
		e.agreements.observe(s.Packet)
	}
	if s.Flow == 0 || !judged(s.Packet) {
		return
	}
	e.totals.Packets++
	if s.Copy {
		e.totals.Copies++
		return
	}
	if s.Packet.BTH.Opcode.IsCNP() && s.Packet.IsRDMA() && s.Err == nil {
		e.notifiers.observe(s.Packet)
	}
	d := e.direction(s.Flow)
	if s.Partner != d.partner && s.Partner != 0 {
		e.pair(d, s.Partner, s.Packet)
	}
	if d.conn == nil && e.kept >= e.config.MaxWaiting {
		e.tired()
	}
	switch {
	case d.conn != nil:
		e.touch(d.conn)
		d.conn.last = s.Packet.Meta.Time
		d.conn.judge.Observe(d.lane, s)
		e.weigh(d.conn)
	case len(d.waiting) < e.config.MaxWaitingEach:
		e.wait(d, s)
	default:
		e.alone(d)
		d.conn.judge.Observe(d.lane, s)
	}
}

// judged tells whether there are rules for the packet's transport.
func judged(p *dissector.Packet) bool {
	if !p.IsRDMA() {
		return p.Protocol == dissector.ProtocolMetaRoCE
	}
	switch p.BTH.Opcode.Service() {
	case infiniband.ServiceRC, infiniband.ServiceXRC, infiniband.ServiceCNP:
		return true
	case infiniband.ServiceUC, infiniband.ServiceRD, infiniband.ServiceUD, infiniband.ServiceVendor, infiniband.ServiceVendor2:
	}
	return false
}

func (e *Engine) direction(flow uint64) *direction {
	if d := e.latest; d != nil && d.flow == flow {
		return d
	}
	d := e.directions[flow]
	if d == nil {
		d = &direction{flow: flow}
		e.directions[flow] = d
	}
	e.latest = d
	return d
}

// wait keeps a packet until the opposite direction is known.
func (e *Engine) wait(d *direction, s *finding.Sighting) {
	if len(e.spare) == 0 {
		more := make([]waiting, waitingSlab)
		for i := range more {
			e.spare = append(e.spare, &more[i])
		}
	}
	w := e.spare[len(e.spare)-1]
	e.spare = e.spare[:len(e.spare)-1]
	w.packet, w.sighting = *s.Packet, *s
	w.packet.Data = nil
	d.waiting = append(d.waiting, w)
	e.kept++
}

// hand gives a judge what waited of a direction.
func (e *Engine) hand(d *direction, w *waiting) {
	w.sighting.Packet = &w.packet
	d.conn.last = max(d.conn.last, w.packet.Meta.Time)
	d.conn.judge.Observe(d.lane, &w.sighting)
}

func (e *Engine) release(d *direction) {
	e.kept -= len(d.waiting)
	if len(e.spare) < mostSpare {
		e.spare = append(e.spare, d.waiting...)
	}
	d.waiting = nil
}

// tired stops waiting: every direction that waits is judged alone, which makes room for those that come.
func (e *Engine) tired() {
	for _, d := range e.inOrder() {
		if d.conn == nil && len(d.waiting) > 0 {
			e.alone(d)
		}
	}
}

// alone begins to judge a direction whose opposite did not become known in time.
func (e *Engine) alone(d *direction) {
	metaroce := len(d.waiting) > 0 && d.waiting[0].packet.Protocol == dissector.ProtocolMetaRoCE
	e.open(d, 0, metaroce)
	if len(d.waiting) > 0 {
		e.agree(d.conn, &d.waiting[0].packet, d.lane)
	}
	for i := range d.waiting {
		e.hand(d, d.waiting[i])
	}
	e.release(d)
}

// open makes a connection for a direction.
func (e *Engine) open(d *direction, lane int, metaroce bool) {
	c := &connection{metaroce: metaroce}
	c.flows[lane] = d.flow
	c.judge = newJudge(d.flow, d.partner, metaroce, e.found)
	d.conn, d.lane = c, lane
	c.bytes = c.judge.Footprint()
	e.bytes += int64(c.bytes)
	e.count++
	e.totals.Connections++
	e.push(c)
	for e.count > e.config.MaxConnections {
		e.totals.Evicted++
		e.retire(e.oldest)
	}
}

// forget drops a direction of which nothing is kept.
func (e *Engine) forget(flow uint64) {
	d := e.directions[flow]
	if d == nil || d.conn != nil || len(d.waiting) > 0 {
		return
	}
	delete(e.directions, flow)
	if e.latest == d {
		e.latest = nil
	}
}

// pair puts two directions into one connection.
func (e *Engine) pair(d *direction, partner uint64, p *dissector.Packet) {
	if d.partner != 0 { // it was thought to belong to another
		e.part(d)
	}
	o := e.directions[partner]
	if o == nil {
		o = &direction{flow: partner}
		e.directions[partner] = o
	}
	if o.partner != 0 && o.partner != d.flow {
		e.part(o)
	}
	d.partner, o.partner = o.flow, d.flow
	switch {
	case d.conn == nil && o.conn == nil:
		e.open(d, 0, p.Protocol == dissector.ProtocolMetaRoCE)
		o.conn, o.lane = d.conn, 1
		d.conn.flows[1] = o.flow
		e.agree(d.conn, p, d.lane)
		e.merge(d, o)
	case d.conn == nil:
		e.join(d, o)
	case o.conn == nil:
		e.join(o, d)
	default: // both were judged alone
		e.close(o.conn)
		e.join(o, d)
	}
}

// Pair tells that two flows are the two directions of one connection, which was found after their packets were seen.
func (e *Engine) Pair(flow, partner uint64, how string) {
	d, o := e.directions[flow], e.directions[partner]
	if d == nil || o == nil || d.partner == partner || len(d.waiting)+len(o.waiting) == 0 {
		return
	}
	for _, x := range [...]*direction{d, o} {
		for i := range x.waiting {
			x.waiting[i].sighting.Pairing = how
		}
	}
	first := d
	if len(d.waiting) == 0 {
		first = o
	}
	e.pair(d, partner, &first.waiting[0].packet)
}

// join adds a direction to the connection of its opposite. What waited of it is older than what was judged.
func (e *Engine) join(d, o *direction) {
	e.totals.Unjudged += uint64(len(d.waiting))
	e.release(d)
	d.conn, d.lane = o.conn, 1-o.lane
	d.conn.flows[d.lane] = d.flow
	d.conn.judge.Join()
}

// merge hands over what waited of both directions, in the order of the capture.
func (e *Engine) merge(d, o *direction) {
	i, j := 0, 0
	for i < len(d.waiting) || j < len(o.waiting) {
		if j == len(o.waiting) || (i < len(d.waiting) && d.waiting[i].packet.Meta.Number < o.waiting[j].packet.Meta.Number) {
			e.hand(d, d.waiting[i])
			i++
			continue
		}
		e.hand(o, o.waiting[j])
		j++
	}
	e.release(d)
	e.release(o)
}

// part ends the connection of a direction that belongs to another one.
func (e *Engine) part(d *direction) {
	if d.conn != nil {
		e.close(d.conn)
	}
	if o := e.directions[d.partner]; o != nil {
		o.partner = 0
		e.forget(o.flow)
	}
	d.partner = 0
}

// found counts a finding and hands it on.
func (e *Engine) found(f *finding.Finding) { e.sink.Finding(f) }

// close reports a connection and forgets it. Its directions belong to none then.
func (e *Engine) close(c *connection) {
	e.remove(c)
	e.count--
	e.bytes -= int64(c.bytes)
	e.report = finding.Connection{}
	c.judge.Close(&e.report)
	e.notifiers.describe(&e.report)
	e.tally()
	e.sink.Connection(&e.report)
	for _, flow := range c.flows {
		if d := e.directions[flow]; d != nil && d.conn == c {
			d.conn = nil
		}
	}
}

func (e *Engine) tally() {
	if e.report.OneWay {
		e.totals.OneWay++
	}
	switch e.report.Verdict() {
	case finding.Diverges:
		e.totals.Diverging++
	case finding.Undetermined:
		e.totals.Undecided++
	case finding.Conforms:
	}
	for i := range e.report.Tallies {
		e.totals.Tallies[i].Merge(e.report.Tallies[i])
	}
}

// Flush judges what still waits and reports every connection.
func (e *Engine) Flush() {
	e.conclude()
	failed := e.agreements.failed()
	for i := range failed {
		e.sink.Attempt(&failed[i])
	}
	e.totals.FailedAttempts += uint64(len(failed))
	clear(e.agreements.attempts)
}

// conclude is Flush for connections that were set up.
func (e *Engine) conclude() {
	for _, d := range e.inOrder() {
		if d.conn == nil {
			e.alone(d)
		}
	}
	for e.oldest != nil {
		e.close(e.oldest)
	}
	clear(e.directions)
	e.latest = nil
}

// Totals are the sums so far, over all connections that were reported.
func (e *Engine) Totals() Totals { return e.totals }
