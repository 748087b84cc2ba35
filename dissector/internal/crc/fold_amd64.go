package crc

import "golang.org/x/sys/cpu"

// folds tells whether the processor multiplies 64 bytes at a time without carries.
var folds = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPCLMULQDQ

// fold shortens n bytes, at least 64 and a multiple of 16, to 16 that leave the register as they would, when it
// starts from zero. The register c that the bytes would have started from is worked in, and the mask's bits are set
// in the first 64 bytes. The method is that of Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel 2009, on registers of four lanes.
//
//go:noescape
func fold(c uint32, p *byte, n int, mask *Mask, out *[16]byte)
