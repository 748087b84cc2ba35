package replay

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	rocejudge "github.com/rocelens/rocelens/replay/roce/judge"
)

// end is one direction as the connection manager knows it; of a request that waits, qp is its communication ID.
type end struct {
	source, destination dissector.Address
	qp                  uint32
}

// asked is what a REQ said.
type asked struct {
	agreement        rocejudge.Agreement
	starting         uint32 // PSN at which the passive side is to begin
	depth, resources uint8
	rnr              uint8
	localAckTimeout  int64
}

// agreements remembers what the connection manager said, up to a limit.
type agreements struct {
	pending  map[end]asked
	ends     map[end]rocejudge.Agreement
	attempts map[end]*attempt
}

const maxAgreements = 1 << 14

func newAgreements() agreements {
	return agreements{pending: map[end]asked{}, ends: map[end]rocejudge.Agreement{}, attempts: map[end]*attempt{}}
}

// observe reads a datagram of the connection manager (IBTA volume 1, sections 12.6.5 and 12.6.8).
func (a *agreements) observe(p *dissector.Packet) {
	if p.Has&infiniband.HasDETH == 0 || p.BTH.DestinationQP != infiniband.GeneralServicesQP {
		return
	}
	payload := p.Payload()
	var h mad.Header
	n, err := h.Decode(payload)
	if err != nil {
		return
	}
	switch h.Message() {
	case mad.MessageREQ:
		var m mad.REQ
		if _, err := m.Decode(payload[n:]); err == nil {
			a.ask(p, &m)
		}
	case mad.MessageREP:
		var m mad.REP
		if _, err := m.Decode(payload[n:]); err == nil {
			a.accept(p, &m)
		}
	case mad.MessageREJ:
		var m mad.REJ
		if _, err := m.Decode(payload[n:]); err == nil {
			a.refuse(p, &m)
		}
	default: // the others change nothing that rules need
	}
}

func (a *agreements) ask(p *dissector.Packet, m *mad.REQ) {
	if len(a.pending) >= maxAgreements {
		clear(a.pending)
	}
	mtu, _ := m.PathMTU.Bytes() // 0 when the code is reserved
	source, destination := p.Ends()
	key := end{source, destination, m.LocalID}
	a.tried(key, p, m)
	a.pending[key] = asked{
		agreement: rocejudge.Agreement{
			Known: true, QPN: m.LocalQPN, PathMTU: uint16(mtu), Retries: m.RetryCount, RetriesKnown: true,
		},
		starting: m.StartingPSN, depth: m.InitiatorDepth, resources: m.ResponderResources, rnr: m.RNRRetryCount,
		localAckTimeout: int64(m.PrimaryPath.AckTimeout.Duration()),
	}
}

// accept takes a REP. Each side tells the other where to begin, and asks the other for the RNR retries that it wants, and the passive one is told the
// timeout of its requests by the REQ; that of the active one follows from what only it knows.
func (a *agreements) accept(p *dissector.Packet, m *mad.REP) {
	source, destination := p.Ends()
	key := end{destination, source, m.RemoteID}
	q, ok := a.pending[key]
	if !ok {
		return
	}
	if t := a.attempts[key]; t != nil {
		t.accepted = true
	}
	if len(a.ends) >= maxAgreements {
		clear(a.ends)
	}
	active := q.agreement
	active.StartingPSN = m.StartingPSN
	active.RNRRetries, active.RNRRetriesKnown = m.RNRRetryCount, true
	active.ReadDepth, active.ReadDepthKnown = min(q.depth, m.ResponderResources), true
	passive := rocejudge.Agreement{
		Known: true, QPN: m.LocalQPN, StartingPSN: q.starting, PathMTU: q.agreement.PathMTU,
		Retries: q.agreement.Retries, RetriesKnown: true, RNRRetries: q.rnr, RNRRetriesKnown: true,
		ReadDepth: min(m.InitiatorDepth, q.resources), ReadDepthKnown: true,
		AckTimeout: q.localAckTimeout, AckTimeoutKnown: q.localAckTimeout != 0,
	}
	a.ends[end{destination, source, passive.QPN}] = active
	a.ends[end{source, destination, active.QPN}] = passive
}

// agree tells a judge what the connection manager said of the two ends; p is a packet of a lane. Who is judged anew later
// has long left the PSN at which it was to begin.
func (e *Engine) agree(c *connection, p *dissector.Packet, lane int) {
	j, ok := c.judge.(*rocejudge.Connection)
	if !ok {
		return
	}
	source, destination := p.Ends()
	sender, ok := e.agreements.use(end{source, destination, p.BTH.DestinationQP})
	if !ok {
		return
	}
	j.Agree(lane, &sender)
	if receiver, ok := e.agreements.use(end{destination, source, sender.QPN}); ok {
		j.Agree(1-lane, &receiver)
	}
}

// use is what was agreed of an end. Its starting PSN holds for who uses it first.
func (a *agreements) use(key end) (rocejudge.Agreement, bool) {
	found, ok := a.ends[key]
	if ok && found.Known {
		later := found
		later.Known = false
		a.ends[key] = later
	}
	return found, ok
}
