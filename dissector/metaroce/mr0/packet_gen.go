// Code generated from the profile mr0. DO NOT EDIT.

package mr0

import (
	"encoding/binary"
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

// HeaderBytes is the size of the headers that Decode has read.
func (p *Packet) HeaderBytes() int {
	if p.Fault.Reason == metaroce.ReasonNone {
		return int(p.PayloadOffset)
	}
	n := 0
	for i, length := range headerLengths {
		if p.Has>>i&1 != 0 {
			n += int(length)
		}
	}
	return n
}

// shape is the layout of a packet type.
type shape struct {
	headers   HeaderSet
	length    uint16 // bytes of its headers; 0 marks a reserved type
	sequenced bool
	payload   bool
	optional  bool // may bear the header that a flag announces
}

var shapes = [16]shape{
	TypeConnReq: {
		headers: HasCH | HasCONN, length: 48,
		sequenced: false, payload: false, optional: false,
	},
	TypeConnRep: {
		headers: HasCH | HasCONN, length: 48,
		sequenced: false, payload: false, optional: false,
	},
	TypeConnRej: {
		headers: HasCH | HasREJ, length: 28,
		sequenced: false, payload: false, optional: false,
	},
	TypeDisconnect: {
		headers: HasCH | HasDISC, length: 24,
		sequenced: false, payload: false, optional: false,
	},
	TypeWrite: {
		headers: HasCH | HasDH | HasWETH, length: 48,
		sequenced: true, payload: true, optional: true,
	},
	TypeSend: {
		headers: HasCH | HasDH | HasSETH, length: 44,
		sequenced: true, payload: true, optional: true,
	},
	TypeReadReq: {
		headers: HasCH | HasDH | HasRRETH, length: 52,
		sequenced: true, payload: false, optional: false,
	},
	TypeReadResp: {
		headers: HasCH | HasDH | HasRSETH, length: 40,
		sequenced: true, payload: true, optional: false,
	},
	TypeAtomicReq: {
		headers: HasCH | HasDH | HasAETH, length: 68,
		sequenced: true, payload: false, optional: false,
	},
	TypeAtomicResp: {
		headers: HasCH | HasDH | HasARETH, length: 44,
		sequenced: true, payload: false, optional: false,
	},
	TypeProbe: {
		headers: HasCH | HasDH, length: 36,
		sequenced: true, payload: false, optional: false,
	},
	TypeACK: {
		headers: HasCH | HasACKH, length: 76,
		sequenced: false, payload: false, optional: false,
	},
	TypeNAK: {
		headers: HasCH | HasNAKH, length: 32,
		sequenced: false, payload: false, optional: false,
	},
}

// orders lists the headers of each type as they follow each other.
var orders = [16][]uint8{
	TypeConnReq:    {0, 1},
	TypeConnRep:    {0, 1},
	TypeConnRej:    {0, 2},
	TypeDisconnect: {0, 3},
	TypeWrite:      {0, 4, 5},
	TypeSend:       {0, 4, 6},
	TypeReadReq:    {0, 4, 7},
	TypeReadResp:   {0, 4, 8},
	TypeAtomicReq:  {0, 4, 9},
	TypeAtomicResp: {0, 4, 10},
	TypeProbe:      {0, 4},
	TypeACK:        {0, 12},
	TypeNAK:        {0, 13},
}

// Decode reads the UDP payload of a packet, the ICRC at its end included, and overwrites all of p.
//
// The error is nil, [metaroce.ErrTruncated] or [metaroce.ErrMalformed], and p.Fault has the place; p has what was
// read before it. The ICRC is not looked at: see [VerifyICRC]. A malformed packet whose reason is in doubt is one
// of this profile only when its ICRC is right.
func Decode(data []byte, p *Packet) error {
	*p = Packet{}
	return DecodeCaptured(data, len(data), p)
}

// DecodeCaptured is Decode for a UDP payload of length bytes of which the capture kept the first ones. It saves the
// time to clear all of p: p is zero, or what Decode or DecodeCaptured has left, as it was left.
func DecodeCaptured(data []byte, length int, p *Packet) error {
	p.Fault = metaroce.Fault{}
	stale := p.Has
	if length < CHLength+metaroce.ICRCLength || len(data) < CHLength {
		p.clear(stale)
		return p.tooShort(length)
	}
	b := (*[CHLength]byte)(data)
	p.CH.read(b)
	if b[0]>>4 != Version {
		p.clear(stale &^ HasCH)
		return p.decode(data, length)
	}
	// Packets that keep to the profile's usual ways are read in a straight line, all others by decode.
	flags, carried := Flags(b[1]), int(binary.BigEndian.Uint16(b[2:4]))
	switch Type(b[0] & 0xf) {
	case TypeConnReq:
		const set, headers = HasCH | HasCONN, 48
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.CONN.read((*[CONNLength]byte)(data[16:48]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		return p.check(&shapes[TypeConnReq])
	case TypeConnRep:
		const set, headers = HasCH | HasCONN, 48
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.CONN.read((*[CONNLength]byte)(data[16:48]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		return p.check(&shapes[TypeConnRep])
	case TypeConnRej:
		const set, headers = HasCH | HasREJ, 28
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.REJ.read((*[REJLength]byte)(data[16:28]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		return p.check(&shapes[TypeConnRej])
	case TypeDisconnect:
		const set, headers = HasCH | HasDISC, 24
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.DISC.read((*[DISCLength]byte)(data[16:24]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		return p.check(&shapes[TypeDisconnect])
	case TypeWrite:
		if flags&FlagIMM != 0 {
			const set, headers = HasCH | HasDH | HasWETH | HasIMMH, 52
			if length != headers+metaroce.ICRCLength+carried || len(data) < headers {
				break
			}
			p.DH.read((*[DHLength]byte)(data[16:36]))
			p.WETH.read((*[WETHLength]byte)(data[36:48]))
			p.IMMH.read((*[IMMHLength]byte)(data[48:52]))
			if stale&^set != 0 {
				p.clear(stale &^ set)
			}
			p.Has = set
			p.PayloadOffset = headers
			if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) && flags&FlagLast != 0 {
				return nil
			}
			return p.check(&shapes[TypeWrite])
		}
		const set, headers = HasCH | HasDH | HasWETH, 48
		if length != headers+metaroce.ICRCLength+carried || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.WETH.read((*[WETHLength]byte)(data[36:48]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeWrite])
	case TypeSend:
		if flags&FlagIMM != 0 {
			const set, headers = HasCH | HasDH | HasSETH | HasIMMH, 48
			if length != headers+metaroce.ICRCLength+carried || len(data) < headers {
				break
			}
			p.DH.read((*[DHLength]byte)(data[16:36]))
			p.SETH.read((*[SETHLength]byte)(data[36:44]))
			p.IMMH.read((*[IMMHLength]byte)(data[44:48]))
			if stale&^set != 0 {
				p.clear(stale &^ set)
			}
			p.Has = set
			p.PayloadOffset = headers
			if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) && flags&FlagLast != 0 {
				return nil
			}
			return p.check(&shapes[TypeSend])
		}
		const set, headers = HasCH | HasDH | HasSETH, 44
		if length != headers+metaroce.ICRCLength+carried || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.SETH.read((*[SETHLength]byte)(data[36:44]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeSend])
	case TypeReadReq:
		const set, headers = HasCH | HasDH | HasRRETH, 52
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.RRETH.read((*[RRETHLength]byte)(data[36:52]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && flags&FlagIMM == 0 && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeReadReq])
	case TypeReadResp:
		const set, headers = HasCH | HasDH | HasRSETH, 40
		if length != headers+metaroce.ICRCLength+carried || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.RSETH.read((*[RSETHLength]byte)(data[36:40]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && flags&FlagIMM == 0 && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeReadResp])
	case TypeAtomicReq:
		const set, headers = HasCH | HasDH | HasAETH, 68
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.AETH.read((*[AETHLength]byte)(data[36:68]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && flags&FlagIMM == 0 && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeAtomicReq])
	case TypeAtomicResp:
		const set, headers = HasCH | HasDH | HasARETH, 44
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		p.ARETH.read((*[ARETHLength]byte)(data[36:44]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && flags&FlagIMM == 0 && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeAtomicResp])
	case TypeProbe:
		const set, headers = HasCH | HasDH, 36
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.DH.read((*[DHLength]byte)(data[16:36]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		if end := uint64(p.DH.MessageOffset) + uint64(carried); end <= uint64(p.DH.MessageLength) && flags&FlagIMM == 0 && (p.DH.MessageOffset == 0) == (flags&FlagFirst != 0) && (end == uint64(p.DH.MessageLength)) == (flags&FlagLast != 0) {
			return nil
		}
		return p.check(&shapes[TypeProbe])
	case TypeACK:
		const set, headers = HasCH | HasACKH, 76
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.ACKH.read((*[ACKHLength]byte)(data[16:76]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		return p.check(&shapes[TypeACK])
	case TypeNAK:
		const set, headers = HasCH | HasNAKH, 32
		if length != headers+metaroce.ICRCLength || carried != 0 || len(data) < headers {
			break
		}
		p.NAKH.read((*[NAKHLength]byte)(data[16:32]))
		if stale&^set != 0 {
			p.clear(stale &^ set)
		}
		p.Has = set
		p.PayloadOffset = headers
		return p.check(&shapes[TypeNAK])
	}
	p.clear(stale &^ HasCH)
	return p.decode(data, length)
}

// clear clears headers that an earlier Decode has left.
func (p *Packet) clear(stale HeaderSet) {
	p.Has = 0
	p.PayloadOffset = 0
	if stale&HasCH != 0 {
		p.CH = CH{}
	}
	if stale&HasCONN != 0 {
		p.CONN = CONN{}
	}
	if stale&HasREJ != 0 {
		p.REJ = REJ{}
	}
	if stale&HasDISC != 0 {
		p.DISC = DISC{}
	}
	if stale&HasDH != 0 {
		p.DH = DH{}
	}
	if stale&HasWETH != 0 {
		p.WETH = WETH{}
	}
	if stale&HasSETH != 0 {
		p.SETH = SETH{}
	}
	if stale&HasRRETH != 0 {
		p.RRETH = RRETH{}
	}
	if stale&HasRSETH != 0 {
		p.RSETH = RSETH{}
	}
	if stale&HasAETH != 0 {
		p.AETH = AETH{}
	}
	if stale&HasARETH != 0 {
		p.ARETH = ARETH{}
	}
	if stale&HasIMMH != 0 {
		p.IMMH = IMMH{}
	}
	if stale&HasACKH != 0 {
		p.ACKH = ACKH{}
	}
	if stale&HasNAKH != 0 {
		p.NAKH = NAKH{}
	}
}

// decode reads a packet of any kind whose common header was read.
func (p *Packet) decode(data []byte, length int) error {
	p.Has = HasCH
	if p.CH.Version != Version {
		return p.fault(0, metaroce.ReasonVersion)
	}
	s := &shapes[p.CH.Type]
	if s.length == 0 {
		return p.fault(1, metaroce.ReasonType)
	}
	headers := int(s.length)
	if p.announced() {
		headers += IMMHLength
	}
	carried := length - headers - metaroce.ICRCLength
	switch {
	case carried < 0:
		return p.misfit(length)
	case carried != int(p.CH.PayloadLength):
		return p.fault(3, metaroce.ReasonPayloadLength)
	case carried != 0 && !s.payload:
		return p.fault(3, metaroce.ReasonPayload)
	}
	p.PayloadOffset = uint16(headers)
	if err := p.readHeaders(data); err != nil {
		return err
	}
	return p.check(s)
}

// announced tells whether the flag that announces a header stands on a packet whose type may bear it.
func (p *Packet) announced() bool {
	return p.CH.Type.Known() && shapes[p.CH.Type].optional && p.CH.Flags&FlagIMM != 0
}

// tooShort is for a packet without a whole common header.
func (p *Packet) tooShort(length int) error {
	if length < CHLength+metaroce.ICRCLength {
		return p.fail(metaroce.ReasonHeaders, 0, metaroce.NoField, 0)
	}
	return p.cut(0, 0)
}

// misfit finds the header that goes on past the end of the UDP payload.
func (p *Packet) misfit(length int) error {
	at := 0
	for _, h := range orders[p.CH.Type] {
		if at+int(headerLengths[h]) > length-metaroce.ICRCLength {
			return p.fail(metaroce.ReasonHeaders, h, metaroce.NoField, at)
		}
		at += int(headerLengths[h])
	}
	return p.fail(metaroce.ReasonHeaders, 11, metaroce.NoField, at)
}

// readHeaders reads the headers behind the common one, as far as the capture kept them whole.
func (p *Packet) readHeaders(data []byte) error {
	at := CHLength
	for _, h := range orders[p.CH.Type][1:] {
		if err := p.readHeader(h, at, data); err != nil {
			return err
		}
		at += int(headerLengths[h])
	}
	if p.announced() {
		return p.readHeader(11, at, data)
	}
	return nil
}

// readHeader reads a header by its index.
func (p *Packet) readHeader(header uint8, at int, data []byte) error {
	end := at + int(headerLengths[header])
	if end > len(data) {
		return p.cut(header, at)
	}
	switch header {
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
	p.Has |= 1 << header
	return nil
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
		for _, h := range orders[p.CH.Type] {
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
	if p.announced() {
		b = p.IMMH.AppendTo(b)
	}
	return b
}

// AppendDatagram appends a whole UDP payload: headers, payload, ICRC. It sets CH.Version and CH.PayloadLength.
func (p *Packet) AppendDatagram(b, payload []byte, source, destination netip.AddrPort) ([]byte, error) {
	if !p.CH.Type.Known() {
		return b, ErrType
	}
	const longest = min(math.MaxUint16-8-60-metaroce.ICRCLength, 1<<16-1) // UDP and IPv4 headers
	s := &shapes[p.CH.Type]
	headers := int(s.length)
	if p.announced() {
		headers += IMMHLength
	}
	if len(payload) > 0 && !s.payload || len(payload)+headers > longest {
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
