package pcapfile

import (
	"fmt"

	"github.com/rocelens/rocelens/capture"
)

// pcapState is what a pcap file header says.
//
//	0        4     6     8          16       20        24
//	| magic | major minor| reserved | snaplen | linktype |
type pcapState struct {
	layout pcapLayout
	header int   // bytes of a record header
	scale  int64 // nanoseconds in a unit of the record's second time field
	link   uint16
	fcs    uint8
}

func (s *Source) startPcap() error {
	if !s.in.fill(pcapFileHeader) {
		return fmt.Errorf("%w (%d of %d bytes are there%s)", ErrShortHeader, len(s.in.rest()), pcapFileHeader, s.why())
	}
	b := s.in.rest()[:pcapFileHeader]
	layout, _ := pcapMagic(b)
	word := load32(b[20:], layout.big)
	p := pcapState{layout: layout, header: pcapRecordHeader, scale: 1000, link: uint16(word & linkTypeMask), fcs: pcapFCS(word)}
	resolution := Microseconds
	if layout.nano {
		p.scale, resolution = 1, Nanoseconds
	}
	if layout.modified {
		p.header = pcapModifiedHeader
	}
	if major, minor := load16(b[4:], layout.big), load16(b[6:], layout.big); major != 2 || minor != 4 {
		s.note(4, fmt.Sprintf("the file header gives version %d.%d; it was read as 2.4", major, minor))
	}
	if word&linkReservedMask != 0 {
		s.note(20, fmt.Sprintf("reserved bits of the link type word 0x%08x are set; they were ignored", word))
	}
	snap := load32(b[16:], layout.big)
	s.pcap = p
	s.interfaces = []capture.Interface{{LinkType: p.link, SnapLength: snap}}
	s.index = Index{
		Format: s.report.Format, RecordHeader: p.header, Sections: []IndexSection{{BigEndian: layout.big}},
		Interfaces: []IndexInterface{{LinkType: p.link, SnapLength: snap, FCSLength: p.fcs, Resolution: resolution}},
	}
	s.in.pos += pcapFileHeader
	return nil
}

// pcapFCS reads the FCS length of a linktype word. The format counts 16-bit units, yet writers are seen that count
// bytes; no FCS of eight bytes exists, so 4 means four bytes either way.
func pcapFCS(word uint32) uint8 {
	if word&linkFCSPresent == 0 {
		return 0
	}
	n := uint8(word >> linkFCSShift)
	if n == 4 {
		return 4
	}
	return 2 * n
}

// readPcap appends the records at hand. In a stream it stops at the end of the window once it has a frame, since
// moving the window would move the frames.
func (s *Source) readPcap(frames []capture.Frame, limit int) []capture.Frame {
	in, p := &s.in, s.pcap
	for len(frames) < limit {
		rest := in.buf[in.pos:]
		if len(rest) < p.header {
			if len(frames) > 0 && in.r != nil {
				break
			}
			if in.fill(p.header) {
				continue
			}
			s.endPcap(len(frames))
			break
		}
		b := rest[:p.header]
		seconds, fraction := load32(b, p.layout.big), load32(b[4:], p.layout.big)
		captured, original := load32(b[8:], p.layout.big), load32(b[12:], p.layout.big)
		if captured > MaxFrame {
			s.ended = true
			s.fault(in.offset(), len(frames), fmt.Sprintf(
				"record %d at byte %d claims %d captured bytes, more than any frame has (%d), so the file is broken from there on",
				s.number(len(frames)), in.offset(), captured, MaxFrame))
			break
		}
		size := p.header + int(captured)
		if len(rest) < size {
			if len(frames) > 0 && in.r != nil {
				break
			}
			if in.fill(size) {
				continue
			}
			s.ended = true
			s.fault(in.offset(), len(frames), fmt.Sprintf("the file ends inside record %d at byte %d (%d of its %d bytes are there)%s",
				s.number(len(frames)), in.offset(), len(in.rest()), size, s.why()))
			break
		}
		frames = append(frames, capture.Frame{
			Data:           rest[p.header:size:size],
			Number:         s.number(len(frames)),
			Time:           int64(seconds)*nanosPerSecond + int64(fraction)*p.scale,
			Offset:         in.offset(),
			OriginalLength: original,
			LinkType:       p.link,
			FCSLength:      p.fcs,
			HasTime:        true,
		})
		in.pos += size
	}
	return frames
}

func (s *Source) endPcap(kept int) {
	left := len(s.in.rest())
	if left == 0 {
		s.end(kept)
		return
	}
	s.ended = true
	s.fault(s.in.offset(), kept, fmt.Sprintf("the file ends inside the header of record %d at byte %d (%d of its %d bytes are there)%s",
		s.number(kept), s.in.offset(), left, s.pcap.header, s.why()))
}
