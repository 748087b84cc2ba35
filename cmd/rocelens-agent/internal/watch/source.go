package watch

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/afpacket"
	"github.com/rocelens/rocelens/capture/afxdp"
	"github.com/rocelens/rocelens/capture/headers"
)

// Ways to capture packets.
const (
	ByAFPacket = "afpacket" // whole frames
	ByHeaders  = "headers"  // first bytes of what is RDMA
	ByAFXDP    = "afxdp"    // whole frames, which the kernel does not get any more: for mirror ports
	ByAuto     = "auto"     // headers where the kernel does that, and else whole frames
)

// Capture says how to capture. The zero value is right for most.
type Capture struct {
	By            string // "": afpacket
	RingBytes     int    // 0: the source's own default
	NoPromiscuous bool
	Timestamps    afpacket.Timestamps // of afpacket
}

// open opens the source. Where it is not the first choice, fellBack says why.
func (c *Capture) open(name string) (source capture.Source, fellBack string, err error) {
	if c.By == ByAFXDP {
		source, err := afxdp.Open(name, afxdp.Options{RingBytes: c.RingBytes, NoPromiscuous: c.NoPromiscuous})
		if err != nil {
			return nil, "", err
		}
		return source, "", nil
	}
	if c.By == ByHeaders || c.By == ByAuto {
		source, err := headers.Open(name, headers.Options{RingBytes: c.RingBytes, NoPromiscuous: c.NoPromiscuous})
		if err == nil {
			return source, "", nil
		}
		if c.By == ByHeaders || errors.Is(err, capture.ErrDown) || errors.Is(err, capture.ErrNoInterface) {
			return nil, "", err
		}
		fellBack = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	source, err = afpacket.Open(name, afpacket.Options{RingBytes: c.RingBytes, NoPromiscuous: c.NoPromiscuous, Timestamps: c.Timestamps})
	return source, fellBack, err
}

// begin captures with a source that was opened.
func (w *Watch) begin(source capture.Source, fellBack string) {
	w.source, w.fellBack, w.clockName = source, fellBack, ""
	w.describe()
}

// describe says how is captured, where that is new.
func (w *Watch) describe() {
	i := w.source.Interfaces()[0]
	if i.Clock == w.clockName {
		return
	}
	w.clockName = i.Clock
	said := []any{slog.String("interface", w.options.Interface), slog.String("by", i.Description), slog.String("clock", i.Clock)}
	clock, _, _ := strings.Cut(i.Clock, ":") // the reason is for the log
	how := fmt.Sprintf("%s; clock: %s", i.Description, clock)
	if w.fellBack != "" {
		said = append(said, slog.String("fell_back", w.fellBack))
		how += "; " + w.fellBack
	}
	w.options.Logger.Info("packets are captured", said...)
	if w.options.Captured != nil {
		w.options.Captured(how)
	}
}
