package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// textOutput prints what was found for people: what is missing first, then the totals, then the flows.
type textOutput struct {
	flows topFlows
	style style
	paths bool
}

// Flow takes a record.
func (o *textOutput) Flow(r *flow.Record) error { return o.flows.Flow(r) }

// Close has nothing to release.
func (o *textOutput) Close() error { return nil }

func (o *textOutput) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	out := bufio.NewWriter(w)
	o.writeFiles(out, files)
	o.writeGaps(out, result)
	o.writeTotals(out, result)
	o.writeFlows(out)
	return out.Flush()
}

// writeFiles says what was read, and first of all what was not.
func (o *textOutput) writeFiles(w io.Writer, files []fileResult) {
	for _, f := range files {
		if f.Err != nil {
			fmt.Fprintln(w, o.style.bad(f.Err.Error()))
			continue
		}
		r := &f.Result.Report
		format := r.Format
		if r.Compression != "" {
			format += " in " + r.Compression
		}
		fmt.Fprintf(w, "%s: %s, %s\n", o.style.strong(f.Name), plural(r.Packets, "packet"), format)
		if r.Partial {
			fmt.Fprintf(w, "  %s %s\n", o.style.bad("incomplete:"), r.Fault)
		}
		for i := range f.Result.Interfaces {
			n := &f.Result.Interfaces[i]
			if n.Dropped == nil || *n.Dropped == 0 {
				continue
			}
			name := n.Name
			if name == "" {
				name = fmt.Sprintf("interface %d", i)
			}
			fmt.Fprintf(w, "  %s %s lost %s while capturing\n", o.style.bad("incomplete:"), name, plural(*n.Dropped, "packet"))
		}
		for _, note := range r.Skipped {
			fmt.Fprintf(w, "  %s %s\n", o.style.dim("note:"), note)
		}
		for _, comment := range r.Comments {
			fmt.Fprintf(w, "  %s %s\n", o.style.dim("comment on"), comment)
		}
	}
}

// writeGaps says what limits the findings below it.
func (o *textOutput) writeGaps(w io.Writer, result *analysis.Result) {
	t := &result.Totals
	if d := result.Dropped(); d.Known && d.N > 0 && t.RDMAPackets > 0 {
		fmt.Fprintln(w, "  Missing PSNs below may be packets that the capture lost, not the network.")
	}
	if t.Truncated > 0 {
		fmt.Fprintf(w, "%s cut before the end of the headers: capture with a larger snap length.\n", isOrAre(t.Truncated))
	}
	if t.Malformed > 0 {
		fmt.Fprintf(w, "%s malformed: rocelens dissect -Y rocelens.malformed shows them.\n", isOrAre(t.Malformed))
	}
	if t.EvictedFlows > 0 {
		fmt.Fprintf(w, "%s set aside early to bound memory, and may be listed more than once.\n", plural(t.EvictedFlows, "flow")+" had to be")
	}
	if t.RDMAPackets == 0 {
		o.writeNoRDMA(w, result)
	}
}

func isOrAre(n uint64) string {
	if n == 1 {
		return "1 packet is"
	}
	return countText(n) + " packets are"
}

// writeNoRDMA says plainly that there is none, what there is, and where it may be.
func (o *textOutput) writeNoRDMA(w io.Writer, result *analysis.Result) {
	if result.Totals.Packets == 0 {
		fmt.Fprintln(w, "No packets, so no RDMA over Ethernet.")
		return
	}
	kinds := make([]string, 0, len(result.Beside))
	for i, b := range result.Beside {
		if i == 6 {
			kinds = append(kinds, "...")
			break
		}
		kinds = append(kinds, b.Name+" "+countText(b.Packets))
	}
	headline, other := "No RDMA over Ethernet in", slices.ContainsFunc(result.Beside, func(b analysis.Beside) bool {
		return strings.HasPrefix(b.Name, "unsupported: ") && !strings.HasPrefix(b.Name, "unsupported: linktype")
	})
	if other { // it is RDMA, of a kind that is recognised only
		headline = "No RoCE and no MetaRoCE in"
	}
	fmt.Fprintf(w, "%s %s (%s).\n", o.style.strong(headline), plural(result.Totals.Packets, "packet"), strings.Join(kinds, ", "))
	if other {
		return
	}
	fmt.Fprintln(w, "RDMA NICs move packets past the kernel, where tcpdump cannot see them: capture on a mirror port, or with the NIC's sniffer.")
}

