package flow

import "github.com/rocelens/rocelens/dissector"

// ID is the identity of the first flow that has the key, as a [Tracker] gives it.
func (k *Key) ID() ID {
	addresses := addressHash(&k.Source, &k.Destination)
	if k.Protocol == dissector.ProtocolMetaRoCE {
		return ID(metaHash(addresses, k))
	}
	return ID(hashOf(addresses, k))
}
