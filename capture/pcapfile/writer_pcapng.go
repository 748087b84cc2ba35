package pcapfile

import (
	"errors"
	"fmt"
	"math"

	"github.com/rocelens/rocelens/capture"
)

var errPcapngOnly = errors.New("write capture: only pcapng has sections, interfaces and statistics")

func (w *Writer) section(interfaces []WriterInterface, comments ...string) error {
	w.clocks = w.clocks[:0]
	b := w.begin(blockSection)
	b = w.order.AppendUint32(b, byteOrderMagic)
	b = w.order.AppendUint16(b, 1)
	b = w.order.AppendUint16(b, 0)
	b = w.order.AppendUint64(b, ^uint64(0)) // section length: not given
	b = w.comment(b, comments)
	if err := w.end(b); err != nil {
		return err
	}
	for i := range interfaces {
		if err := w.AddInterface(interfaces[i]); err != nil {
			return err
		}
	}
	return nil
}

// NewSection begins another pcapng section; Frame.Interface then counts from 0 again.
func (w *Writer) NewSection(interfaces []WriterInterface) error {
	if w.format != FormatPcapng {
		return errPcapngOnly
	}
	return w.section(interfaces)
}

// AddInterface appends an interface description block; frames may refer to it from then on.
func (w *Writer) AddInterface(i WriterInterface) error {
	if w.format != FormatPcapng {
		return errPcapngOnly
	}
	resolution := i.Resolution
	if resolution == 0 {
		resolution = Nanoseconds
	}
	if !resolution.Valid() {
		return fmt.Errorf("write capture: resolution %s is too fine to count to one second", resolution)
	}
	if len(i.Name) > maxText || len(i.Description) > maxText {
		return fmt.Errorf("write capture: an interface's name or description is longer than %d bytes", maxText)
	}
	w.clocks = append(w.clocks, newClock(resolution, i.Offset))
	if len(w.clocks) == 1 {
		if w.snap = i.SnapLength; w.snap == 0 {
			w.snap = math.MaxUint32
		}
	}
	b := w.begin(blockInterface)
	b = w.order.AppendUint16(b, i.LinkType)
	b = append(b, 0, 0)
	b = w.order.AppendUint32(b, i.SnapLength)
	if i.Name != "" {
		b = w.option(b, optionIfName, []byte(i.Name))
	}
	if i.Description != "" {
		b = w.option(b, optionIfDescription, []byte(i.Description))
	}
	b = w.option(b, optionIfResolution, []byte{byte(resolution)})
	if i.FCSLength != 0 {
		b = w.option(b, optionIfFCSLength, []byte{i.FCSLength * 8})
	}
	if i.Offset != 0 {
		b = w.option(b, optionIfOffset, w.order.AppendUint64(nil, uint64(i.Offset)))
	}
	return w.end(append(b, 0, 0, 0, 0))
}

// WriteStatistics appends an interface statistics block; nil counters are left out. time is in nanoseconds since the epoch.
func (w *Writer) WriteStatistics(index uint32, time int64, received, dropped *uint64) error {
	if w.format != FormatPcapng {
		return errPcapngOnly
	}
	if int(index) >= len(w.clocks) {
		return fmt.Errorf("write capture: interface %d of %d", index, len(w.clocks))
	}
	ticks, ok := w.clocks[index].ticks(time)
	if !ok {
		return fmt.Errorf("write capture: %d ns: %w", time, ErrTime)
	}
	b := w.begin(blockStatistics)
	b = w.order.AppendUint32(b, index)
	b = w.order.AppendUint32(b, uint32(ticks>>32))
	b = w.order.AppendUint32(b, uint32(ticks))
	if received != nil {
		b = w.option(b, optionISBReceived, w.order.AppendUint64(nil, *received))
	}
	if dropped != nil {
		b = w.option(b, optionISBIfDropped, w.order.AppendUint64(nil, *dropped))
	}
	return w.end(append(b, 0, 0, 0, 0))
}

func (w *Writer) packetBlock(f *capture.Frame, original uint32, comments []string) error {
	if int(f.Interface) >= len(w.clocks) {
		return fmt.Errorf("write capture: frame of interface %d of %d", f.Interface, len(w.clocks))
	}
	if !f.HasTime && f.Interface == 0 && len(comments) == 0 {
		if snap := w.snap; uint64(len(f.Data)) != uint64(min(original, snap)) {
			return fmt.Errorf("write capture: a simple packet block tells no captured length, so it must be the lesser of the original (%d) and the snap length (%d), not %d",
				original, snap, len(f.Data))
		}
		b := w.begin(blockSimple)
		b = w.order.AppendUint32(b, original)
		return w.end(pad(append(b, f.Data...)))
	}
	ticks, ok := w.clocks[f.Interface].ticks(f.Time)
	if !ok || !f.HasTime {
		return fmt.Errorf("write capture: %d ns: %w", f.Time, ErrTime)
	}
	b := w.begin(blockEnhanced)
	b = w.order.AppendUint32(b, f.Interface)
	b = w.order.AppendUint32(b, uint32(ticks>>32))
	b = w.order.AppendUint32(b, uint32(ticks))
	b = w.order.AppendUint32(b, uint32(len(f.Data)))
	b = w.order.AppendUint32(b, original)
	b = pad(append(b, f.Data...))
	return w.end(w.comment(b, comments))
}

// comment appends comments as the options of a block that has no others.
func (w *Writer) comment(b []byte, comments []string) []byte {
	for _, c := range comments {
		b = w.option(b, optionComment, []byte(c[:min(len(c), math.MaxUint16)]))
	}
	if len(comments) > 0 {
		b = append(b, 0, 0, 0, 0) // opt_endofopt
	}
	return b
}

func (w *Writer) begin(kind uint32) []byte {
	b := w.order.AppendUint32(w.buf[:0], kind)
	return append(b, 0, 0, 0, 0)
}

func (w *Writer) end(b []byte) error {
	total := uint32(len(b) + 4)
	w.put.PutUint32(b[4:], total)
	return w.flush(w.order.AppendUint32(b, total))
}

func (w *Writer) option(b []byte, code uint16, value []byte) []byte {
	b = w.order.AppendUint16(b, code)
	b = w.order.AppendUint16(b, uint16(len(value)))
	return pad(append(b, value...))
}

// pad fills up to a multiple of four; every part of a block before b's end is one already.
func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
