package dissector

import "encoding/binary"

// Opcodes of MAC control frames (IEEE 802.3 annex 31A).
const (
	macControlPause = 0x0001
	macControlPFC   = 0x0101
)

// macControl reads a pause frame (IEEE 802.3 annex 31B) or a priority flow control frame (annex 31D).
func (d *decoder) macControl() error {
	const opcodeLength, pauseLength, pfcLength = 2, 4, 20
	if !d.has(opcodeLength) {
		return d.short(LayerMACControl, opcodeLength)
	}
	p := &d.p.Pause
	switch opcode := binary.BigEndian.Uint16(d.data[d.off:]); opcode {
	case macControlPause:
		if !d.has(pauseLength) {
			return d.short(LayerMACControl, pauseLength)
		}
		p.Opcode = opcode
		p.Quanta[0] = binary.BigEndian.Uint16(d.data[d.off+2:])
		return d.paused(pauseLength)
	case macControlPFC:
		if !d.has(pfcLength) {
			return d.short(LayerMACControl, pfcLength)
		}
		p.Opcode = opcode
		p.ClassEnable = d.data[d.off+3] // the upper byte of the vector is reserved
		for i := range p.Quanta {
			p.Quanta[i] = binary.BigEndian.Uint16(d.data[d.off+4+2*i:])
		}
		return d.paused(pfcLength)
	}
	return d.fail(ErrUnsupported, LayerMACControl, ReasonMACControl)
}

func (d *decoder) paused(length int) error {
	if !d.push(LayerMACControl, length) {
		d.p.Pause = Pause{}
		return d.full(LayerMACControl)
	}
	d.p.Protocol = ProtocolPause
	d.end = d.off // what follows is padding
	if !d.trailer() {
		return d.full(LayerTrailer)
	}
	return nil
}
