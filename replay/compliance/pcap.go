package compliance

import (
	"io"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
)

// WritePCAP writes the packets of the run that decided as a pcapng file, with comments on those that matter. IP and UDP
// headers are built anew: the kernel keeps those that were on the wire. Addresses, ports, ECN and all that lies behind
// are what they were.
func (r *Result) WritePCAP(w io.Writer) error {
	const linkRaw = 101 // LINKTYPE_RAW: begins with the IP header
	out, err := pcapfile.NewWriter(w, pcapfile.FormatPcapng, pcapfile.WriterOptions{LinkType: linkRaw})
	if err != nil {
		return err
	}
	for i := range r.Packets {
		p := &r.Packets[i]
		ip := build.IP{Source: p.Source.Addr(), Destination: p.Destination.Addr(), ECN: dissector.ECN(p.ECN)}
		f := capture.Frame{
			Data: ip.AppendUDP(nil, p.Source.Port(), p.Destination.Port(), p.Data), Time: p.Time.UnixNano(), HasTime: true,
		}
		var comments []string
		if p.Comment != "" {
			comments = append(comments, r.ID+": "+p.Comment)
		}
		if err := out.WriteCommented(&f, comments...); err != nil {
			return err
		}
	}
	return nil
}

// FileName is the scenario's id as part of a file name.
func (r *Result) FileName() string {
	b := []byte(r.ID)
	for i := range b {
		if b[i] == '/' {
			b[i] = '-'
		}
	}
	return string(b)
}
