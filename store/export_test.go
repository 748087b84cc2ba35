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

// ReadBatch reads a batch of an agent as a shipper does.
func ReadBatch(data []byte) error {
	_, err := decodeBatch(data)
	return err
}

// Compress makes of bytes what a batch is on disk.
func Compress(data []byte) []byte {
	encoder, _ := zstdCoders()
	return encoder.EncodeAll(data, nil)
}
