package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// metaKey is the key of the flow that packets of a direction belong to, by the connection id that their receiver
// chose. A CONN_REQ does not know that id: until it is answered, the flow has the id 0 and that of its sender.
func metaKey(p *dissector.Packet, conn uint32) Key {
	return Key{
		Source: p.Network.Source, Destination: p.Network.Destination,
		DestinationQP: conn, Service: ServiceMetaRoCE, Protocol: dissector.ProtocolMetaRoCE,
	}
}

// back is the key of the other direction.
func (k Key) back(conn uint32) Key {
	k.Source, k.Destination = k.Destination, k.Source
	k.DestinationQP, k.SourceQP = conn, 0
	return k
}

func metaHash(addresses uint64, k *Key) uint64 {
	return mixRest(addresses^mixC, uint64(k.DestinationQP)|uint64(k.SourceQP)<<32)
}

// metaFind is the flow of a packet, nil when there is none.
func (t *Tracker) metaFind(p *dissector.Packet, m *mr0.Packet) *metaFlow {
	f := t.meta.latest
	if f != nil && f.key.DestinationQP == m.CH.DestConnID && f.key.Source == p.Network.Source && f.key.Destination == p.Network.Destination {
		return f
	}
	k := metaKey(p, m.CH.DestConnID)
	return t.meta.table.find(metaHash(addressHash(&k.Source, &k.Destination), &k), &k)
}

// metaFlowOf is the packet's flow, a new one if need be.
func (t *Tracker) metaFlowOf(p *dissector.Packet, m *mr0.Packet) *metaFlow {
	if m.CH.Type == mr0.TypeConnReq && m.Has&mr0.HasCONN != 0 {
		return t.metaRequested(p, m)
	}
	f := t.metaFind(p, m)
	if f != nil && m.CH.Type == mr0.TypeConnRep && m.Has&mr0.HasCONN != 0 && f.reverse != nil && f.reverse.handshake.hasNonce &&
		f.reverse.handshake.nonce != m.CONN.Nonce { // the id is used again
		t.retire(f.reverse)
		t.retire(f)
		f = nil
	}
	if f == nil {
		f = t.metaCreate(metaKey(p, m.CH.DestConnID), p)
	}
	t.meta.latest = f
	return f
}

// metaRequested is the flow of a CONN_REQ: an accepted one that is asked for again, one that waits, or a new one.
func (t *Tracker) metaRequested(p *dissector.Packet, m *mr0.Packet) *metaFlow {
	k := metaKey(p, 0)
	back := k.back(m.CONN.SourceConnID)
	if g := t.lookUpMeta(back); g != nil && g.reverse != nil && g.reverse.handshake.hasNonce && g.reverse.handshake.nonce == m.CONN.Nonce {
		return g.reverse
	}
	k.SourceQP = m.CONN.SourceConnID
	f := t.lookUpMeta(k)
	if f != nil && f.handshake.nonce != m.CONN.Nonce {
		t.retire(f)
		f = nil
	}
	if f == nil {
		f = t.metaCreate(k, p)
	}
	return f
}

func (t *Tracker) lookUpMeta(k Key) *metaFlow {
	return t.meta.table.find(metaHash(addressHash(&k.Source, &k.Destination), &k), &k)
}

func (t *Tracker) metaCreate(k Key, p *dissector.Packet) *metaFlow {
	if t.meta.live() >= t.config.MaxFlows {
		t.evictMeta()
	}
	f := &metaFlow{key: k, firstNumber: p.Meta.Number, sourcePort: p.UDP.SourcePort, link: linkOf(p)}
	f.addresses = [2]uint64{addressHash(&k.Source, &k.Destination), addressHash(&k.Destination, &k.Source)}
	f.hash = metaHash(f.addresses[0], &k)
	f.id = ID(f.hash)
	f.stamp = t.stamp
	if n := len(t.meta.free); n > 0 {
		f.number = t.meta.free[n-1]
		t.meta.free = t.meta.free[:n-1]
		t.meta.flows[f.number] = f
	} else {
		f.number = uint32(len(t.meta.flows))
		t.meta.flows = append(t.meta.flows, f)
	}
	t.meta.table.insert(f)
	t.meta.order.add(f.number, t.stamp)
	t.totals.Flows++
	if t.cutting {
		t.meta.awake.add(f.number)
	}
	if g := t.meta.announced[k]; g != nil {
		delete(t.meta.announced, k)
		if g.reverse == nil && !g.gone {
			t.pairMeta(f, g, PairingCM)
		}
	}
	return f
}

