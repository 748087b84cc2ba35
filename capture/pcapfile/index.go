package pcapfile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rocelens/rocelens/capture"
)

// FrameRef is where one frame lies: Frame.Offset and Frame.Interface.
type FrameRef struct {
	Offset    int64
	Interface uint32
}

// Index is what reading one frame out of the middle of an uncompressed file needs beside its FrameRef. It is kept, as
// JSON, with the capture; its size is that of the list of interfaces.
type Index struct {
	Format       string           `json:"format"`                  // "pcap" or "pcapng"
	RecordHeader int              `json:"record_header,omitempty"` // pcap: bytes before each frame, 16 or 24
	Sections     []IndexSection   `json:"sections"`                // pcap has one
	Interfaces   []IndexInterface `json:"interfaces"`              // as FrameRef.Interface counts, over all sections
}

// IndexSection is a run of blocks of one byte order and one numbering of interfaces.
type IndexSection struct {
	Offset         int64  `json:"offset"`
	BigEndian      bool   `json:"big_endian"`
	FirstInterface uint32 `json:"first_interface"`
}

// IndexInterface is how the frames of one interface are to be understood.
type IndexInterface struct {
	Section    uint32     `json:"section"`
	LinkType   uint16     `json:"link_type"`
	FCSLength  uint8      `json:"fcs_length,omitempty"`  // bytes
	Resolution Resolution `json:"resolution"`            // of timestamps, as if_tsresol; pcap 6 or 9
	TimeOffset int64      `json:"time_offset,omitempty"` // seconds, as if_tsoffset
	SnapLength uint32     `json:"snap_length,omitempty"` // 0: unlimited
}

// ReadFrame reads the frame at ref from f, an uncompressed capture of size bytes, without reading anything else. Number
// is 0 in the frame returned: the file does not tell it. Errors: ErrReference when no packet of that interface begins
// there, and those of f.
func (x *Index) ReadFrame(f io.ReaderAt, size int64, ref FrameRef) (capture.Frame, error) {
	frame, err := x.readFrame(f, size, ref)
	if err != nil {
		return capture.Frame{}, fmt.Errorf("read frame at byte %d of interface %d: %w", ref.Offset, ref.Interface, err)
	}
	return frame, nil
}

// ReadComments reads what people wrote about the packet at ref; nothing in a pcap file. Errors are those of ReadFrame.
func (x *Index) ReadComments(f io.ReaderAt, size int64, ref FrameRef) ([]string, error) {
	i, section, err := x.place(size, ref)
	if err != nil || x.Format == FormatPcap.String() {
		return nil, err
	}
	p, err := readPacket(f, size, ref, i, section)
	if err != nil {
		return nil, fmt.Errorf("read comments at byte %d of interface %d: %w", ref.Offset, ref.Interface, err)
	}
	var all []string
	for value := range optionComments(p.comments, section.BigEndian) {
		all = append(all, text(value))
	}
	return all, nil
}

func (x *Index) readFrame(f io.ReaderAt, size int64, ref FrameRef) (capture.Frame, error) {
	i, section, err := x.place(size, ref)
	if err != nil {
		return capture.Frame{}, err
	}
	if x.Format == FormatPcap.String() {
		return x.readRecord(f, size, ref, i, section)
	}
	return readBlock(f, size, ref, i, section)
}

// place finds the interface and the section of a reference.
func (x *Index) place(size int64, ref FrameRef) (*IndexInterface, *IndexSection, error) {
	if int64(ref.Interface) >= int64(len(x.Interfaces)) {
		return nil, nil, fmt.Errorf("%w: it has %d interfaces", ErrReference, len(x.Interfaces))
	}
	i := &x.Interfaces[ref.Interface]
	if int64(i.Section) >= int64(len(x.Sections)) {
		return nil, nil, fmt.Errorf("%w: it has %d sections", ErrReference, len(x.Sections))
	}
	section := &x.Sections[i.Section]
	if ref.Offset < section.Offset || ref.Offset >= size {
		return nil, nil, fmt.Errorf("%w: it lies outside the section", ErrReference)
	}
	return i, section, nil
}

