package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/flow"
)

// writePaths prints the paths and streams of a flow of MetaRoCE.
func (o *textOutput) writePaths(w io.Writer, r *flow.Record) {
	x := r.MetaRoCE
	from, to := r.Key.Source.String(), r.Key.Destination.String()
	fmt.Fprintf(w, "\n%s (MetaRoCE, profile %s): %s\n", o.style.strong(from+" > "+to+" "+connText(r.Key.DestinationQP)), x.Profile, o.handshakeText(x))
	if len(x.Paths) > 0 {
		columns, cells := table(pathColumns(), len(x.Paths), func(i int) *flow.PathRecord { return &x.Paths[i] })
		o.writeTable(w, columns, cells)
	}
	if len(x.Streams) > 0 {
		fmt.Fprintln(w)
		columns, cells := table(streamColumns(), len(x.Streams), func(i int) *flow.StreamRecord { return &x.Streams[i] })
		o.writeTable(w, columns, cells)
	}
}

// connText writes a connection id.
func connText(n uint32) string { return fmt.Sprintf("0x%08x", n) }

func (o *textOutput) handshakeText(x *flow.MetaRoCERecord) string {
	text := "handshake " + x.Handshake.String()
	switch {
	case x.Handshake == flow.HandshakeRejected:
		text = o.style.bad(text + ": " + x.RejectReason.String())
	case x.Handshake == flow.HandshakeRequested:
		text = o.style.bad(text+", not answered") + ", " + plural(x.Requests, "request")
	case x.AcceptTime.Known:
		text += " after " + durationText(int64(x.AcceptTime.N))
	case x.Handshake == flow.HandshakeUnseen && x.PathCount.Known:
		text = "answered the handshake"
	}
	if x.PathCount.Known {
		text += fmt.Sprintf("; %s on %s, MTU %d", plural(x.PathCount.N, "path"), plural(x.PlaneCount.N, "plane"), x.MTU.N)
	}
	if x.Disconnected {
		text += "; disconnected, " + x.DisconnectReason.String()
	}
	return text
}

// partColumn is a column of a table of paths or of streams.
type partColumn[T any] struct {
	column
	part func(*T) string
}

func part[T any](title string, quiet, bad bool, value func(*T) string) partColumn[T] {
	return partColumn[T]{column{title: title, quiet: quiet, bad: bad}, value}
}

func pathColumns() []partColumn[flow.PathRecord] {
	type path = flow.PathRecord
	return []partColumn[path]{
		part("PATH", false, false, func(p *path) string { return strconv.Itoa(int(p.ID)) }),
		part("PLANE", false, false, func(p *path) string { return knownText(p.Plane) }),
		part("PORTS", false, false, portsText),
		part("PACKETS", false, false, func(p *path) string { return countText(p.Packets) }),
		part("BYTES", false, false, func(p *path) string { return bytesText(p.Bytes) }),
		part("RESENT", false, true, func(p *path) string { return countText(p.Retransmitted) }),
		part("MISSING", true, true, func(p *path) string { return countText(p.MissingPSNs) }),
		part("ACKED", true, false, func(p *path) string { return knownText(p.MissingAcknowledged) }),
		part("LATE", true, false, func(p *path) string { return countText(p.OutOfOrder) }),
		part("TWICE", true, false, func(p *path) string { return countText(p.Duplicates) }),
		part("NAK", true, true, func(p *path) string { return countText(p.Naks) }),
		part("CE", true, false, func(p *path) string { return countText(p.CEMarked) }),
		part("SRTT", false, false, func(p *path) string { return nsText(p.RTT.Smoothed) }),
		part("IN FLIGHT", false, false, func(p *path) string { return knownText(p.InFlightMax) }),
		part("HINT", false, false, func(p *path) string {
			if !p.RateHint.Last.Known {
				return unknown
			}
			return scale(float64(p.RateHint.Last.N)*1e6, "bit/s")
		}),
	}
}

func streamColumns() []partColumn[flow.StreamRecord] {
	type stream = flow.StreamRecord
	return []partColumn[stream]{
		part("STREAM", false, false, func(s *stream) string { return strconv.Itoa(int(s.ID)) }),
		part("MESSAGES", false, false, func(s *stream) string { return countText(s.Messages) }),
		part("COMPLETE", false, false, func(s *stream) string { return knownText(s.Complete) }),
		part("PACKETS", false, false, func(s *stream) string { return countText(s.Packets) }),
		part("PAYLOAD", false, false, func(s *stream) string { return bytesText(s.GoodputBytes) }),
		part("RESENT", false, true, func(s *stream) string { return countText(s.Retransmitted) }),
		part("NAK", true, true, func(s *stream) string { return countText(s.Naks) }),
		part("P50", false, false, func(s *stream) string { return nsText(s.Latency.P50) }),
		part("P99", false, false, func(s *stream) string { return nsText(s.Latency.P99) }),
		part("MAX", false, false, func(s *stream) string { return nsText(s.Latency.Max) }),
	}
}

// portsText is the source ports of a path in the order of their use.
func portsText(p *flow.PathRecord) string {
	if len(p.Ports) == 0 {
		return unknown
	}
	ports := make([]string, len(p.Ports))
	for i, use := range p.Ports {
		ports[i] = strconv.Itoa(int(use.Port))
	}
	return strings.Join(ports, ">")
}

func nsText(c flow.Count) string {
	if !c.Known {
		return unknown
	}
	return durationText(int64(c.N))
}

// table lays parts out, without the quiet columns that have nothing in them.
func table[T any](all []partColumn[T], rows int, row func(int) *T) (columns []column, cells [][]string) {
	for _, c := range all {
		column, empty := make([]string, rows), true
		for i := range rows {
			column[i] = c.part(row(i))
			empty = empty && (column[i] == "0" || column[i] == unknown)
		}
		if !c.quiet || !empty {
			columns, cells = append(columns, c.column), append(cells, column)
		}
	}
	return columns, cells
}
