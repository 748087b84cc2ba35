package main

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	maxConnections = 1024 // what one system call sends
	maxPayload     = 4096
	message        = 64 // packets

	packetAt = 14 // the IP header
	opcodeAt = packetAt + 20 + 8
	psnAt    = opcodeAt + 9
)

// traffic are the next packets of all connections, whose ICRCs are right.
type traffic struct {
	frames [][]byte
	icrcs  []uint32 // of the frames, as they would be with a PSN and an opcode of 0
	psn    uint32
	// What a byte changes of the ICRC is the same in all frames, since these are of one length and a CRC is linear.
	byPSN    [3][256]uint32
	byOpcode [3]uint32
}

func newTraffic(connections, payload int) *traffic {
	t := &traffic{}
	for i := range connections {
		f := build.Frame{
			Source: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Destination: netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}),
			DestinationMAC: [6]byte{2, 0, 0, 0, 0, 2}, SourceMAC: [6]byte{2, 0, 0, 0, 0, 1}, SourcePort: 49152 + uint16(i),
			BTH:     infiniband.BTH{Opcode: infiniband.RCSendFirst, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: uint32(i + 1)},
			Payload: make([]byte, payload), NoPadding: true,
		}
		frame, _ := f.AppendTo(nil) // its addresses are of one family, and its payload is short
		t.frames = append(t.frames, frame)
		t.icrcs = append(t.icrcs, binary.LittleEndian.Uint32(frame[len(frame)-infiniband.ICRCLength:]))
	}
	first := bytes.Clone(t.frames[0][:len(t.frames[0])-infiniband.ICRCLength])
	effect := func(at int, value byte) uint32 {
		was := first[at]
		first[at] = value
		icrc, _ := dissector.ComputeICRC(dissector.ProtocolRoCEv2, first[packetAt:]) // it has all headers
		first[at] = was
		return icrc ^ t.icrcs[0]
	}
	for value := range 256 {
		for i := range t.byPSN {
			t.byPSN[i][value] = effect(psnAt+i, byte(value))
		}
	}
	for opcode := range t.byOpcode {
		t.byOpcode[opcode] = effect(opcodeAt, byte(opcode))
	}
	return t
}

// next makes the frames the next packet of each connection.
func (t *traffic) next() {
	opcode := byte(infiniband.RCSendMiddle)
	switch t.psn % message {
	case 0:
		opcode = byte(infiniband.RCSendFirst)
	case message - 1:
		opcode = byte(infiniband.RCSendLast)
	}
	a, b, c := byte(t.psn>>16), byte(t.psn>>8), byte(t.psn)
	change := t.byOpcode[opcode] ^ t.byPSN[0][a] ^ t.byPSN[1][b] ^ t.byPSN[2][c]
	for i, frame := range t.frames {
		frame[opcodeAt], frame[psnAt], frame[psnAt+1], frame[psnAt+2] = opcode, a, b, c
		binary.LittleEndian.PutUint32(frame[len(frame)-infiniband.ICRCLength:], t.icrcs[i]^change)
	}
	t.psn++
}
