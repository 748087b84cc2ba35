package pcapfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/rocelens/rocelens/capture"
)

// maxBlock is the longest block that is believed to be one, in bytes. Past it, reading goes on at the next section header.
const maxBlock = 256 << 20

var errByteOrder = errors.New("its pcapng section header has no byte-order mark, so nothing can be read: copy or capture it again")

// pcapngState is what the section at hand says, and how its interfaces tell time.
type pcapngState struct {
	big       bool
	foreign   bool // a section of an unknown version: passed over
	search    bool // after damage: looking for the next section header
	section   uint32
	first     uint32 // number of the section's first interface, over all sections
	snap      uint32 // of the section's first interface; for simple packet blocks
	clocks    []clock
	drops     []dropCount
	zerosFrom int64 // where a run of zeros began, -1: not in one
	zerosTo   int64
}

// dropCount keeps the two accounts of drops apart: statistics blocks have totals, packet blocks have differences.
type dropCount struct {
	packets    uint64
	statistics bool
}

func (s *Source) startPcapng() error {
	if !s.in.fill(28) {
		return fmt.Errorf("%w (%d bytes are there%s)", ErrShortHeader, len(s.in.rest()), s.why())
	}
	if _, ok := byteOrder(s.in.rest()); !ok {
		return errByteOrder
	}
	s.index.Format = s.report.Format
	s.ng.zerosFrom = -1
	return nil
}

// byteOrder reads the byte-order mark of a section header block, of which at least 12 bytes are in b.
func byteOrder(b []byte) (big, ok bool) {
	switch uint32(byteOrderMagic) {
	case load32(b[8:], false):
		return false, true
	case load32(b[8:], true):
		return true, true
	default:
		return false, false
	}
}

// readPcapng appends the packets of the blocks at hand; as in readPcap, the window of a stream moves only while the
// batch is empty.
func (s *Source) readPcapng(frames []capture.Frame, limit int) []capture.Frame {
	for len(frames) < limit && !s.ended {
		var again bool
		if frames, again = s.step(frames); !again {
			break
		}
	}
	return frames
}

// step reads one block. It reports false when the batch has to be handed over before the window can move.
func (s *Source) step(frames []capture.Frame) ([]capture.Frame, bool) {
	in := &s.in
	held := len(frames) > 0 && in.r != nil // the window may not move
	if s.ng.search {
		if held {
			return frames, false
		}
		s.findSection(len(frames))
		return frames, true
	}
	rest := in.buf[in.pos:]
	if len(rest) < blockOverhead {
		if held {
			return frames, false
		}
		if !in.fill(blockOverhead) {
			s.endPcapng(len(frames))
		}
		return frames, true
	}
	kind := load32(rest, s.ng.big)
	if kind == blockSection {
		big, ok := byteOrder(rest)
		if !ok {
			s.broken(len(frames), "the section header has no byte-order mark")
			return frames, true
		}
		s.ng.big = big
	}
	total := int64(load32(rest[4:], s.ng.big))
	if kind == 0 && (total == 0 || s.ng.zerosFrom >= 0) {
		s.zeros(rest)
		return frames, true
	}
	s.endZeros()
	switch {
	case total < blockOverhead:
		s.broken(len(frames), fmt.Sprintf("the block gives its length as %d bytes, less than any block has", total))
		return frames, true
	case total > maxBlock:
		s.broken(len(frames), fmt.Sprintf("the block gives its length as %d bytes, more than any block is believed to have (%d)", total, maxBlock))
		return frames, true
	}
	size := (total + 3) &^ 3
	if size <= int64(len(rest)) && !tooLong(kind, size) {
		return s.block(frames, kind, total, int(size))
	}
	if held {
		return frames, false
	}
	if tooLong(kind, size) {
		s.passOver(kind, size, len(frames))
		return frames, true
	}
	if !in.fill(int(size)) {
		if int64(len(in.rest())) >= total { // the last block, whose padding was never written
			return s.block(frames, kind, total, int(total))
		}
		s.cut(kind, size, in.offset(), len(in.rest()), len(frames))
	}
	return frames, true
}

// tooLong says which blocks are not brought into memory: longer than sense has it, or of no use here.
func tooLong(kind uint32, size int64) bool {
	if isPacketBlock(kind) {
		return size > maxPacketBlock
	}
	return size > maxMetaBlock
}

