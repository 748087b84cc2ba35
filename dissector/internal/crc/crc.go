// Package crc runs the register of the CRC-32 of Ethernet (IEEE 802.3, reflected polynomial 0xEDB88320).
package crc

import (
	"encoding/binary"
	"hash/crc32"
)

// Tables are the tables for eight bytes at a time: element k is the register's change by a byte that stands k
// bytes before the end.
var Tables = func() (t [8][256]uint32) {
	t[0] = *crc32.IEEETable
	for i := range t[0] {
		for k := 1; k < len(t); k++ {
			c := t[k-1][i]
			t[k][i] = t[0][c&0xff] ^ c>>8
		}
	}
	return t
}()

// Update runs the CRC register, which is not inverted, over bytes. The package hash/crc32 does long stretches
// faster, but makes its argument escape, which would move a masked copy of headers to the heap.
func Update(c uint32, b []byte) uint32 {
	t := &Tables
	for len(b) >= 8 {
		lo := binary.LittleEndian.Uint32(b) ^ c
		hi := binary.LittleEndian.Uint32(b[4:])
		c = t[7][lo&0xff] ^ t[6][lo>>8&0xff] ^ t[5][lo>>16&0xff] ^ t[4][lo>>24] ^
			t[3][hi&0xff] ^ t[2][hi>>8&0xff] ^ t[1][hi>>16&0xff] ^ t[0][hi>>24]
		b = b[8:]
	}
	for _, v := range b {
		c = t[0][byte(c)^v] ^ c>>8
	}
	return c
}

// Mask is laid over the first bytes of a packet: the bits that are set in it count as ones.
type Mask [64]byte

// UpdateMasked runs the CRC register, which is not inverted, over bytes with the mask laid over their beginning.
func UpdateMasked(c uint32, b []byte, mask *Mask) uint32 {
	if folds && len(b) >= len(mask) {
		var folded [16]byte
		whole := len(b) &^ 15
		fold(c, &b[0], whole, mask, &folded)
		return Update(Update(0, folded[:]), b[whole:])
	}
	return updateMasked(c, b, mask)
}

// updateMasked is UpdateMasked for every processor.
func updateMasked(c uint32, b []byte, mask *Mask) uint32 {
	var head [len(mask)]byte
	n := copy(head[:], b)
	for i := 0; i < len(head); i += 8 {
		word := binary.NativeEndian.Uint64(head[i:]) | binary.NativeEndian.Uint64(mask[i:])
		binary.NativeEndian.PutUint64(head[i:], word)
	}
	return ^crc32.Update(^Update(c, head[:n]), crc32.IEEETable, b[n:])
}
