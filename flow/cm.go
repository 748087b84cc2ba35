package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// The connection manager's datagrams go between QPs 1 (IBTA volume 1, chapter 12). Its REQ names the QPN of the active
// side, the PSN at which it wants the passive one to begin, and what the connection is for; its REP names the QPN of
// the passive side, and the PSN at which that wants the active one to begin.

// endpoint names one direction of a connection as the connection manager knows it.
type endpoint struct {
	source, destination dissector.Address
	qp                  uint32 // of the destination; of a request that waits, its communication ID
	protocol            dissector.Protocol
}

// side is what a REQ or REP says of its sender, and then of a direction.
type side struct {
	qp  uint32 // of the sender
	psn uint32 // its first, as the other side wishes
	own uint32 // what it wishes of the other side; some tools begin with it themselves
	mtu uint16
	old bool // of a request: it was answered

	service mad.ServiceID // of the connection
}

// manager remembers requests that wait for their reply and connections whose flows may appear, both up to a
// limit.
type manager struct {
	pending     bounded
	connections bounded
}

func newManager() manager {
	return manager{
		pending:     bounded{sides: make(map[endpoint]side)},
		connections: bounded{sides: make(map[endpoint]side)},
	}
}

// bounded is a map that forgets what was put into it first.
type bounded struct {
	sides map[endpoint]side
	order []endpoint
	next  int
}

func (b *bounded) put(e endpoint, s side, limit int) {
	if _, ok := b.sides[e]; !ok {
		if len(b.order) < limit {
			b.order = append(b.order, e)
		} else {
			delete(b.sides, b.order[b.next])
			b.order[b.next] = e
			b.next = (b.next + 1) % limit
		}
	}
	b.sides[e] = s
}

// manage reads a datagram of the connection manager.
func (t *Tracker) manage(p *dissector.Packet) {
	if p.BTH.DestinationQP != infiniband.GeneralServicesQP {
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
		if _, err := m.Decode(payload[n:]); err != nil {
			return
		}
		mtu, _ := m.PathMTU.Bytes() // 0 when the code is reserved
		s := side{qp: m.LocalQPN, own: m.StartingPSN, mtu: uint16(mtu), service: m.ServiceID}
		t.cm.pending.put(endpoint{p.Network.Source, p.Network.Destination, m.LocalID, p.Protocol}, s, maxPendingREQ)
	case mad.MessageREP:
		var m mad.REP
		if _, err := m.Decode(payload[n:]); err != nil {
			return
		}
		asked := endpoint{p.Network.Destination, p.Network.Source, m.RemoteID, p.Protocol}
		active, ok := t.cm.pending.sides[asked]
		if !ok || active.old {
			return
		}
		t.cm.pending.sides[asked] = side{old: true}
		active.psn = m.StartingPSN
		passive := side{qp: m.LocalQPN, psn: active.own, own: m.StartingPSN, mtu: active.mtu, service: active.service}
		t.connect(p, active, passive)
	default: // what follows, or what went wrong, names no QPN
	}
}

// connect notes a connection whose REP is p, sent by the passive side.
func (t *Tracker) connect(p *dissector.Packet, active, passive side) {
	forth := endpoint{p.Network.Destination, p.Network.Source, passive.qp, p.Protocol}
	back := endpoint{p.Network.Source, p.Network.Destination, active.qp, p.Protocol}
	again := t.cm.connections.sides[forth] == active && t.cm.connections.sides[back] == passive
	t.cm.connections.put(forth, active, t.config.MaxConnections)
	t.cm.connections.put(back, passive, t.config.MaxConnections)
	for _, e := range [...]endpoint{forth, back} {
		for _, service := range [...]infiniband.Service{infiniband.ServiceRC, infiniband.ServiceXRC, infiniband.ServiceUC} {
			k := e.key(service)
			if f, _ := t.lookUp(&k); f != nil {
				t.reopen(f, again)
			}
		}
	}
}

// reopen prepares a flow that is there already for the connection that was just made. When REQ and REP only
// repeat what is known, that may be the same connection: then the first PSN has to come again to tell.
func (t *Tracker) reopen(f *flow, again bool) {
	if again {
		f.requests.watch |= watchReopen
		return
	}
	t.restart(f)
	t.introduce(f)
}

// restart forgets the PSNs of a flow's requests and answers, not what was counted.
func (t *Tracker) restart(f *flow) {
	t.settle(f, &f.requests)
	t.settle(f, &f.answers)
	f.requests.watch, f.answers.watch = watchStart, watchStart
	f.messages.open, f.answerOpen = false, false
}

// reopened tells whether the packet begins the connection that reopen waits for, and prepares for it.
func (t *Tracker) reopened(f *flow, psn uint32) bool {
	f.requests.watch &^= watchReopen
	s, ok := t.cm.connections.sides[endpoint{f.key.Source, f.key.Destination, f.key.DestinationQP, f.key.Protocol}]
	if !ok || (s.psn != psn && s.own != psn) || f.requests.next.psn() == psn {
		return false
	}
	t.restart(f)
	f.requests.start(psn)
	if r := t.partner(f); r != nil {
		t.settle(r, &r.answers)
		r.answers.watch, r.answerOpen = watchStart, false
	}
	return true
}

// beginOwn takes the first request of a flow that was introduced, which may have the PSN that its sender named for the
// other side.
func (t *Tracker) beginOwn(f *flow, psn uint32) {
	f.requests.watch &^= watchOwn
	s, ok := t.cm.connections.sides[endpoint{f.key.Source, f.key.Destination, f.key.DestinationQP, f.key.Protocol}]
	if ok && s.own == psn {
		f.startRequests(psn)
	}
}

func (e endpoint) key(service infiniband.Service) Key {
	return Key{
		Source: e.source, Destination: e.destination, DestinationQP: e.qp,
		Service: service, Protocol: e.protocol,
	}
}

// introduce gives a new flow what the connection manager said of it.
func (t *Tracker) introduce(f *flow) {
	if len(t.cm.connections.sides) == 0 || (!f.ordered() && f.service != infiniband.ServiceCNP) {
		return
	}
	s, ok := t.cm.connections.sides[endpoint{f.key.Source, f.key.Destination, f.key.DestinationQP, f.key.Protocol}]
	if !ok {
		return
	}
	f.cmMTU = s.mtu
	f.serviceID, f.introduced = s.service, true
	f.requests.start(s.psn)
	if s.own != s.psn {
		f.requests.watch |= watchOwn
	}
	k := Key{
		Source: f.key.Destination, Destination: f.key.Source, DestinationQP: s.qp,
		Service: f.key.Service, Protocol: f.key.Protocol,
	}
	if g := t.opposed(&k); g != nil {
		t.dropGuess(f)
		t.link(f, g, PairingCM)
		return
	}
	f.sourceQP, f.pairing = s.qp+1, PairingCM
}

// opposed is the flow of the key, of CNPs alone if that is all there is; nil when there is none. The key of CNPs
// alone stands for that of any service.
func (t *Tracker) opposed(k *Key) *flow {
	f, hash := t.lookUp(k)
	if f == nil {
		f = t.table.findQP(&t.flows, hash, k)
	}
	return f
}
