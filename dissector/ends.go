package dissector

import "encoding/binary"

// Ends are the addresses that a packet goes from and to: of its innermost IP header or GRH, or, of native InfiniBand
// without a GRH, its LIDs, written as ::LID.
func (p *Packet) Ends() (source, destination Address) {
	if p.Protocol != ProtocolInfiniBand || p.Network.Version != 0 {
		return p.Network.Source, p.Network.Destination
	}
	binary.BigEndian.PutUint16(source[14:], p.LRH.SourceLID)
	binary.BigEndian.PutUint16(destination[14:], p.LRH.DestinationLID)
	return source, destination
}