func (s *Source) passOver(kind uint32, size int64, kept int) {
	at := s.in.offset()
	if !s.in.skip(size) {
		s.cut(kind, size, at, int(s.in.offset()-at), kept)
		return
	}
	s.note(at, fmt.Sprintf("%s of %d bytes was passed over, it is too long", blockName(kind), size))
	if kind == blockSection {
		s.ng.foreign = true
	}
}

func (s *Source) cut(kind uint32, size, at int64, have, kept int) {
	s.ended = true
	s.fault(at, kept, fmt.Sprintf("the file ends inside the %s at byte %d (%d of its %d bytes are there)%s", blockName(kind), at, have, size, s.why()))
}

// broken records damage at the block at hand; reading goes on at the next section header.
func (s *Source) broken(kept int, text string) {
	at := s.in.offset()
	s.fault(at, kept, fmt.Sprintf("the file is broken at byte %d: %s", at, text))
	s.ng.search = true
}

// findSection looks for the next section header. A search for anything less sure would take payload for blocks.
func (s *Source) findSection(kept int) {
	in := &s.in
	from := in.offset()
	in.pos++ // past the block that is broken
	mark := []byte{0x0a, 0x0d, 0x0d, 0x0a}
	for in.fill(blockOverhead) {
		rest := in.rest()
		for {
			i := bytes.Index(rest, mark)
			if i < 0 || len(rest)-i < blockOverhead {
				break
			}
			if _, ok := byteOrder(rest[i:]); ok {
				in.pos += len(in.rest()) - len(rest) + i
				s.ng.search, s.ng.foreign = false, false
				s.note(from, fmt.Sprintf("%d bytes up to the next section header were passed over", in.offset()-from))
				return
			}
			rest = rest[i+1:]
		}
		in.pos = len(in.buf) - (blockOverhead - 1)
	}
	in.pos = len(in.buf)
	s.note(from, fmt.Sprintf("the last %d bytes were passed over", in.offset()-from))
	s.end(kept)
}

func (s *Source) zeros(rest []byte) {
	at := s.in.offset()
	if s.ng.zerosFrom < 0 {
		s.ng.zerosFrom = at
	}
	n := 0
	for n+blockOverhead <= len(rest) && load32(rest[n:], false) == 0 {
		n += 4
	}
	s.in.pos += max(n, 4)
	s.ng.zerosTo = s.in.offset()
}

func (s *Source) endZeros() {
	if s.ng.zerosFrom >= 0 {
		s.note(s.ng.zerosFrom, fmt.Sprintf("%d zero bytes between blocks were passed over", s.ng.zerosTo-s.ng.zerosFrom))
		s.ng.zerosFrom = -1
	}
}

func (s *Source) endPcapng(kept int) {
	rest := s.in.rest()
	at := s.in.offset()
	// Fewer than four zeros may be the beginning of a block's type.
	padding := len(rest) >= 4 || s.ng.zerosFrom >= 0
	if len(rest) > 0 && padding && len(bytes.Trim(rest, "\x00")) == 0 && s.why() == "" {
		if s.ng.zerosFrom < 0 {
			s.ng.zerosFrom = at
		}
		s.in.pos += len(rest)
		s.ng.zerosTo = s.in.offset()
		rest = nil
	}
	s.endZeros()
	if len(rest) == 0 {
		s.end(kept)
		return
	}
	s.ended = true
	s.fault(at, kept, fmt.Sprintf("%s at byte %d, the end of the file, too little for a block%s", byteCount(len(rest)), at, s.why()))
}

