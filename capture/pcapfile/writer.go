package pcapfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rocelens/rocelens/capture"
)

// ErrTime marks a time that the format written cannot hold.
var ErrTime = errors.New("time does not fit the format")

// WriterOptions says how a Writer writes. The zero value is a little-endian Ethernet capture: pcap in microseconds,
// pcapng in nanoseconds.
type WriterOptions struct {
	BigEndian  bool
	Nanosecond bool // pcap only: the nanosecond magic

	// LinkType, SnapLength and FCSLength describe pcap's one interface, and that of a pcapng file for which no
	// Interfaces are given. LinkType 0 is written as LINKTYPE_ETHERNET unless NullLinkType is set.
	LinkType     uint16
	NullLinkType bool
	SnapLength   uint32 // 0: written as it is, which readers take as unlimited
	FCSLength    uint8  // bytes of FCS at the end of each frame

	Interfaces []WriterInterface // pcapng only
	Comments   []string          // on the file; pcapng only
}

// WriterInterface becomes an interface description block.
type WriterInterface struct {
	Name        string
	Description string
	LinkType    uint16
	SnapLength  uint32
	FCSLength   uint8
	Resolution  Resolution // 0: nanoseconds
	Offset      int64      // if_tsoffset, seconds
}

const linkEthernet = 1

// Writer writes a capture file. It does no buffering of its own: one Write to the underlying writer a frame.
type Writer struct {
	w          io.Writer
	format     Format
	order      binary.AppendByteOrder
	put        binary.ByteOrder
	clocks     []clock
	snap       uint32 // of the section's first interface; for simple packet blocks
	buf        []byte
	nanosecond bool
}

// NewWriter writes the file's header to w and returns a Writer for its frames.
func NewWriter(w io.Writer, format Format, opts WriterOptions) (*Writer, error) {
	out := &Writer{w: w, format: format, order: binary.LittleEndian, put: binary.LittleEndian, nanosecond: opts.Nanosecond}
	if opts.BigEndian {
		out.order, out.put = binary.BigEndian, binary.BigEndian
	}
	link := opts.LinkType
	if link == 0 && !opts.NullLinkType {
		link = linkEthernet
	}
	switch format {
	case FormatPcap:
		return out, out.pcapHeader(link, opts)
	case FormatPcapng:
		interfaces := opts.Interfaces
		if len(interfaces) == 0 {
			interfaces = []WriterInterface{{LinkType: link, SnapLength: opts.SnapLength, FCSLength: opts.FCSLength}}
		}
		return out, out.section(interfaces, opts.Comments...)
	default:
		return nil, fmt.Errorf("write capture: unknown format %d", format)
	}
}

func (w *Writer) pcapHeader(link uint16, opts WriterOptions) error {
	magic := uint32(magicMicro)
	resolution := Microseconds
	if w.nanosecond {
		magic, resolution = magicNano, Nanoseconds
	}
	w.clocks = []clock{newClock(resolution, 0)}
	word := uint32(link)
	if opts.FCSLength != 0 {
		word |= linkFCSPresent | uint32(opts.FCSLength/2)<<linkFCSShift
	}
	b := w.order.AppendUint32(w.buf[:0], magic)
	b = w.order.AppendUint16(b, 2)
	b = w.order.AppendUint16(b, 4)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = w.order.AppendUint32(b, opts.SnapLength)
	b = w.order.AppendUint32(b, word)
	return w.flush(b)
}

func (w *Writer) flush(b []byte) error {
	w.buf = b[:0]
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	return nil
}

// WriteFrame appends a frame. It uses Data, Time, HasTime, OriginalLength (0: the length of Data) and, in pcapng,
// Interface. A pcapng frame of interface 0 without a time becomes a simple packet block; a pcap record must have one.
func (w *Writer) WriteFrame(f *capture.Frame) error { return w.WriteCommented(f) }

// WriteCommented is WriteFrame with comments on the frame, which only pcapng can bear.
func (w *Writer) WriteCommented(f *capture.Frame, comments ...string) error {
	if len(f.Data) > MaxFrame {
		return fmt.Errorf("write capture: frame of %d bytes is longer than %d", len(f.Data), MaxFrame)
	}
	original := f.OriginalLength
	if original == 0 {
		original = uint32(len(f.Data))
	}
	if w.format == FormatPcapng {
		return w.packetBlock(f, original, comments)
	}
	if !f.HasTime {
		return fmt.Errorf("write capture: frame without a time: %w", ErrTime)
	}
	ticks, ok := w.clocks[0].ticks(f.Time)
	perSecond := uint64(1_000_000)
	if w.nanosecond {
		perSecond = nanosPerSecond
	}
	if !ok || ticks/perSecond > math.MaxUint32 {
		return fmt.Errorf("write capture: %d ns: %w", f.Time, ErrTime)
	}
	b := w.order.AppendUint32(w.buf[:0], uint32(ticks/perSecond))
	b = w.order.AppendUint32(b, uint32(ticks%perSecond))
	b = w.order.AppendUint32(b, uint32(len(f.Data)))
	b = w.order.AppendUint32(b, original)
	return w.flush(append(b, f.Data...))
}