// writeTotals prints one line a subject.
func (o *textOutput) writeTotals(w io.Writer, result *analysis.Result) {
	t := &result.Totals
	if t.Packets == 0 {
		return
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s %s\n", o.style.dim(pad(name, 14)), fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(w)
	if result.HasTime {
		line("time", "%s UTC, for %s", timeText(result.FirstTime), durationText(result.LastTime-result.FirstTime))
	} else {
		line("time", "%s, the capture has no time stamps", unknown)
	}
	line("packets", "%s, %s; RDMA %s, %s", countText(t.Packets), bytesText(t.Bytes), countText(t.RDMAPackets), bytesText(t.RDMABytes))
	if t.PauseFrames > 0 {
		line("pause frames", "%s", countText(t.PauseFrames))
		o.writePauses(line, &result.Pause)
	}
	if t.RDMAPackets == 0 {
		return
	}
	line("connections", "%s, %s", countText(t.Connections), plural(t.Flows, "flow"))
	line("messages", "%s", countText(t.Messages))
	line("retransmitted", "%s", o.alarm(t.Retransmitted, plural(t.Retransmitted, "packet")))
	line("out of order", "%s", plural(t.OutOfOrder, "packet"))
	line("missing", "%s", o.missing(t.MissingPSNs, result.Explained.MissingAcknowledged))
	line("refused", "%s, %s", o.alarm(t.Naks, plural(t.Naks, "NAK")), o.alarm(t.RNRNaks, plural(t.RNRNaks, "receiver-not-ready NAK")))
	line("congestion", "%s, %s marked CE", plural(t.CNPs, "CNP"), plural(t.CEMarked, "packet"))
	line("ICRC", "%s", o.icrc(t, result.Explained.ICRCRewritten))
	if t.MirrorCopies > 0 {
		line("mirror copies", "%s captured again, as when two ports are mirrored; each counted once", plural(t.MirrorCopies, "packet"))
	}
	if t.Unsupported > 0 {
		line("unsupported", "%s", plural(t.Unsupported, "packet"))
	}
}

// writePauses says who was asked to stop, how often, and for how long at most.
func (o *textOutput) writePauses(line func(name, format string, args ...any), p *analysis.Pause) {
	one := func(name string, s *analysis.Pauses) {
		if s.Any() {
			longest := ""
			if s.XOFF > 0 {
				longest = ", the longest for " + quantaText(s.MaxQuanta)
			}
			line("  "+name, "%s XOFF%s; %s XON; packets %d to %d", countText(s.XOFF), longest, countText(s.XON), s.FirstFrame, s.LastFrame)
		}
	}
	one("link", &p.Link)
	for i := range p.Priorities {
		one(fmt.Sprintf("priority %d", i), &p.Priorities[i])
	}
}

func quantaText(n uint16) string {
	if n == 1 {
		return "1 quantum"
	}
	return countText(uint64(n)) + " quanta"
}

// missing accuses nobody of what was acknowledged.
func (o *textOutput) missing(n, acknowledged uint64) string {
	text := o.alarm(n-acknowledged, plural(n, "PSN")) + " never captured"
	switch acknowledged {
	case 0:
	case n:
		text += ", all acknowledged: the capture missed them, not the receiver"
	default:
		text += ", " + countText(acknowledged) + " of them acknowledged: those the capture missed, not the receiver"
	}
	return text
}

// icrc tells corruption from a port that was rewritten on the way.
func (o *textOutput) icrc(t *flow.Totals, rewritten uint64) string {
	text := o.alarm(t.ICRCErrors-rewritten, countText(t.ICRCErrors)+" wrong")
	switch rewritten {
	case 0:
	case t.ICRCErrors:
		text += ", all in flows whose UDP source port was rewritten on the way: no corruption"
	default:
		text += ", " + countText(rewritten) + " of them in flows whose UDP source port was rewritten on the way"
	}
	if t.ICRCUndetermined > 0 {
		text += ", " + countText(t.ICRCUndetermined) + " cannot be checked"
	}
	return text
}

func (o *textOutput) alarm(n uint64, text string) string {
	if n == 0 {
		return text
	}
	return o.style.bad(text)
}

// column is one column of the table of flows.
type column struct {
	title string
	left  bool
	quiet bool // left out when no flow shown has anything in it
	value func(r *flow.Record) string
	bad   bool
}

func flowColumns() []column {
	count := func(get func(*flow.Record) flow.Count) func(*flow.Record) string {
		return func(r *flow.Record) string { return knownText(get(r)) }
	}
	number := func(get func(*flow.Record) uint64) func(*flow.Record) string {
		return func(r *flow.Record) string { return countText(get(r)) }
	}
	return []column{
		{title: "SOURCE", left: true, value: func(r *flow.Record) string { return addressText(r, r.Key.Source) }},
		{title: "QP", value: func(r *flow.Record) string {
			if !r.SourceQP.Known {
				return unknown
			}
			return numberText(r, uint32(r.SourceQP.N))
		}},
		{title: "DESTINATION", left: true, value: func(r *flow.Record) string { return addressText(r, r.Key.Destination) }},
		{title: "QP", value: func(r *flow.Record) string { return numberText(r, r.Key.DestinationQP) }},
		{title: "KIND", left: true, value: kindText},
		{title: "PACKETS", value: number(func(r *flow.Record) uint64 { return r.Packets })},
		{title: "BYTES", value: func(r *flow.Record) string { return bytesText(r.Bytes) }},
		{title: "RATE", value: func(r *flow.Record) string {
			v, ok := document.Rate(r)
			if !ok {
				return unknown
			}
			return scale(v, "bit/s")
		}},
		{title: "MESSAGES", value: count(func(r *flow.Record) flow.Count { return r.Messages })},
		{title: "RESENT", bad: true, value: count(func(r *flow.Record) flow.Count { return r.Retransmitted })},
		{title: "LATE", quiet: true, value: count(func(r *flow.Record) flow.Count { return r.OutOfOrder })},
		{title: "MISSING", quiet: true, bad: true, value: count(func(r *flow.Record) flow.Count { return r.MissingPSNs })},
		{title: "NAK", quiet: true, bad: true, value: number(document.Naks)},
		{title: "RNR", quiet: true, bad: true, value: number(func(r *flow.Record) uint64 { return r.RNRNaks })},
		{title: "CNP", quiet: true, value: number(func(r *flow.Record) uint64 { return r.CNPs })},
		{title: "CE", quiet: true, value: count(func(r *flow.Record) flow.Count { return r.CEMarked })},
		{title: "BAD ICRC", quiet: true, bad: true, value: number(func(r *flow.Record) uint64 { return r.ICRCBad })},
	}
}

// addressText writes an address; that of native InfiniBand without a global route is a LID.
func addressText(r *flow.Record, a dissector.Address) string {
	const at = len(a) - 2
	if lid := binary.BigEndian.Uint16(a[at:]); r.Key.Protocol == dissector.ProtocolInfiniBand && [at]byte(a[:at]) == [at]byte{} {
		return fmt.Sprintf("LID %d", lid)
	}
	return a.String()
}

// qpText writes a queue pair number as tools for RDMA do.
func qpText(n uint32) string { return fmt.Sprintf("0x%06x", n) }

// numberText writes the number that names an end of a flow: a queue pair, or a connection of MetaRoCE.
func numberText(r *flow.Record, n uint32) string {
	if r.MetaRoCE != nil {
		return connText(n)
	}
	return qpText(n)
}

// kindText is the service, with protocol and tunnel where they are not RoCEv2's own, and with what the connection carries.
func kindText(r *flow.Record) string {
	text := flow.ServiceName(r.Key.Service)
	if r.Key.Protocol != dissector.ProtocolRoCEv2 && r.MetaRoCE == nil {
		text += " " + r.Key.Protocol.String()
	}
	if r.Tunnel != dissector.LayerNone {
		text += " in " + r.Tunnel.String()
	}
	if application := r.Application.String(); application != "" {
		text += ", " + application
	}
	return text
}

func (o *textOutput) writeFlows(w io.Writer) {
	flows := o.flows.sorted()
	if len(flows) == 0 {
		return
	}
	columns := flowColumns()
	cells := make([][]string, 0, len(columns))
	shown := columns[:0]
	for _, c := range columns {
		column, empty := make([]string, len(flows)), true
		for i := range flows {
			column[i] = c.value(&flows[i])
			empty = empty && (column[i] == "0" || column[i] == unknown)
		}
		if c.quiet && empty {
			continue
		}
		shown = append(shown, c)
		cells = append(cells, column)
	}
	fmt.Fprintln(w)
	o.writeTable(w, shown, cells)
	if rest := o.flows.seen - uint64(len(flows)); rest > 0 {
		fmt.Fprintf(w, "%s, by %s; --all prints them.\n", plural(rest, "more flow"), o.flows.sort)
	}
	for i := range flows {
		if o.paths && flows[i].MetaRoCE != nil {
			o.writePaths(w, &flows[i])
		}
	}
}

func (o *textOutput) writeTable(w io.Writer, columns []column, cells [][]string) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = width(c.title)
		for _, cell := range cells[i] {
			widths[i] = max(widths[i], width(cell))
		}
	}
	line := func(cell func(i int) string, paint func(i int, text string) string) {
		var b strings.Builder
		for i, c := range columns {
			text := cell(i)
			space := strings.Repeat(" ", widths[i]-width(text))
			if i > 0 {
				b.WriteString("  ")
			}
			if !c.left {
				b.WriteString(space)
			}
			b.WriteString(paint(i, text))
			if c.left {
				b.WriteString(space)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(func(i int) string { return columns[i].title }, func(_ int, text string) string { return o.style.dim(text) })
	for row := range cells[0] {
		line(func(i int) string { return cells[i][row] }, func(i int, text string) string {
			if columns[i].bad && text != "0" && text != unknown {
				return o.style.bad(text)
			}
			return text
		})
	}
}
