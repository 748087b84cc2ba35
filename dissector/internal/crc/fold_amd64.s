#include "textflag.h"

// A register of 128 bits that stands D bits before its successor is brought there by multiplying its halves, without
// carries, by x^(D+32) and x^(D-32) modulo the polynomial.

// by256 folds over 256 bytes, by64 over 64; each pair serves all lanes.
DATA by256<>+0(SB)/8, $0x11542778a
DATA by256<>+8(SB)/8, $0x1322d1430
GLOBL by256<>(SB), RODATA|NOPTR, $16

DATA by64<>+0(SB)/8, $0x154442bd4
DATA by64<>+8(SB)/8, $0x1c6e41596
GLOBL by64<>(SB), RODATA|NOPTR, $16

DATA by16<>+0(SB)/8, $0x1751997d0
DATA by16<>+8(SB)/8, $0x0ccaa009e
GLOBL by16<>(SB), RODATA|NOPTR, $16

// lanes folds the first three lanes of 16 bytes onto the fourth.
DATA lanes<>+0(SB)/8, $0x03db1ecdc
DATA lanes<>+8(SB)/8, $0x174359406
DATA lanes<>+16(SB)/8, $0x0f1da05aa
DATA lanes<>+24(SB)/8, $0x15a546366
DATA lanes<>+32(SB)/8, $0x1751997d0
DATA lanes<>+40(SB)/8, $0x0ccaa009e
DATA lanes<>+48(SB)/8, $0x0
DATA lanes<>+56(SB)/8, $0x0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// FOLD brings acc over to the bytes in next; low is scratch.
#define FOLD(next, by, acc, low) \
	VPCLMULQDQ $0x00, by, acc, low      \
	VPCLMULQDQ $0x11, by, acc, acc      \
	VPTERNLOGQ $0x96, next, low, acc

// func fold(c uint32, p *byte, n int, mask *Mask, out *[16]byte)
TEXT ·fold(SB), NOSPLIT, $0-40
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ mask+24(FP), DX
	MOVQ out+32(FP), DI

	VMOVDQU64 (SI), Z0
	VPORQ (DX), Z0, Z0
	MOVL c+0(FP), AX
	VMOVD AX, X1 // clears the rest of Z1
	VPXORQ Z1, Z0, Z0
	ADDQ $64, SI
	SUBQ $64, CX
	VBROADCASTI32X4 by64<>(SB), Z8
	CMPQ CX, $192
	JLT by64loop

	VMOVDQU64 (SI), Z1
	VMOVDQU64 64(SI), Z2
	VMOVDQU64 128(SI), Z3
	ADDQ $192, SI
	SUBQ $192, CX
	VBROADCASTI32X4 by256<>(SB), Z9

by256loop:
	CMPQ CX, $256
	JLT join
	FOLD(0(SI), Z9, Z0, Z4)
	FOLD(64(SI), Z9, Z1, Z5)
	FOLD(128(SI), Z9, Z2, Z6)
	FOLD(192(SI), Z9, Z3, Z7)
	ADDQ $256, SI
	SUBQ $256, CX
	JMP by256loop

join:
	FOLD(Z1, Z8, Z0, Z4)
	FOLD(Z2, Z8, Z0, Z4)
	FOLD(Z3, Z8, Z0, Z4)

by64loop:
	CMPQ CX, $64
	JLT narrow
	FOLD(0(SI), Z8, Z0, Z4)
	ADDQ $64, SI
	SUBQ $64, CX
	JMP by64loop

narrow:
	VMOVDQU64 lanes<>(SB), Z9
	VPCLMULQDQ $0x00, Z9, Z0, Z4
	VPCLMULQDQ $0x11, Z9, Z0, Z5
	VPXORQ Z4, Z5, Z4
	VEXTRACTI64X4 $1, Z4, Y5
	VPXORQ Y5, Y4, Y4
	VEXTRACTI64X2 $1, Y4, X5
	VEXTRACTI32X4 $3, Z0, X0
	VPTERNLOGQ $0x96, X5, X4, X0
	VMOVDQU64 by16<>(SB), X8

by16loop:
	CMPQ CX, $16
	JLT done
	FOLD(0(SI), X8, X0, X4)
	ADDQ $16, SI
	SUBQ $16, CX
	JMP by16loop

done:
	VMOVDQU64 X0, (DI)
	VZEROUPPER
	RET
