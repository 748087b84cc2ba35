package store

import (
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/blocks"
	"github.com/rocelens/rocelens/store/wire"
)

// PacketBlock is what an analysis collects packets in.
type PacketBlock struct{ block *blocks.PacketBlock }

// NewPacketBlock makes an empty one.
func NewPacketBlock() PacketBlock { return PacketBlock{blocks.NewPacketBlock()} }

// Append adds a packet; it starts anew when it is full, as an analysis does.
func (b PacketBlock) Append(p *dissector.Packet, seen flow.Observation) {
	if b.block.Rows() == blockRows {
		b.block.Reset()
	}
	b.block.Append(p, nil, dissector.ICRCGood, seen, -1)
}

// Reset empties it.
func (b PacketBlock) Reset() { b.block.Reset() }

// NewEnough tells whether a server of this version is one that the store works with.
var NewEnough = newEnough

// ReadBatch reads a batch of an agent as a shipper does.
func ReadBatch(data []byte) error {
	_, err := wire.Decode(data)
	return err
}

// Compress makes of bytes what a batch is on disk.
func Compress(data []byte) []byte {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return encoder.EncodeAll(data, nil)
}

// ReadSequencesAnew lets the store keep the rows of no sequence that is longer than some packets.
func ReadSequencesAnew(s *Store, longer int) { s.sequences.mostRows = longer }

// ForgetSequences drops what the store keeps of sequences.
func ForgetSequences(s *Store) { s.sequences.clear() }

// Frame is a batch as an agent sends it to a service.
func Frame(b []byte, id uuid.UUID, uncertain bool, data []byte) []byte {
	return wire.AppendFrame(b, wire.Frame{ID: id, Uncertain: uncertain, Data: data})
}

// ReadWire reads a batch as a service does, for tables that have all columns of the batch.
func ReadWire(data []byte) error {
	b, err := wire.Decode(data)
	if err != nil {
		return err
	}
	columns := map[string]bool{}
	for i := range b.Columns {
		columns[b.Columns[i].Name] = true
	}
	_, err = wire.Check(uuid.UUID{}, data, wire.Tables{b.Table: columns})
	return err
}

// Plain is a batch before it is compressed.
func Plain(data []byte) []byte {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		panic(err)
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll(data, nil)
	if err != nil {
		panic(err)
	}
	return plain
}
