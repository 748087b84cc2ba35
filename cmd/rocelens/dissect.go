package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/dissector/filter"
	"github.com/rocelens/rocelens/dissector/tree"
)

type dissectCommand struct {
	File      string `arg:"" help:"Capture (pcap, pcapng; gzip, zstd, xz); - is standard input."`
	Filter    string `short:"Y" placeholder:"FILTER" help:"Print packets that match a display filter, such as 'infiniband.aeth.syndrome.opcode == 3'."`
	Count     uint64 `short:"c" placeholder:"N" help:"Stop after so many printed packets."`
	Packet    uint64 `placeholder:"N" help:"Print packet N of the file only."`
	Summary   bool   `help:"Print one line a packet."`
	JSON      bool   `name:"json" help:"Print a JSON array of packets."`
	Follow    bool   `help:"Go on printing while the file grows, until its writer closes it or Ctrl-C."`
	JSONLines bool   `name:"json-lines" help:"Print one JSON object a line."`
}

// packetPrinter prints packets in one form.
type packetPrinter interface {
	start() error
	packet(p *dissector.Packet, err error, comments []string) error
	end() error
}

// Run prints the packets of a file.
func (c *dissectCommand) Run(ctx context.Context, std *streams) error {
	forms := 0
	for _, set := range []bool{c.Summary, c.JSON, c.JSONLines} {
		if set {
			forms++
		}
	}
	if forms > 1 {
		return &exitError{exitUsage, errors.New("--summary, --json and --json-lines exclude each other")}
	}
	match, err := c.match()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if c.Follow {
		if c.File == "-" {
			return &exitError{exitUsage, errors.New("--follow follows a file; standard input is printed as it comes without it")}
		}
		return c.run(ctx, std, match)
	}
	// A read of standard input cannot be interrupted, so the work is left behind: the process ends with it.
	done := make(chan error, 1)
	go func() { done <- c.run(ctx, std, match) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &exitError{exitInterrupted, errors.New("interrupted before the end")}
	}
}

func (c *dissectCommand) run(ctx context.Context, std *streams, match matcher) error {
	source, err := c.open(ctx, std)
	if err != nil {
		return err
	}
	if c.Follow {
		ctx = context.WithoutCancel(ctx) // it ends the file, and what is in it is printed
	}
	out := bufio.NewWriterSize(std.Out, 64<<10)
	pause := func() error { return nil }
	if c.Follow || c.File == "-" {
		pause = out.Flush // whoever watches sees packets as they come
	}
	if err := errors.Join(c.print(ctx, source, match, c.printer(out), pause), out.Flush()); err != nil {
		return errors.Join(err, source.Close())
	}
	if r := source.Report(); r.Partial {
		if r.Packets == 0 {
			return errors.Join(fmt.Errorf("read capture %q: %s", c.File, r.Fault), source.Close())
		}
		fmt.Fprintf(std.Err, "rocelens: %s is incomplete: %s\n", c.File, r.Fault)
	}
	return source.Close()
}

func (c *dissectCommand) open(ctx context.Context, std *streams) (*pcapfile.Source, error) {
	if c.Follow {
		return pcapfile.Follow(ctx, c.File, pcapfile.Options{})
	}
	return openSource(c.File, std.In)
}

// matcher tells whether a packet is to be printed.
type matcher func(p *dissector.Packet, decoded error, comments []string) bool

func (c *dissectCommand) match() (matcher, error) {
	if c.Filter == "" {
		return func(*dissector.Packet, error, []string) bool { return true }, nil
	}
	f, err := filter.Compile(c.Filter)
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", c.Filter, err)
	}
	return f.MatchCommented, nil
}

func (c *dissectCommand) printer(w io.Writer) packetPrinter {
	switch {
	case c.Summary:
		return &summaryPrinter{w: w}
	case c.JSON:
		return &jsonPrinter{w: w, array: true}
	case c.JSONLines:
		return &jsonPrinter{w: w}
	}
	return &treePrinter{w: w}
}

