package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// flowOf is the packet's flow, a new one if need be.
func (t *Tracker) flowOf(p *dissector.Packet) *flow {
	service := p.BTH.Opcode.Service()
	if service >= infiniband.ServiceUD || p.Protocol == dissector.ProtocolInfiniBand {
		return t.flowOfKey(p)
	}
	f := t.latest // packets of one flow often follow each other
	if f == nil || f.key.DestinationQP != p.BTH.DestinationQP || !f.hasKeyOf(p) {
		addresses := addressHash(&p.Network.Source, &p.Network.Destination)
		hash := mixRest(addresses, restOf(p.BTH.DestinationQP, 0, anyService, p.Protocol))
		// Most are found at once; findPacket would do the same.
		e := t.table.slots[hash&t.table.mask]
		if e.flow != 0 && e.tag == uint32(hash>>32) {
			f = t.flows.at(e.flow - 1)
		} else {
			f = nil
		}
		if f == nil || !f.hasKeyOf(p) {
			if f = t.table.findPacket(&t.flows, hash, p); f == nil {
				f = t.flowOfKey(p)
			}
		}
		t.latest = f
	}
	t.see(f, p)
	return f
}

// see notes that a packet of the flow came.
func (t *Tracker) see(f *flow, p *dissector.Packet) {
	if f.stamp <= t.cut {
		t.resume(f, p.Meta.Number, p.Meta.Time)
	}
	f.stamp = t.stamp
}

// flowOfKey is flowOf for packets whose key takes more than addresses and QPN, and for those whose flow was not
// found by these.
func (t *Tracker) flowOfKey(p *dissector.Packet) *flow {
	var k Key
	keyOf(p, &k)
	f, hash := t.lookUp(&k)
	if f == nil && sharesQP(k.Service) {
		if f = t.table.findQP(&t.flows, hash, &k); f != nil {
			t.adopt(f, p)
		}
	}
	if f == nil {
		return t.create(hash, &k, p)
	}
	t.see(f, p)
	return f
}

// lookUp is the flow that packets of the key belong to. When there is none, it is nil, and hash is that of the
// flow to be made; a flow of CNPs alone that has the hash waits for what its connection is.
func (t *Tracker) lookUp(k *Key) (f *flow, hash uint64) {
	addresses := addressHash(&k.Source, &k.Destination)
	hash = hashOf(addresses, k)
	if !sharesQP(k.Service) {
		if i, ok := t.table.find(&t.flows, hash, k); ok {
			f = t.flows.at(i)
		}
		return f, hash
	}
	first := t.table.findQP(&t.flows, hash, k)
	if k.Service == infiniband.ServiceCNP {
		return t.notified(addresses, hash, first, k)
	}
	if first != nil && first.key.Service == k.Service {
		return first, hash
	}
	own := ownHash(addresses, k)
	if i, ok := t.table.find(&t.flows, own, k); ok {
		return t.flows.at(i), own
	}
	if first != nil && first.key.Service != infiniband.ServiceCNP {
		return nil, own
	}
	return nil, hash
}

// notified is lookUp for CNPs: the only flow with the addresses and the destination QP, of whatever service.
// Where the QP's number had several services, CNPs belong to none of these. first is what has the hash.
func (t *Tracker) notified(addresses, hash uint64, first *flow, k *Key) (*flow, uint64) {
	candidates, f := 0, (*flow)(nil)
	if first != nil && first.key.Service != infiniband.ServiceCNP {
		candidates, f = 1, first
	}
	other := *k
	for _, other.Service = range [...]infiniband.Service{
		infiniband.ServiceRC, infiniband.ServiceUC, infiniband.ServiceRD, infiniband.ServiceXRC,
	} {
		if i, ok := t.table.find(&t.flows, ownHash(addresses, &other), &other); ok {
			candidates++
			f = t.flows.at(i)
		}
	}
	switch {
	case candidates == 1:
		return f, f.hash
	case first == nil || first.key.Service == infiniband.ServiceCNP:
		return first, hash
	}
	own := ownHash(addresses, k)
	if i, ok := t.table.find(&t.flows, own, k); ok {
		return t.flows.at(i), own
	}
	return nil, own
}

// adopt makes a flow of CNPs alone that of the connection whose packet came now. What is said of the way of a
// flow is of this packet: CNPs have a class and often a port of their own.
func (t *Tracker) adopt(f *flow, p *dissector.Packet) {
	was, port := f.key, f.sourcePort
	was.Service = p.BTH.Opcode.Service()
	f.arrive(&was, p)
	f.lastID = p.Network.ID - 2*idStep // no step that looks like a counter's
	if port != f.sourcePort {
		if f.ports == nil {
			f.ports = new(portSet)
			f.ports.add(port)
		}
		f.ports.add(f.sourcePort)
	}
	t.introduce(f)
}

func (t *Tracker) create(hash uint64, k *Key, p *dissector.Packet) *flow {
	if t.flows.live() >= t.config.MaxFlows {
		t.evict()
	}
	number := t.flows.take()
	f := t.flows.at(number)
	f.begin(number, hash, k, p)
	f.stamp = t.stamp
	t.table.insert(&t.flows, hash, number)
	t.order.add(number, t.stamp)
	t.totals.Flows++
	if t.cutting {
		t.awake.add(number)
	}
	t.introduce(f)
	t.pairDatagrams(f)
	return f
}
