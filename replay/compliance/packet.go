package compliance

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// packet is a datagram that was sent or has come, and what it says.
type packet struct {
	mr0.Packet

	at                  time.Duration // since the lab was opened
	left                time.Duration // of what was sent: before it was handed to the kernel
	sent                bool
	source, destination netip.AddrPort
	ecn                 dissector.ECN
	data                []byte
	malformed           bool
	index               int    // place among those of the attempt
	comment             string // for who reads the capture
}

// payload is what the packet carries.
func (p *packet) payload() []byte {
	if p.malformed {
		return nil
	}
	return p.Payload(p.data)
}

func (p *packet) is(t mr0.Type) bool { return !p.malformed && p.CH.Type == t }

// text is the packet in a few words.
func (p *packet) text() string {
	if p.malformed {
		return fmt.Sprintf("a malformed packet of %d bytes (%s)", len(p.data), mr0.Profile.Explain(p.Fault))
	}
	var b strings.Builder
	b.WriteString(p.CH.Type.String())
	if f := p.CH.Flags.String(); f != "" {
		b.WriteString(" [" + f + "]")
	}
	switch {
	case p.CH.Type == mr0.TypeConnReq || p.CH.Type == mr0.TypeConnRep:
		fmt.Fprintf(&b, " id 0x%08x, %d paths, MTU %d, nonce %016x", p.CONN.SourceConnID, p.CONN.PathCount, p.CONN.MTU, p.CONN.Nonce)
	case p.CH.Type == mr0.TypeConnRej:
		fmt.Fprintf(&b, " reason %s", p.REJ.Reason)
	case p.CH.Type == mr0.TypeDisconnect:
		fmt.Fprintf(&b, " id 0x%08x, reason %s", p.DISC.SourceConnID, p.DISC.Reason)
	case p.CH.Type == mr0.TypeACK:
		fmt.Fprintf(&b, " %d of path %d: cumulative %d%s, trigger %s", p.CH.PSN, p.CH.PathID, p.ACKH.CumulativePSN, sackText(&p.ACKH), p.ACKH.Trigger)
		if p.ACKH.CECount > 0 {
			fmt.Fprintf(&b, ", %d CE", p.ACKH.CECount)
		}
	case p.CH.Type == mr0.TypeNAK:
		fmt.Fprintf(&b, " %s of psn %d, path %d", p.NAKH.Reason, p.NAKH.RefusedPSN, p.CH.PathID)
	case p.CH.Type.Sequenced():
		fmt.Fprintf(&b, " psn %d of path %d", p.CH.PSN, p.CH.PathID)
		if p.CH.Type != mr0.TypeProbe {
			fmt.Fprintf(&b, ", stream %d msn %d, %d+%d of %d", p.DH.StreamID, p.DH.MSN, p.DH.MessageOffset, p.CH.PayloadLength, p.DH.MessageLength)
		}
		if p.ecn == dissector.ECNCE {
			b.WriteString(", CE")
		}
	}
	return b.String()
}

// sackText lists what a SACK has beyond cumulative_psn.
func sackText(a *mr0.ACKH) string {
	var parts []string
	for first, last := range a.SACK.Ranges() {
		if len(parts) == 4 {
			parts = append(parts, "...")
			break
		}
		text := number(a.CumulativePSN + 1 + uint32(first))
		if last > first {
			text += fmt.Sprintf("-%d", a.CumulativePSN+1+uint32(last))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return " and " + strings.Join(parts, ", ")
}

// covers tells whether an ACK says that the psn has arrived.
func covers(a *mr0.ACKH, psn uint32) bool {
	return mr0.PSNBefore(psn, a.CumulativePSN) || a.SACK.Has(int(mr0.PSNDistance(a.CumulativePSN+1, psn)))
}

// outgoing is a packet to be sent, and how.
type outgoing struct {
	mr0.Packet

	payload  []byte
	ecn      dissector.ECN
	sender   int                 // socket
	mutate   func([]byte) []byte // of headers and payload, before the ICRC is computed
	spoil    uint32              // bits of the ICRC to be flipped
	anything []byte              // sent as it is, instead of all else
}

// build makes the datagram.
func (o *outgoing) build(source, destination netip.AddrPort) ([]byte, error) {
	if o.anything != nil {
		return o.anything, nil
	}
	b, err := o.AppendDatagram(nil, o.payload, source, destination)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", o.CH.Type, err)
	}
	if o.mutate != nil {
		b = o.mutate(b[:len(b)-metaroce.ICRCLength])
		b = metaroce.AppendUDPPseudoICRC(b, 0, source, destination)
	}
	for i := range metaroce.ICRCLength {
		b[len(b)-metaroce.ICRCLength+i] ^= byte(o.spoil >> (8 * i))
	}
	return b, nil
}

// as changes a packet before it is sent.
type as func(o *outgoing)

func flags(f mr0.Flags) as { return func(o *outgoing) { o.CH.Flags |= f } }

func without(f mr0.Flags) as { return func(o *outgoing) { o.CH.Flags &^= f } }

func marked(o *outgoing) { o.ecn = dissector.ECNCE }

func psn(n uint32) as { return func(o *outgoing) { o.CH.PSN = n } }

func from(sender int) as { return func(o *outgoing) { o.sender = sender } }

func mutated(f func([]byte) []byte) as { return func(o *outgoing) { o.mutate = f } }
