package flight

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
)

// counter counts what is written.
type counter struct {
	io.Writer

	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// encode writes the record as pcapng, with nanoseconds and the packets' original lengths.
func (t *take) encode(out io.Writer, o *Options) (packets uint64, bytes int64, err error) {
	counted := &counter{Writer: out}
	buffered := bufio.NewWriterSize(counted, 1<<16)
	link, first := uint16(1), int64(0)
	for p := range t.ring.packets() {
		link, first = p.LinkType, p.Time
		break
	}
	w, err := pcapfile.NewWriter(buffered, pcapfile.FormatPcapng, pcapfile.WriterOptions{
		Comments: t.sayings(o, first),
		Interfaces: []pcapfile.WriterInterface{{
			Name: t.iface, Description: "rocelens-agent on " + o.Host, LinkType: link, SnapLength: uint32(o.Cut),
		}},
	})
	if err != nil {
		return 0, 0, err
	}
	frame := capture.Frame{HasTime: true}
	for p := range t.ring.packets() {
		if p.Time < t.from || p.Time > t.to {
			continue
		}
		frame.Data, frame.Time, frame.OriginalLength = p.Data, p.Time, p.OriginalLength
		if err := w.WriteCommented(&frame, t.comments(p.Number)...); err != nil {
			return 0, 0, err
		}
		packets++
	}
	if t.gaps == 0 || t.lost > 0 { // else nobody knows how many
		if err := w.WriteStatistics(0, t.to, nil, &t.lost); err != nil {
			return 0, 0, err
		}
	}
	if err := buffered.Flush(); err != nil {
		return 0, 0, err
	}
	return packets, counted.n, nil
}

// sayings are the comments on the file: who recorded it and why, and what is missing.
func (t *take) sayings(o *Options, first int64) []string {
	all := make([]string, 0, len(t.events)+2)
	for _, e := range t.events {
		what := string(e.Kind)
		if e.Rule != "" {
			what += " (" + e.Rule + ")"
		}
		all = append(all, fmt.Sprintf("Recorded by the agent on %s, interface %s, at %s. Reason: %s: %s [event %s]",
			o.Host, e.Interface, e.Time.UTC().Format(time.RFC3339Nano), what, e.Sentence, e.ID))
	}
	if t.gaps > 0 {
		all = append(all, fmt.Sprintf("The capture lost packets meanwhile, %d of which it knows.", t.lost))
	}
	if first > t.from {
		all = append(all, "What came before "+time.Unix(0, first).UTC().Format(time.RFC3339Nano)+" was no longer in memory, or not captured.")
	}
	return all
}