func (x *Index) readRecord(f io.ReaderAt, size int64, ref FrameRef, i *IndexInterface, section *IndexSection) (capture.Frame, error) {
	if x.RecordHeader != pcapRecordHeader && x.RecordHeader != pcapModifiedHeader {
		return capture.Frame{}, fmt.Errorf("%w: record headers of %d bytes", ErrReference, x.RecordHeader)
	}
	var head [pcapModifiedHeader]byte
	if err := readFull(f, head[:x.RecordHeader], ref.Offset); err != nil {
		return capture.Frame{}, err
	}
	captured := int64(load32(head[8:], section.BigEndian))
	start := ref.Offset + int64(x.RecordHeader)
	if captured > MaxFrame || captured > size-start {
		return capture.Frame{}, fmt.Errorf("%w: a record of %d bytes cannot be there", ErrReference, captured)
	}
	scale := int64(1000)
	if i.Resolution == Nanoseconds {
		scale = 1
	}
	frame := capture.Frame{
		Data: make([]byte, captured),
		Time: int64(load32(head[:], section.BigEndian))*nanosPerSecond + int64(load32(head[4:], section.BigEndian))*scale, HasTime: true,
		Offset: ref.Offset, OriginalLength: load32(head[12:], section.BigEndian),
		Interface: ref.Interface, LinkType: i.LinkType, FCSLength: i.FCSLength,
	}
	frame.HasTime = frame.Time != 0
	return frame, readFull(f, frame.Data, start)
}

func readBlock(f io.ReaderAt, size int64, ref FrameRef, i *IndexInterface, section *IndexSection) (capture.Frame, error) {
	p, err := readPacket(f, size, ref, i, section)
	if err != nil {
		return capture.Frame{}, err
	}
	frame := capture.Frame{
		Data: p.data, Offset: ref.Offset, OriginalLength: p.original,
		Interface: ref.Interface, LinkType: i.LinkType, FCSLength: i.FCSLength,
	}
	if p.fcs != 0 {
		frame.FCSLength = p.fcs
	}
	if p.timed && i.Resolution.Valid() {
		c := newClock(i.Resolution, i.TimeOffset)
		frame.Time, _ = c.nanos(p.ticks) // clamped, as it was when the file was read
		frame.HasTime = frame.Time != 0
	}
	return frame, nil
}

// readPacket reads the packet block at ref.
func readPacket(f io.ReaderAt, size int64, ref FrameRef, i *IndexInterface, section *IndexSection) (packet, error) {
	var head [8]byte
	if err := readFull(f, head[:], ref.Offset); err != nil {
		return packet{}, err
	}
	kind, total := load32(head[:], section.BigEndian), int64(load32(head[4:], section.BigEndian))
	padded := min((total+3)&^3, size-ref.Offset) // the last block of a file may lack its padding
	if !isPacketBlock(kind) || total < blockOverhead || total > maxPacketBlock || total > size-ref.Offset {
		return packet{}, fmt.Errorf("%w: a block of type 0x%08x and %d bytes is no packet", ErrReference, kind, total)
	}
	block := make([]byte, padded)
	if err := readFull(f, block, ref.Offset); err != nil {
		return packet{}, err
	}
	block, _ = trimBlock(block, total, section.BigEndian)
	snap := uint32(math.MaxUint32)
	if i.SnapLength != 0 {
		snap = i.SnapLength
	}
	p, err := parsePacket(kind, block[8:len(block)-4], section.BigEndian, snap)
	if err != nil {
		return packet{}, fmt.Errorf("%w: %w", ErrReference, err)
	}
	if p.local != ref.Interface-section.FirstInterface {
		return packet{}, fmt.Errorf("%w: the packet is of interface %d of its section", ErrReference, p.local)
	}
	return p, nil
}

func readFull(f io.ReaderAt, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the file ends there", ErrReference)
	}
	return err
}
