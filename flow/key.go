package flow

import (
	"encoding/binary"
	"math/bits"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Odd constants with well mixed bits, from the fractional parts of square roots of primes.
const (
	mixA = 0x6a09e667f3bcc909
	mixB = 0xbb67ae8584caa73b
	mixC = 0x3c6ef372fe94f82b
	mixD = 0xa54ff53a5f1d36f1
)

// mix folds the 128-bit product of its arguments.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// addressHash depends on all bytes of both addresses and on which of them is the source.
func addressHash(source, destination *dissector.Address) uint64 {
	return mix(
		binary.LittleEndian.Uint64(source[:8])^bits.RotateLeft64(binary.LittleEndian.Uint64(destination[:8]), 32)^mixA,
		binary.LittleEndian.Uint64(source[8:])^mixB,
	) ^ mix(binary.LittleEndian.Uint64(destination[8:])^mixC, mixD)
}

// hashOf is the hash of a key of which the hash of the addresses is known. A QP has one service, so that of
// a connected one is left out: a CNP, which names no service, has the hash of its connection.
func hashOf(addresses uint64, k *Key) uint64 {
	service := k.Service
	if sharesQP(service) {
		service = anyService
	}
	return mixRest(addresses, restOf(k.DestinationQP, k.SourceQP, service, k.Protocol))
}

// ownHash is the hash of a key whose QP has another service too, since its number was used again.
func ownHash(addresses uint64, k *Key) uint64 {
	return mixRest(addresses, restOf(k.DestinationQP, k.SourceQP, k.Service|notFirst, k.Protocol))
}

const (
	anyService = infiniband.ServiceRC // stands for all that share a QP
	notFirst   = infiniband.Service(0x80)
)

// sharesQP tells whether flows of the service are known by addresses and destination QP alone.
func sharesQP(s infiniband.Service) bool {
	switch s {
	case infiniband.ServiceRC, infiniband.ServiceUC, infiniband.ServiceRD, infiniband.ServiceXRC, infiniband.ServiceCNP:
		return true
	case infiniband.ServiceUD, infiniband.ServiceVendor, infiniband.ServiceVendor2:
	}
	return false
}

// restOf packs what a key has beside its addresses.
func restOf(destinationQP, sourceQP uint32, service infiniband.Service, protocol dissector.Protocol) uint64 {
	return uint64(destinationQP) | uint64(sourceQP)<<24 | uint64(service)<<48 | uint64(protocol)<<56
}

// mixRest is the hash of a key, from the hash of its addresses and the rest. It is never 0.
func mixRest(addresses, rest uint64) uint64 {
	h := mix(addresses^mixB, rest^mixA)
	if h == 0 {
		return 1
	}
	return h
}

// hasKeyOf tells whether a packet whose service names no source QP belongs to the flow. It compares word by
// word, the likeliest to differ first, since every packet pays for it.
func (f *flow) hasKeyOf(p *dissector.Packet) bool {
	k, n := &f.key, &p.Network
	return k.DestinationQP == p.BTH.DestinationQP && k.Service == p.BTH.Opcode.Service() && k.Protocol == p.Protocol &&
		binary.LittleEndian.Uint64(k.Source[8:]) == binary.LittleEndian.Uint64(n.Source[8:]) &&
		binary.LittleEndian.Uint64(k.Destination[8:]) == binary.LittleEndian.Uint64(n.Destination[8:]) &&
		binary.LittleEndian.Uint64(k.Source[:8]) == binary.LittleEndian.Uint64(n.Source[:8]) &&
		binary.LittleEndian.Uint64(k.Destination[:8]) == binary.LittleEndian.Uint64(n.Destination[:8])
}

// keyOf fills the key of the flow that the packet belongs to. The service of a CNP is the CNP's own here.
func keyOf(p *dissector.Packet, k *Key) {
	k.Source, k.Destination = p.Network.Source, p.Network.Destination
	k.DestinationQP = p.BTH.DestinationQP
	k.SourceQP = 0
	k.Service = p.BTH.Opcode.Service()
	k.Protocol = p.Protocol
	if k.Service == infiniband.ServiceUD && p.Has&infiniband.HasDETH != 0 {
		k.SourceQP = p.DETH.SourceQP
	}
	if p.Protocol == dissector.ProtocolInfiniBand && p.Network.Version == 0 {
		k.Source, k.Destination = p.Ends()
	}
}

// Affinity is a number that both directions of a connection, its CNPs and the connection manager's messages
// of the same two addresses have in common. Trackers that share the work of one capture must share it by
// this number. It is 0 for a packet that belongs to no connection.
func Affinity(p *dissector.Packet) uint64 {
	if !Tracks(p) {
		return 0
	}
	return addressHash(&p.Network.Source, &p.Network.Destination) ^
		addressHash(&p.Network.Destination, &p.Network.Source)
}
