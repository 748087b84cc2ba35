package metagen

import (
	"net/netip"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// Sendable is a packet of a profile that can be sent.
type Sendable interface {
	Profile() *metaroce.Profile
	AppendDatagram(b, payload []byte, source, destination netip.AddrPort) ([]byte, error)
}

// Broken is a packet that no encoder would send: Change gets the datagram up to its ICRC, and the ICRC is right for what
// it answers.
type Broken struct {
	Sendable

	Change func(datagram []byte) []byte
}

// AppendDatagram appends the changed datagram.
func (p *Broken) AppendDatagram(b, payload []byte, source, destination netip.AddrPort) ([]byte, error) {
	datagram, err := p.Sendable.AppendDatagram(nil, payload, source, destination)
	if err != nil {
		return b, err
	}
	datagram = p.Change(datagram[:len(datagram)-metaroce.ICRCLength])
	return append(b, metaroce.AppendUDPPseudoICRC(datagram, 0, source, destination)...), nil
}
