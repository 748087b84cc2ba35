package conversation

import (
	"encoding/binary"
	"errors"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// Limits of what a Tracker remembers; the oldest is forgotten first.
const (
	maxRequests    = 1 << 12 // connection requests without an answer, and MPA requests
	maxConnections = 1 << 16
)

// Tracker learns from the packets of one capture. [New] makes one; one goroutine at a time may use it. Its memory is bounded: of more than 65,536 connections it forgets the oldest.
type Tracker struct {
	requests recent[exchange, request]
	queues   recent[queue, peer]
	started  recent[stream, direction] // MPA requests
	streams  recent[stream, struct{}]
}

// New is a Tracker that knows nothing.
func New() *Tracker {
	return &Tracker{
		requests: recent[exchange, request]{limit: maxRequests},
		queues:   recent[queue, peer]{limit: maxConnections},
		started:  recent[stream, direction]{limit: maxRequests},
		streams:  recent[stream, struct{}]{limit: maxConnections},
	}
}

// between is a pair of hosts, and the network that their addresses belong to.
type between struct {
	source, destination dissector.Address
	network             uint32 // VNI, key or label of a tunnel that is not a mirror's
}

func (b between) back() between { return between{b.destination, b.source, b.network} }

// exchange names a REQ by who sent it and its communication ID.
type exchange struct {
	between
	id uint32
}

type request struct {
	service mad.ServiceID
	qp      uint32
}

// queue is where packets go: between two hosts, to a queue pair.
type queue struct {
	between
	qp uint32
}

type peer struct {
	application mad.Application
	qp          uint32 // on the other side
}

// Observe takes a packet that Decode filled in, with what it returned, and answers what is to stand in place of that. It
// sets p.Meta.Application where the packet's connection is known to carry one. A segment of a TCP connection that is known
// to be iWARP becomes [dissector.ErrUnsupported] of [dissector.ProtocolIWARP]. Packets must come in the order of the
// capture.
func (t *Tracker) Observe(p *dissector.Packet, err error) error {
	p.Meta.Application = mad.ApplicationUnknown
	switch {
	case p.Has&infiniband.HasBTH != 0:
		if err == nil {
			t.roce(p)
		}
	case p.Protocol == dissector.ProtocolIWARP || errors.Is(err, dissector.ErrNotRDMA) && p.Fault.Layer == dissector.LayerTCP:
		return t.tcp(p, err)
	}
	return err
}

func (t *Tracker) roce(p *dissector.Packet) {
	if p.Has&infiniband.HasDETH == 0 {
		if len(t.queues.values) != 0 {
			known, _ := t.queues.get(queue{betweenOf(p), p.BTH.DestinationQP})
			p.Meta.Application = known.application
		}
		return
	}
	if p.BTH.DestinationQP != infiniband.GeneralServicesQP {
		return
	}
	payload := p.Payload()
	var h mad.Header
	n, err := h.Decode(payload)
	if err != nil {
		return
	}
	t.manage(betweenOf(p), h.Message(), payload[n:])
}

// manage follows the messages that set a connection up and take it down (IBTA volume 1, section 12.6).
func (t *Tracker) manage(b between, message mad.Message, data []byte) {
	switch message {
	case mad.MessageREQ:
		var m mad.REQ
		if _, err := m.Decode(data); err == nil {
			t.requests.put(exchange{b, m.LocalID}, request{m.ServiceID, m.LocalQPN})
		}
	case mad.MessageREP:
		var m mad.REP
		if _, err := m.Decode(data); err != nil {
			return
		}
		asked := exchange{b.back(), m.RemoteID}
		r, ok := t.requests.get(asked)
		if !ok {
			return
		}
		application := r.service.Application()
		t.queues.put(queue{b, r.qp}, peer{application, m.LocalQPN})
		t.queues.put(queue{b.back(), m.LocalQPN}, peer{application, r.qp})
	case mad.MessageREJ:
		var m mad.REJ
		if _, err := m.Decode(data); err == nil {
			t.requests.remove(exchange{b.back(), m.RemoteID})
		}
	case mad.MessageDREQ:
		var m mad.DREQ
		if _, err := m.Decode(data); err == nil {
			there := queue{b, m.RemoteQPN}
			if known, ok := t.queues.get(there); ok {
				t.queues.remove(there)
				t.queues.remove(queue{b.back(), known.qp})
			}
		}
	default:
	}
}

// betweenOf are a packet's innermost addresses. Native InfiniBand without a global route has its LIDs there.
func betweenOf(p *dissector.Packet) between {
	b := between{source: p.Network.Source, destination: p.Network.Destination}
	if p.Network.Version == 0 {
		binary.BigEndian.PutUint16(b.source[:], p.LRH.SourceLID)
		binary.BigEndian.PutUint16(b.destination[:], p.LRH.DestinationLID)
	}
	if !p.Tunnel.Mirror {
		b.network = p.Tunnel.ID
	}
	return b
}
