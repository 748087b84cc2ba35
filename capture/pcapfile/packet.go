package pcapfile

import (
	"errors"
	"fmt"
	"math"
)

// packet is what one of pcapng's three packet blocks says.
type packet struct {
	data     []byte
	local    uint32 // interface, as the section counts
	original uint32
	ticks    uint64
	drops    uint64 // packets lost since the one before, where the block tells
	lacks    uint32 // bytes of a simple packet block that should be in it and are not
	fcs      uint8  // bytes; 0: the interface tells
	timed    bool
	comments []byte // the options, when there are comments among them
}

var errShortBlock = errors.New("the block is too short for what it is")

func isPacketBlock(kind uint32) bool {
	return kind == blockEnhanced || kind == blockSimple || kind == blockPacket
}

// trimBlock takes a block with the padding that its length should have had, and returns it as long as it is, and
// whether the length after its body agrees. Some writers forget to pad.
func trimBlock(b []byte, total int64, big bool) ([]byte, bool) {
	switch {
	case int64(load32(b[len(b)-4:], big)) == total:
		return b, true
	case total < int64(len(b)) && int64(load32(b[total-4:], big)) == total:
		return b[:total], true
	default:
		return b, false
	}
}

// parsePacket reads the body of a packet block, which is the block without type and lengths. snap is that of the
// section's first interface, which only simple packet blocks need: they do not say how much was captured.
func parsePacket(kind uint32, body []byte, big bool, snap uint32) (packet, error) {
	if kind == blockSimple {
		if len(body) < 4 {
			return packet{}, errShortBlock
		}
		p := packet{original: load32(body, big)}
		whole := min(p.original, snap)
		n := min(uint64(whole), uint64(len(body)-4))
		p.data, p.lacks = body[4:4+n:4+n], whole-uint32(n)
		return p, frameLength(uint32(n))
	}
	if len(body) < enhancedHeaderLength {
		return packet{}, errShortBlock
	}
	p := packet{
		local: load32(body, big), timed: true, original: load32(body[16:], big),
		ticks: uint64(load32(body[4:], big))<<32 | uint64(load32(body[8:], big)),
	}
	if kind == blockPacket {
		p.local = uint32(load16(body, big))
		if d := load16(body[2:], big); d != math.MaxUint16 { // all ones: not known
			p.drops = uint64(d)
		}
	}
	captured := load32(body[12:], big)
	rest := body[enhancedHeaderLength:]
	if uint64(captured) > uint64(len(rest)) {
		return packet{}, fmt.Errorf("the packet claims %d captured bytes, its block has room for %d", captured, len(rest))
	}
	p.data = rest[:captured:captured]
	if padded := (int(captured) + 3) &^ 3; padded < len(rest) {
		p.options(kind, rest[padded:], big)
	}
	return p, frameLength(captured)
}

func frameLength(n uint32) error {
	if n > MaxFrame {
		return fmt.Errorf("the packet has %d bytes, more than any frame has (%d)", n, MaxFrame)
	}
	return nil
}

func (p *packet) options(kind uint32, all []byte, big bool) {
	for b := all; ; {
		code, value, rest, ok := nextOption(b, big)
		if !ok {
			return
		}
		switch {
		case code == optionComment:
			p.comments = all
		case code == optionEPBFlags && len(value) == 4: // of obsolete packet blocks, too
			p.fcs = uint8(load32(value, big) >> 5 & 0xf)
		case code == optionEPBDropCount && len(value) == 8 && kind == blockEnhanced:
			p.drops = load64(value, big)
		}
		b = rest
	}
}

// optionsCut tells whether what nextOption left is more than the end of options.
func optionsCut(b []byte, big bool) bool {
	return len(b) > 0 && (len(b) < optionHeaderLength || load16(b, big) != optionEnd)
}

// nextOption takes one option off b. It reports false at the end of options or where they are cut.
func nextOption(b []byte, big bool) (code uint16, value, rest []byte, ok bool) {
	if len(b) < optionHeaderLength {
		return 0, nil, nil, false
	}
	code = load16(b, big)
	n := int(load16(b[2:], big))
	if b = b[optionHeaderLength:]; code == optionEnd || n > len(b) {
		return 0, nil, nil, false
	}
	return code, b[:n], b[min((n+3)&^3, len(b)):], true
}
