package conversation

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector"
)

// stream is a TCP connection, named alike by the packets of both directions.
type stream struct {
	between
	low, high uint16 // ports of source and destination
}

// direction tells which of the two ends of a stream sent.
type direction bool

// streamOf is the connection of a segment. The end with the lower address and port comes first.
func streamOf(p *dissector.Packet, tcp []byte) (s stream, from direction) {
	s = stream{betweenOf(p), binary.BigEndian.Uint16(tcp), binary.BigEndian.Uint16(tcp[2:])}
	order := 0
	for i := range s.source {
		if order == 0 {
			order = int(s.source[i]) - int(s.destination[i])
		}
	}
	if order > 0 || order == 0 && s.low > s.high {
		return stream{s.back(), s.high, s.low}, true
	}
	return s, false
}

// tcp follows the start of MPA (RFC 5044, section 7.1): after a request and a reply that does not reject it, all that a
// connection carries is FPDUs. A SYN starts another connection with the same ports.
func (t *Tracker) tcp(p *dissector.Packet, err error) error {
	const (
		minimum     = 20
		synchronize = 0x02
		rejected    = 0x20
		keyLength   = 16
		frameLength = 20 // key, flags, revision, length of the private data
		replyMark   = 'p'
		markAt      = 9 // in "MPA ID Rep Frame"
	)
	last := p.Layers[max(int(min(p.LayerCount, dissector.MaxLayers)), 1)-1]
	if last.Type != dissector.LayerTCP || last.Length < minimum {
		return err
	}
	tcp := p.Data[last.Offset:last.End()]
	payload := p.Data[min(last.End(), int(p.CapturedEnd)):p.CapturedEnd]
	s, from := streamOf(p, tcp)
	switch {
	case tcp[13]&synchronize != 0:
		t.started.remove(s)
		t.streams.remove(s)
	case p.Protocol == dissector.ProtocolIWARP:
		if len(payload) < frameLength {
			return err
		}
		if payload[markAt] != replyMark {
			t.started.put(s, from)
			return err
		}
		if asked, ok := t.started.get(s); ok && asked != from && payload[keyLength]&rejected == 0 {
			t.streams.put(s, struct{}{})
		}
	case len(payload) > 0:
		if _, ok := t.streams.get(s); ok {
			p.Protocol = dissector.ProtocolIWARP
			p.Fault = dissector.Fault{Layer: dissector.LayerPayload, Reason: dissector.ReasonIWARP, Offset: uint16(last.End())}
			return dissector.ErrUnsupported
		}
	}
	return err
}