// print decodes packet after packet until enough are printed. It calls pause before it waits for more of them.
func (c *dissectCommand) print(ctx context.Context, source capture.Source, match matcher, out packetPrinter, pause func() error) error {
	if err := out.start(); err != nil {
		return err
	}
	var (
		batch   capture.Batch
		p       dissector.Packet
		printed uint64
		tracker = conversation.New() // sees every packet, so that it knows what those that are printed carry
	)
	comments := func(uint64) []string { return nil }
	if c, ok := source.(interface{ Comments(number uint64) []string }); ok {
		comments = c.Comments
	}
	guard := func(fn func()) error { fn(); return nil }
	if g, ok := source.(interface{ Guard(fn func()) error }); ok {
		guard = g.Guard
	}
	for !c.enough(printed) && ctx.Err() == nil {
		err := source.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var failed error
		if err := guard(func() {
			for i := range batch.Frames {
				f := &batch.Frames[i]
				decoded := tracker.Observe(&p, decodeFrame(f, &p))
				if c.Packet != 0 && f.Number != c.Packet || !match(&p, decoded, comments(f.Number)) {
					continue
				}
				if failed = out.packet(&p, decoded, comments(f.Number)); failed != nil {
					return
				}
				if printed++; c.enough(printed) {
					return
				}
			}
		}); err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		if err := pause(); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if c.Packet != 0 && printed == 0 && c.Filter == "" {
		return fmt.Errorf("no packet %d in %s: it has %s", c.Packet, c.File, plural(source.Report().Packets, "packet"))
	}
	return nil
}

func (c *dissectCommand) enough(printed uint64) bool {
	return c.Count != 0 && printed >= c.Count || c.Packet != 0 && printed > 0
}

func decodeFrame(f *capture.Frame, p *dissector.Packet) error {
	return dissector.Decode(f.Data, dissector.Meta{
		Time: f.Time, Number: f.Number, OriginalLength: f.OriginalLength, Interface: f.Interface,
		LinkType: dissector.LinkType(f.LinkType), FCSLength: f.FCSLength, HasTime: f.HasTime,
	}, p)
}

// treePrinter prints every field of a packet.
type treePrinter struct{ w io.Writer }

func (t *treePrinter) start() error { return nil }

func (t *treePrinter) packet(p *dissector.Packet, decoded error, comments []string) error {
	root := tree.Build(p, decoded)
	tree.AddComments(root, comments)
	if err := tree.WriteText(t.w, root); err != nil {
		return err
	}
	_, err := io.WriteString(t.w, "\n")
	return err
}

func (t *treePrinter) end() error { return nil }

// summaryPrinter prints a line a packet.
type summaryPrinter struct {
	w     io.Writer
	first int64
	timed bool
}

func (s *summaryPrinter) start() error { return nil }

func (s *summaryPrinter) packet(p *dissector.Packet, decoded error, _ []string) error {
	at := unknown
	if p.Meta.HasTime {
		if !s.timed {
			s.first, s.timed = p.Meta.Time, true
		}
		at = fmt.Sprintf("%.9f", float64(p.Meta.Time-s.first)/1e9)
	}
	line := tree.Summary(p, decoded)
	_, err := fmt.Fprintf(s.w, "%7d %13s  %s → %s  %s  %s\n", p.Meta.Number, at, line.Source, line.Destination, line.Protocol, line.Info)
	return err
}

func (s *summaryPrinter) end() error { return nil }

// jsonPrinter prints packets as they come, as elements of one array or as lines.
type jsonPrinter struct {
	w     io.Writer
	array bool
	some  bool
}

type jsonPacket struct {
	Number         uint64     `json:"number"`
	Time           *string    `json:"time"`
	Interface      uint32     `json:"interface"`
	Length         uint32     `json:"length"`
	CapturedLength int        `json:"captured_length"`
	Error          *string    `json:"error"`
	ICRC           string     `json:"icrc"`
	Summary        tree.Line  `json:"summary"`
	Tree           *tree.Node `json:"tree"`
}

func (j *jsonPrinter) start() error {
	if !j.array {
		return nil
	}
	_, err := io.WriteString(j.w, "[")
	return err
}

func (j *jsonPrinter) packet(p *dissector.Packet, decoded error, comments []string) error {
	out := jsonPacket{
		Number: p.Meta.Number, Interface: p.Meta.Interface, Length: p.Meta.OriginalLength, CapturedLength: len(p.Data),
		ICRC: icrcText(p), Summary: tree.Summary(p, decoded), Tree: tree.Build(p, decoded),
	}
	tree.AddComments(out.Tree, comments)
	if p.Meta.HasTime {
		out.Time = document.Time(p.Meta.Time)
	}
	if decoded != nil {
		text := decoded.Error()
		out.Error = &text
	}
	encoded, err := json.Marshal(&out)
	if err != nil {
		return fmt.Errorf("encode packet %d: %w", p.Meta.Number, err)
	}
	separator := ""
	switch {
	case j.array && j.some:
		separator = ",\n"
	case j.array:
		separator = "\n"
	default:
		encoded = append(encoded, '\n')
	}
	j.some = true
	_, err = fmt.Fprintf(j.w, "%s%s", separator, encoded)
	return err
}

func (j *jsonPrinter) end() error {
	if !j.array {
		return nil
	}
	_, err := io.WriteString(j.w, "\n]\n")
	return err
}

func icrcText(p *dissector.Packet) string {
	if !p.IsRDMA() {
		return "none"
	}
	switch dissector.VerifyICRC(p) {
	case dissector.ICRCGood:
		return "good"
	case dissector.ICRCBad:
		return "bad"
	case dissector.ICRCUndetermined, dissector.ICRCNotChecked:
	}
	return "undetermined"
}
