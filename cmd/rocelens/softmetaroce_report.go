package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// writeTransfer prints the report of a transfer, as JSON on one line or for people.
func writeTransfer(w io.Writer, r *softmetaroce.Report, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	out, in := &r.Connection.Sent, &r.Connection.Received
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s by %s, MetaRoCE, profile mr0\n\n", r.Operation, bytesText(r.Size), plural(uint64(r.Streams), "stream"))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("time", "%s, %s", durationText(r.Nanoseconds), scale(r.Goodput, "bit/s"))
	row("sent", "%s, %s resent, %s ACKs, %s NAKs", plural(out.Packets, "packet"), countText(out.Retransmissions), countText(out.ACKs), countText(out.NAKs))
	row("received", "%s, %s resent, %s marked CE, %s ACKs, %s NAKs", plural(in.Packets, "packet"), countText(in.Retransmissions), countText(in.CE), countText(in.ACKs), countText(in.NAKs))
	row("paths", "%d, %s failed, %s re-paths", r.Paths, countText(r.Connection.Transport.PathFailures), countText(r.Connection.Transport.Repaths))
	if n := r.Sockets.KernelDrops; n > 0 {
		row("dropped", "%s by the kernel, whose receive buffer of %s was full (see net.core.rmem_max)", plural(n, "datagram"), bytesText(uint64(r.Sockets.ReceiveBuffer)))
	}
	if n := r.Sockets.SendErrors; n > 0 {
		row("not sent", "%s were not taken by the kernel: is the MTU of the way large enough?", plural(n, "datagram"))
	}
	switch {
	case r.Error != "":
		row("content", "unknown: %s", r.Error)
	case r.Equal:
		row("content", "equal at both ends")
	default:
		row("content", "differs")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