// setUp takes a CONN_REQ, CONN_REP or CONN_REJ.
func (t *Tracker) setUp(f *metaFlow, p *dissector.Packet, m *mr0.Packet) {
	switch {
	case m.CH.Type == mr0.TypeConnRej && m.Has&mr0.HasREJ != 0:
		if asked := t.askedBy(f, m.REJ.Nonce); asked != nil && f.reverse == nil {
			asked.handshake.result, asked.handshake.reject = HandshakeRejected, m.REJ.Reason
			t.pairMeta(asked, f, PairingCM)
		}
		return
	case m.Has&mr0.HasCONN == 0:
		return
	}
	h := &f.handshake
	h.conn, h.declared, h.nonce, h.hasNonce = m.CONN, true, m.CONN.Nonce, true
	f.peerID, f.hasPeerID = m.CONN.SourceConnID, true
	if m.CH.Type == mr0.TypeConnReq {
		h.requests++
		if h.result == HandshakeUnseen {
			h.result, h.requestTime, h.timed = HandshakeRequested, p.Meta.Time, p.Meta.HasTime
		}
		return
	}
	if asked := t.askedBy(f, m.CONN.Nonce); asked != nil && f.reverse == nil {
		t.accept(asked, f, p, m)
		return
	}
	t.announce(f, m.CONN.SourceConnID)
}

// askedBy is the unanswered request of the other direction with a nonce.
func (t *Tracker) askedBy(f *metaFlow, nonce uint64) *metaFlow {
	k := f.key.back(0)
	k.SourceQP = f.key.DestinationQP
	if asked := t.lookUpMeta(k); asked != nil && asked.handshake.nonce == nonce && asked.reverse == nil {
		return asked
	}
	return nil
}

// accept gives the flow of an accepted request the id that its packets will bear.
func (t *Tracker) accept(asked, f *metaFlow, p *dissector.Packet, m *mr0.Packet) {
	k := f.key.back(m.CONN.SourceConnID)
	if old := t.lookUpMeta(k); old != nil {
		t.retire(old)
	}
	t.meta.table.remove(asked)
	asked.key, asked.hash = k, metaHash(asked.addresses[0], &k)
	t.meta.table.insert(asked)
	h := &asked.handshake
	h.result = HandshakeAccepted
	if h.timed && p.Meta.HasTime && p.Meta.Time >= h.requestTime {
		h.acceptTime = known(uint64(p.Meta.Time - h.requestTime))
	}
	t.pairMeta(asked, f, PairingCM)
}

// announce pairs the flow with the direction whose id its packets tell, now or when that is seen.
func (t *Tracker) announce(f *metaFlow, conn uint32) {
	f.peerID, f.hasPeerID = conn, true
	if f.reverse != nil {
		return
	}
	k := f.key.back(conn)
	if g := t.lookUpMeta(k); g != nil {
		if g.reverse == nil {
			t.pairMeta(f, g, PairingCM)
		}
		return
	}
	if t.meta.announced == nil {
		t.meta.announced = map[Key]*metaFlow{}
	}
	if len(t.meta.announced) < t.config.MaxConnections {
		t.meta.announced[k] = f
	}
}

func (t *Tracker) disconnect(f *metaFlow, m *mr0.Packet) {
	if m.Has&mr0.HasDISC == 0 {
		return
	}
	f.handshake.disconnected, f.handshake.disconnection = true, m.DISC.Reason
	t.announce(f, m.DISC.SourceConnID)
}

// pairMeta makes two flows the directions of one connection.
func (t *Tracker) pairMeta(f, g *metaFlow, how Pairing) {
	f.reverse, g.reverse = g, f
	f.reverseID, g.reverseID = g.id, f.id
	f.pairing, g.pairing = how, how
	t.meta.pairs++
}

