package store

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// PacketBlock is what an analysis collects packets in.
type PacketBlock struct{ block *packetBlock }

// NewPacketBlock makes an empty one.
func NewPacketBlock() PacketBlock { return PacketBlock{newPacketBlock()} }

// Append adds a packet; it starts anew when it is full, as an analysis does.
func (b PacketBlock) Append(p *dissector.Packet, seen flow.Observation) {
	if b.block.rows() == blockRows {
		b.block.reset()
	}
	b.block.append(p, nil, dissector.ICRCGood, seen, -1)
}

// Reset empties it.
func (b PacketBlock) Reset() { b.block.reset() }

// NewEnough tells whether a server of this version is one that the store works with.
var NewEnough = newEnough
