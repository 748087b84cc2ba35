// Code generated from the profile mr0. DO NOT EDIT.

package mr0

import (
	"errors"
	"math"
	"net/netip"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// Packet is a decoded packet, or one to be sent. Of a decoded one a header is meaningful when its bit is in Has
// and zero otherwise. A Packet holds no pointers and can be compared.
type Packet struct {
	Has           HeaderSet      // headers that Decode has read
	Fault         metaroce.Fault // why Decode returned an error, zero when it did not
	PayloadOffset uint16         // bytes from the start of the UDP payload to the transport payload

	CH    CH
	CONN  CONN
	REJ   REJ
	DISC  DISC
	DH    DH
	WETH  WETH
	SETH  SETH
	RRETH RRETH
	RSETH RSETH
	AETH  AETH
	ARETH ARETH
	IMMH  IMMH
	ACKH  ACKH
	NAKH  NAKH
}

// Payload is the transport payload of a decoded packet, as far as it is in the UDP payload that was decoded.
func (p *Packet) Payload(data []byte) []byte {
	end := min(int(p.PayloadOffset)+int(p.CH.PayloadLength), len(data))
	return data[min(int(p.PayloadOffset), end):end]
}

// shape is the layout of a packet type.
type shape struct {
	headers   HeaderSet
	length    uint16 // bytes of its headers; 0 marks a reserved type
	sequenced bool
	payload   bool
	optional  bool // may bear the header that a flag announces
	order     []uint8
}

var shapes = [16]shape{
	TypeConnReq: {
		headers: HasCH | HasCONN, length: 48,
		sequenced: false, payload: false, optional: false, order: []uint8{0, 1},
	},
	TypeConnRep: {
		headers: HasCH | HasCONN, length: 48,
		sequenced: false, payload: false, optional: false, order: []uint8{0, 1},
	},
	TypeConnRej: {
		headers: HasCH | HasREJ, length: 28,
		sequenced: false, payload: false, optional: false, order: []uint8{0, 2},
	},
	TypeDisconnect: {
		headers: HasCH | HasDISC, length: 24,
		sequenced: false, payload: false, optional: false, order: []uint8{0, 3},
	},
	TypeWrite: {
		headers: HasCH | HasDH | HasWETH, length: 48,
		sequenced: true, payload: true, optional: true, order: []uint8{0, 4, 5},
	},
	TypeSend: {
		headers: HasCH | HasDH | HasSETH, length: 44,
		sequenced: true, payload: true, optional: true, order: []uint8{0, 4, 6},
	},
	TypeReadReq: {
		headers: HasCH | HasDH | HasRRETH, length: 52,
		sequenced: true, payload: false, optional: false, order: []uint8{0, 4, 7},
	},
	TypeReadResp: {
		headers: HasCH | HasDH | HasRSETH, length: 40,
		sequenced: true, payload: true, optional: false, order: []uint8{0, 4, 8},
	},
	TypeAtomicReq: {
		headers: HasCH | HasDH | HasAETH, length: 68,
		sequenced: true, payload: false, optional: false, order: []uint8{0, 4, 9},
	},
	TypeAtomicResp: {
		headers: HasCH | HasDH | HasARETH, length: 44,
		sequenced: true, payload: false, optional: false, order: []uint8{0, 4, 10},
	},
	TypeProbe: {
		headers: HasCH | HasDH, length: 36,
		sequenced: true, payload: false, optional: false, order: []uint8{0, 4},
	},
	TypeACK: {
		headers: HasCH | HasACKH, length: 76,
		sequenced: false, payload: false, optional: false, order: []uint8{0, 12},
	},
	TypeNAK: {
		headers: HasCH | HasNAKH, length: 32,
		sequenced: false, payload: false, optional: false, order: []uint8{0, 13},
	},
}

// Decode reads the UDP payload of a packet, the ICRC at its end included, and overwrites all of p.
//
// The error is nil, [metaroce.ErrTruncated] or [metaroce.ErrMalformed], and p.Fault has the place; p has what was
// read before it. The ICRC is not looked at: see [VerifyICRC]. A malformed packet whose reason is in doubt is one
// of this profile only when its ICRC is right.
func Decode(data []byte, p *Packet) error { return DecodeCaptured(data, len(data), p) }

// DecodeCaptured is Decode for a UDP payload of length bytes of which the capture kept the first ones.
func DecodeCaptured(data []byte, length int, p *Packet) error {
	*p = Packet{}
	if length < CHLength+metaroce.ICRCLength {
		return p.fail(metaroce.ReasonHeaders, 0, metaroce.NoField, 0)
	}
	if len(data) < CHLength {
		return p.cut(0, 0)
	}
	p.CH.read((*[CHLength]byte)(data))
	p.Has = HasCH
	if p.CH.Version != Version {
		return p.fault(0, metaroce.ReasonVersion)
	}
	if !p.CH.Type.Known() {
		return p.fault(1, metaroce.ReasonType)
	}
	s := &shapes[p.CH.Type]
	headers := int(s.length)
	announced := s.optional && p.CH.Flags&FlagIMM != 0
	if announced {
		headers += IMMHLength
	}
	carried := length - headers - metaroce.ICRCLength
	switch {
	case carried < 0:
		return p.misfit(s, length)
	case carried != int(p.CH.PayloadLength):
		return p.fault(3, metaroce.ReasonPayloadLength)
	case carried != 0 && !s.payload:
		return p.fault(3, metaroce.ReasonPayload)
	case headers > math.MaxUint16:
		return p.fail(metaroce.ReasonHeaders, 0, metaroce.NoField, 0)
	}
	p.PayloadOffset = uint16(headers)
	if len(data) < headers {
		return p.readCut(s, data)
	}
	switch p.CH.Type {
	case TypeConnReq:
		p.CONN.read((*[CONNLength]byte)(data[16:48]))
	case TypeConnRep:
		p.CONN.read((*[CONNLength]byte)(data[16:48]))
	case TypeConnRej:
		p.REJ.read((*[REJLength]byte)(data[16:28]))
	case TypeDisconnect:
		p.DISC.read((*[DISCLength]byte)(data[16:24]))
	case TypeWrite:
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.WETH.read((*[WETHLength]byte)(data[36:48]))
	case TypeSend:
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.SETH.read((*[SETHLength]byte)(data[36:44]))
	case TypeReadReq:
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.RRETH.read((*[RRETHLength]byte)(data[36:52]))
	case TypeReadResp:
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.RSETH.read((*[RSETHLength]byte)(data[36:40]))
	case TypeAtomicReq:
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.AETH.read((*[AETHLength]byte)(data[36:68]))
	case TypeAtomicResp:
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.ARETH.read((*[ARETHLength]byte)(data[36:44]))
	case TypeProbe:
		p.DH.read((*[DHLength]byte)(data[16:36]))
	case TypeACK:
		p.ACKH.read((*[ACKHLength]byte)(data[16:76]))
	case TypeNAK:
		p.NAKH.read((*[NAKHLength]byte)(data[16:32]))
	}
	p.Has = s.headers
	if announced {
		p.IMMH.read((*[IMMHLength]byte)(data[s.length:]))
		p.Has |= HasIMMH
	}
	return p.check(s)
}

// misfit finds the header that goes on past the end of the UDP payload.
func (p *Packet) misfit(s *shape, length int) error {
	at := 0
	for _, h := range s.order {
		if at+int(headerLengths[h]) > length-metaroce.ICRCLength {
			return p.fail(metaroce.ReasonHeaders, h, metaroce.NoField, at)
		}
		at += int(headerLengths[h])
	}
	return p.fail(metaroce.ReasonHeaders, 11, metaroce.NoField, at)
}

// readCut reads the headers that the capture kept whole.
func (p *Packet) readCut(s *shape, data []byte) error {
	at := 0
	for _, h := range s.order {
		end := at + int(headerLengths[h])
		if end > len(data) {
			return p.cut(h, at)
		}
		switch h {
		case 1:
			p.CONN.read((*[CONNLength]byte)(data[at:end]))
		case 2:
			p.REJ.read((*[REJLength]byte)(data[at:end]))
		case 3:
			p.DISC.read((*[DISCLength]byte)(data[at:end]))
		case 4:
			p.DH.read((*[DHLength]byte)(data[at:end]))
		case 5:
			p.WETH.read((*[WETHLength]byte)(data[at:end]))
		case 6:
			p.SETH.read((*[SETHLength]byte)(data[at:end]))
		case 7:
			p.RRETH.read((*[RRETHLength]byte)(data[at:end]))
		case 8:
			p.RSETH.read((*[RSETHLength]byte)(data[at:end]))
		case 9:
			p.AETH.read((*[AETHLength]byte)(data[at:end]))
		case 10:
			p.ARETH.read((*[ARETHLength]byte)(data[at:end]))
		case 11:
			p.IMMH.read((*[IMMHLength]byte)(data[at:end]))
		case 12:
			p.ACKH.read((*[ACKHLength]byte)(data[at:end]))
		case 13:
			p.NAKH.read((*[NAKHLength]byte)(data[at:end]))
		}
		p.Has |= 1 << h
		at = end
	}
	return p.cut(11, at)
}

func (p *Packet) cut(header uint8, at int) error {
	p.Fault = metaroce.Fault{Reason: metaroce.ReasonCut, Header: header, Field: metaroce.NoField, Offset: uint16(at)}
	return metaroce.ErrTruncated
}

func (p *Packet) fail(reason metaroce.Reason, header, field uint8, at int) error {
	p.Fault = metaroce.Fault{Reason: reason, Header: header, Field: field, Offset: uint16(at)}
	return metaroce.ErrMalformed
}

// fault is fail for a field of a header that was read.
func (p *Packet) fault(field uint8, reason metaroce.Reason) error {
	at := int(fieldPlaces[field].at)
	header := fieldPlaces[field].header
	if p.CH.Type.Known() {
		for _, h := range shapes[p.CH.Type].order {
			if h == header {
				break
			}
			at += int(headerLengths[h])
		}
	}
	return p.fail(reason, header, field, at)
}

var headerLengths = [...]uint16{CHLength, CONNLength, REJLength, DISCLength, DHLength, WETHLength, SETHLength, RRETHLength, RSETHLength, AETHLength, ARETHLength, IMMHLength, ACKHLength, NAKHLength}

var fieldPlaces = [...]struct {
	at     uint16
	header uint8
}{
	{0, 0},   // CH.version
	{0, 0},   // CH.type
	{1, 0},   // CH.flags
	{2, 0},   // CH.payload_length
	{4, 0},   // CH.dest_conn_id
	{8, 0},   // CH.path_id
	{9, 0},   // CH.plane_id
	{10, 0},  // CH.partition_key
	{12, 0},  // CH.psn
	{0, 1},   // CONN.source_conn_id
	{4, 1},   // CONN.path_count
	{5, 1},   // CONN.plane_count
	{6, 1},   // CONN.mtu
	{8, 1},   // CONN.link_rate
	{12, 1},  // CONN.initial_psn
	{16, 1},  // CONN.stream_count
	{18, 1},  // CONN.max_window
	{20, 1},  // CONN.nonce
	{28, 1},  // CONN.reserved
	{0, 2},   // REJ.reason
	{1, 2},   // REJ.reserved
	{4, 2},   // REJ.nonce
	{0, 3},   // DISC.source_conn_id
	{4, 3},   // DISC.reason
	{5, 3},   // DISC.reserved
	{0, 4},   // DH.timestamp
	{4, 4},   // DH.stream_id
	{6, 4},   // DH.reserved
	{8, 4},   // DH.msn
	{12, 4},  // DH.message_offset
	{16, 4},  // DH.message_length
	{0, 5},   // WETH.virtual_address
	{8, 5},   // WETH.rkey
	{0, 6},   // SETH.receive_index
	{4, 6},   // SETH.reserved
	{0, 7},   // RRETH.virtual_address
	{8, 7},   // RRETH.rkey
	{12, 7},  // RRETH.read_id
	{0, 8},   // RSETH.read_id
	{0, 9},   // AETH.virtual_address
	{8, 9},   // AETH.rkey
	{12, 9},  // AETH.operation
	{13, 9},  // AETH.reserved
	{16, 9},  // AETH.swap_or_add
	{24, 9},  // AETH.compare
	{0, 10},  // ARETH.original_value
	{0, 11},  // IMMH.immediate
	{0, 12},  // ACKH.cumulative_psn
	{4, 12},  // ACKH.sack
	{36, 12}, // ACKH.echo_timestamp
	{40, 12}, // ACKH.ack_delay
	{44, 12}, // ACKH.rate_hint
	{48, 12}, // ACKH.ce_count
	{52, 12}, // ACKH.packet_count
	{56, 12}, // ACKH.trigger
	{57, 12}, // ACKH.reserved
	{0, 13},  // NAKH.reason
	{1, 13},  // NAKH.reserved
	{2, 13},  // NAKH.stream_id
	{4, 13},  // NAKH.msn
	{8, 13},  // NAKH.refused_psn
	{12, 13}, // NAKH.retry_after
}

// Errors of AppendDatagram.
var (
	ErrType   = errors.New("reserved packet type")
	ErrLength = errors.New("payload longer than a packet of the type can carry")
)

// AppendHeaders appends to b the headers that CH.Type and CH.Flags ask for, as they are. Of a reserved type that
// is the common header alone.
func (p *Packet) AppendHeaders(b []byte) []byte {
	b = p.CH.AppendTo(b)
	switch p.CH.Type {
	case TypeConnReq:
		b = p.CONN.AppendTo(b)
	case TypeConnRep:
		b = p.CONN.AppendTo(b)
	case TypeConnRej:
		b = p.REJ.AppendTo(b)
	case TypeDisconnect:
		b = p.DISC.AppendTo(b)
	case TypeWrite:
		b = p.DH.AppendTo(b)
		b = p.WETH.AppendTo(b)
	case TypeSend:
		b = p.DH.AppendTo(b)
		b = p.SETH.AppendTo(b)
	case TypeReadReq:
		b = p.DH.AppendTo(b)
		b = p.RRETH.AppendTo(b)
	case TypeReadResp:
		b = p.DH.AppendTo(b)
		b = p.RSETH.AppendTo(b)
	case TypeAtomicReq:
		b = p.DH.AppendTo(b)
		b = p.AETH.AppendTo(b)
	case TypeAtomicResp:
		b = p.DH.AppendTo(b)
		b = p.ARETH.AppendTo(b)
	case TypeProbe:
		b = p.DH.AppendTo(b)
	case TypeACK:
		b = p.ACKH.AppendTo(b)
	case TypeNAK:
		b = p.NAKH.AppendTo(b)
	}
	if p.CH.Type.Known() && shapes[p.CH.Type].optional && p.CH.Flags&FlagIMM != 0 {
		b = p.IMMH.AppendTo(b)
	}
	return b
}

// AppendDatagram appends a whole UDP payload: headers, payload, ICRC. It sets CH.Version and CH.PayloadLength.
func (p *Packet) AppendDatagram(b, payload []byte, source, destination netip.AddrPort) ([]byte, error) {
	if !p.CH.Type.Known() {
		return b, ErrType
	}
	const longest = min(math.MaxUint16-8-60, 1<<16-1) // UDP and IPv4 headers
	if s := &shapes[p.CH.Type]; len(payload) > 0 && !s.payload || len(payload)+int(s.length) > longest {
		return b, ErrLength
	}
	p.CH.Version = Version
	p.CH.PayloadLength = uint16(len(payload))
	from := len(b)
	b = append(p.AppendHeaders(b), payload...)
	return metaroce.AppendUDPPseudoICRC(b, from, source, destination), nil
}

// ComputeICRC is the ICRC of a UDP payload that ends before it.
func ComputeICRC(payload []byte, source, destination netip.AddrPort) uint32 {
	return metaroce.UDPPseudoICRC(source, destination, payload)
}

// VerifyICRC tells whether a whole UDP payload ends with its ICRC.
func VerifyICRC(payload []byte, source, destination netip.AddrPort) bool {
	return metaroce.VerifyUDPPseudoICRC(payload, source, destination)
}
