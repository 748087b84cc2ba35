package scenario

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
)

// Describe is a frame of a run as something that can be changed and built again. Payload aliases the frame. The
// error is the dissector's.
func Describe(frame []byte) (build.Frame, error) {
	var p dissector.Packet
	if err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
		return build.Frame{}, fmt.Errorf("describe a frame: %w", err)
	}
	return build.Frame{
		DestinationMAC: p.Ethernet.Destination, SourceMAC: p.Ethernet.Source,
		Source: p.Network.Source.Addr(), Destination: p.Network.Destination.Addr(),
		DSCP: p.Network.DSCP, ECN: p.Network.ECN, TTL: p.Network.TTL, ID: p.Network.ID, FlowLabel: p.Network.FlowLabel,
		SourcePort: p.UDP.SourcePort, DestinationPort: p.UDP.DestinationPort,
		BTH: p.BTH, RDETH: p.RDETH, DETH: p.DETH, XRCETH: p.XRCETH, RETH: p.RETH, AtomicETH: p.AtomicETH, AETH: p.AETH,
		AtomicAckETH: p.AtomicAckETH, ImmDt: p.ImmDt, IETH: p.IETH, FETH: p.FETH, Payload: p.Payload(),
	}, nil
}

// Edit is a frame with something changed: lengths, checksum, pad and ICRC fit what comes of it. The frame stays as it is.
func Edit(frame []byte, change func(*build.Frame)) ([]byte, error) {
	f, err := Describe(frame)
	if err != nil {
		return nil, err
	}
	change(&f)
	return f.AppendTo(make([]byte, 0, len(frame)+64))
}