// block reads a block that is wholly in the window: total bytes by its own word, size with padding.
func (s *Source) block(frames []capture.Frame, kind uint32, total int64, size int) ([]capture.Frame, bool) {
	in := &s.in
	block, agrees := trimBlock(in.rest()[:size:size], total, s.ng.big)
	if !agrees {
		if len(frames) > 0 && in.r != nil {
			return frames, false
		}
		trailer := load32(block[size-4:], s.ng.big)
		if !s.believable(size) {
			s.broken(len(frames), fmt.Sprintf("the %s gives its length as %d bytes before and %d after its body", blockName(kind), total, trailer))
			return frames, true
		}
		s.note(in.offset(), fmt.Sprintf("the %s gives its length as %d bytes before and %d after its body; the first was believed", blockName(kind), total, trailer))
		block = in.rest()[:size:size] // the window may have moved
	}
	if n := len(block); n < size { // written without padding, or with padding that its length leaves out
		if len(frames) > 0 && in.r != nil {
			return frames, false
		}
		if s.believable(n) || !s.believable(size) {
			size = n
		}
		block = in.rest()[:n:n]
	}
	at := in.offset()
	body := block[8 : len(block)-4 : len(block)-4]
	in.pos += size
	switch {
	case kind == blockSection:
		s.sectionBlock(body, at)
	case s.ng.foreign:
	case isPacketBlock(kind):
		frames = s.packetBlock(frames, kind, body, at)
	case kind == blockInterface:
		s.interfaceBlock(body, at)
	case kind == blockStatistics:
		s.statisticsBlock(body, at)
	case kind == blockNames, kind == blockSecrets:
		// Names and keys of other protocols.
	case kind == blockCustom, kind == blockCustomNoCopy:
		s.note(at, fmt.Sprintf("a custom block of %d bytes was passed over", size))
	default:
		s.note(at, fmt.Sprintf("a block of unknown type 0x%08x and %d bytes was passed over", kind, size))
	}
	return frames, true
}

// believable says whether what follows a block whose two lengths differ is where the first of them says: the end of
// the file or the head of a known block.
func (s *Source) believable(size int) bool {
	if !s.in.fill(size + blockOverhead) {
		return len(s.in.rest()) == size
	}
	b := s.in.rest()[size:]
	kind, total := load32(b, s.ng.big), load32(b[4:], s.ng.big)
	if kind == blockSection {
		_, ok := byteOrder(b)
		return ok
	}
	return blockKnown(kind) && total >= blockOverhead && total <= maxBlock
}

func blockKnown(kind uint32) bool {
	switch kind {
	case blockInterface, blockPacket, blockSimple, blockNames, blockStatistics, blockEnhanced, blockSecrets,
		blockCustom, blockCustomNoCopy, blockSection:
		return true
	default:
		return false
	}
}

func blockName(kind uint32) string {
	switch kind {
	case blockSection:
		return "section header block"
	case blockInterface:
		return "interface description block"
	case blockPacket:
		return "packet block"
	case blockSimple:
		return "simple packet block"
	case blockNames:
		return "name resolution block"
	case blockStatistics:
		return "interface statistics block"
	case blockEnhanced:
		return "enhanced packet block"
	case blockSecrets:
		return "decryption secrets block"
	case blockCustom, blockCustomNoCopy:
		return "custom block"
	default:
		return fmt.Sprintf("block of unknown type 0x%08x", kind)
	}
}

func (s *Source) packetBlock(frames []capture.Frame, kind uint32, body []byte, at int64) []capture.Frame {
	snap := uint32(math.MaxUint32)
	if s.ng.snap != 0 {
		snap = s.ng.snap
	}
	p, err := parsePacket(kind, body, s.ng.big, snap)
	if err != nil {
		s.note(at, fmt.Sprintf("a packet was passed over: %v", err))
		return frames
	}
	if int64(p.local) >= int64(len(s.ng.clocks)) {
		s.note(at, fmt.Sprintf("a packet was passed over: it names interface %d, its section has %d", p.local, len(s.ng.clocks)))
		return frames
	}
	number := s.ng.first + p.local
	i := &s.index.Interfaces[number]
	if p.lacks != 0 {
		s.note(at, fmt.Sprintf("a simple packet block has %s less than its packet was captured with; what is there was taken", byteCount(int(p.lacks))))
	}
	frames = append(frames, capture.Frame{
		Data: p.data, Number: s.number(len(frames)), Offset: at, OriginalLength: p.original,
		Interface: number, LinkType: i.LinkType, FCSLength: i.FCSLength,
	})
	f := &frames[len(frames)-1]
	if p.comments != nil {
		s.comments.packet(f.Number, p.comments, s.ng.big)
	}
	if p.fcs != 0 {
		f.FCSLength = p.fcs
	}
	if p.timed && i.Resolution.Valid() {
		var exact bool
		f.HasTime = true
		if f.Time, exact = s.ng.clocks[p.local].nanos(p.ticks); !exact {
			s.note(at, "the packet's time lies outside the years 1677 to 2262; the nearest was taken")
		}
	}
	if d := &s.ng.drops[p.local]; p.drops != 0 && !d.statistics {
		d.packets += p.drops
		total := d.packets
		s.interfaces[number].Dropped = &total
	}
	return frames
}