// metaOffer is a packet of a flow without a partner, by what an ACK of it would echo.
type metaOffer struct {
	key  uint64
	flow *metaFlow
	psn  uint32
}

func echoKey(addresses uint64, path uint8, timestamp uint32) uint64 {
	return mix(addresses^mixD, uint64(timestamp)|uint64(path)<<32|1<<60)
}

// offer puts a packet up.
func (t *metaTracker) offer(f *metaFlow, m *mr0.Packet) {
	if t.offers == nil {
		t.offers = make([]metaOffer, pairSlots)
	}
	key := echoKey(f.addresses[0], m.CH.PathID, m.DH.Timestamp)
	e := &t.offers[key%pairSlots]
	if e.key == key && e.flow != f {
		e.flow = nil // two connections have a packet of one path and time
		return
	}
	*e = metaOffer{key: key, flow: f, psn: m.CH.PSN}
}

// vote finds the partner of the sender of an ACK: the only flow that has a packet of its path with the timestamp that it
// echoes and a psn that it covers: 64 bits that fit.
func (t *metaTracker) vote(f *metaFlow, m *mr0.Packet) *metaFlow {
	if t.offers == nil || m.Has&mr0.HasACKH == 0 {
		return nil
	}
	key := echoKey(f.addresses[1], m.CH.PathID, m.ACKH.EchoTimestamp)
	e := &t.offers[key%pairSlots]
	if e.key != key || e.flow == nil || e.flow.gone || e.flow.reverse != nil || e.flow == f {
		return nil
	}
	d := int32(e.psn - m.ACKH.CumulativePSN)
	if d == 0 || d > 0 && !m.ACKH.SACK.Has(int(d-1)) || d < -metaWindow {
		return nil
	}
	return e.flow
}

// pairByAddress pairs what is left: where just one flow leads from one address to another and one back, they are
// taken for one connection.
func (t *Tracker) pairByAddress(all []*metaFlow) {
	alone := map[uint64][]*metaFlow{}
	for _, f := range all {
		alone[f.addresses[0]] = append(alone[f.addresses[0]], f)
	}
	for _, f := range all {
		back := alone[f.addresses[1]]
		if f.reverseID != 0 || len(alone[f.addresses[0]]) != 1 || len(back) != 1 || back[0].reverseID != 0 || back[0] == f {
			continue
		}
		if f.key.DestinationQP != 0 && back[0].key.DestinationQP != 0 {
			t.pairMeta(f, back[0], PairingAddresses)
		}
	}
}

// retire emits a flow whose id belongs to another connection from now on.
func (t *Tracker) retire(f *metaFlow) {
	t.finishMeta(f)
	t.leave(f)
}

// leave lets go of a flow. Its place in the order of eviction is left until it comes up.
func (t *Tracker) leave(f *metaFlow) {
	t.meta.table.remove(f)
	if f.reverse != nil {
		f.reverse.reverse = nil
	}
	if k := f.key.back(f.peerID); f.hasPeerID && t.meta.announced[k] == f {
		delete(t.meta.announced, k) // or those who wait for nobody would fill it
	}
	t.meta.parts -= f.parts
	*f = metaFlow{gone: true, number: f.number, stamp: f.stamp}
	t.meta.latest = nil
}

// evictMeta emits and forgets the flow that was seen least recently.
func (t *Tracker) evictMeta() {
	for len(t.meta.order.heap) > 0 {
		if t.forgetMeta(t.meta.order.pop(func(n uint32) uint64 { return t.meta.flows[n].stamp })) {
			t.totals.EvictedFlows++
			return
		}
	}
}

// forgetMeta emits the flow of the number, which is no longer in the order of eviction, unless it has gone before. It
// reports whether it has not.
func (t *Tracker) forgetMeta(number uint32) bool {
	f := t.meta.flows[number]
	t.meta.flows[number] = nil
	t.meta.free = append(t.meta.free, number)
	if f.gone {
		return false
	}
	t.retire(f)
	return true
}
