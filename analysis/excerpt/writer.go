package excerpt

import (
	"fmt"
	"io"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
)

// Interface is what a capture calls one of its interfaces.
type Interface struct {
	Name        string
	Description string
}

// Interfaces are those of a capture, as an excerpt of it describes them. names may be shorter than the index.
func Interfaces(index *pcapfile.Index, names []Interface) []pcapfile.WriterInterface {
	out := make([]pcapfile.WriterInterface, 0, len(index.Interfaces))
	for i := range index.Interfaces {
		of := &index.Interfaces[i]
		one := pcapfile.WriterInterface{
			LinkType: of.LinkType, SnapLength: of.SnapLength, FCSLength: of.FCSLength, Resolution: of.Resolution, Offset: of.TimeOffset,
		}
		if !one.Resolution.Valid() || one.Resolution == 0 {
			one.Resolution = pcapfile.Nanoseconds
		}
		if i < len(names) {
			one.Name, one.Description = names[i].Name, names[i].Description
		}
		out = append(out, one)
	}
	return out
}

// Writer writes an excerpt. Frame.Interface counts as the interfaces that it was made with.
type Writer struct {
	out        *pcapfile.Writer
	interfaces []pcapfile.WriterInterface
}

// NewWriter writes the header of an excerpt.
func NewWriter(w io.Writer, interfaces []pcapfile.WriterInterface) (*Writer, error) {
	out, err := pcapfile.NewWriter(w, pcapfile.FormatPcapng, pcapfile.WriterOptions{Interfaces: interfaces})
	if err != nil {
		return nil, fmt.Errorf("write an excerpt: %w", err)
	}
	return &Writer{out: out, interfaces: interfaces}, nil
}

// Write appends a frame with what is to be said of it; empty comments are left out. A frame without a time gets 0, which
// readers take for unknown, since only blocks with a time can bear comments.
func (w *Writer) Write(f *capture.Frame, comments ...string) error {
	said := make([]string, 0, len(comments))
	for _, c := range comments {
		if c != "" {
			said = append(said, c)
		}
	}
	frame := *f
	if !frame.HasTime && int(frame.Interface) < len(w.interfaces) {
		frame.HasTime, frame.Time = true, w.interfaces[frame.Interface].Offset*1_000_000_000
	}
	if err := w.out.WriteCommented(&frame, said...); err != nil {
		return fmt.Errorf("write an excerpt: %w", err)
	}
	return nil
}
