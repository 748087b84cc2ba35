package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	warmAtOnce = 16     // packets whose memory is asked for together
	warmFlows  = 1 << 8 // fewer flows stay in the caches, even beside the bytes of a file that pass through
)

// Warm may be called with the packets that Observe will get next, and spares it most of the waiting for memory when
// there are too many flows for the caches: what several packets need is asked for at once here. It changes nothing
// that can be seen. Packets of which there are more than 16, and those not worth it, are left alone.
func (t *Tracker) Warm(packets []dissector.Packet) {
	if t.table.used < warmFlows {
		return
	}
	if len(packets) > warmAtOnce {
		packets = packets[:warmAtOnce]
	}
	// First the index, then the flows that it names: each pass waits once.
	var named [warmAtOnce]uint32
	for i := range packets {
		p := &packets[i]
		if (p.Protocol != dissector.ProtocolRoCEv1 && p.Protocol != dissector.ProtocolRoCEv2) || p.BTH.Opcode.Service() >= infiniband.ServiceUD {
			continue
		}
		hash := mixRest(addressHash(&p.Network.Source, &p.Network.Destination), restOf(p.BTH.DestinationQP, 0, anyService, p.Protocol))
		named[i] = t.table.slots[hash&t.table.mask].flow
	}
	sum := uint64(0)
	for i := range packets {
		if named[i] == 0 {
			continue
		}
		f := t.flows.at(named[i] - 1)
		sum += f.hash + f.stamp + f.messages.count + uint64(f.ring[f.seen%ringSize].psn)
	}
	t.warmed = sum
}
