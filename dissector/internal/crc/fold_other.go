//go:build !amd64

package crc

const folds = false

func fold(uint32, *byte, int, *Mask, *[16]byte) { panic("crc: no folding on this processor") }
