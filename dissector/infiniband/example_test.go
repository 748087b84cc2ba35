package infiniband_test

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// A base transport header, and the extended headers that its opcode says follow.
func ExampleBTH_Decode() {
	packet := []byte{
		0x11, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x22, // BTH
		0x60, 0x00, 0x00, 0x05, // AETH
	}
	var h infiniband.BTH
	n, err := h.Decode(packet)
	if err != nil {
		fmt.Println(err)
		return
	}
	headers, known := h.Opcode.Headers()
	fmt.Println(h.Opcode, headers, known)
	var a infiniband.AETH
	if _, err := a.Decode(packet[n:]); err == nil && headers&infiniband.HasAETH != 0 {
		fmt.Printf("QP %#x, PSN %d, MSN %d: %v\n", h.DestinationQP, h.PSN, a.MSN, a.Syndrome)
	}
	// Output:
	// RC ACK BTH+AETH true
	// QP 0x11, PSN 34, MSN 5: NAK, PSN sequence error
}

// What follows the base transport header, and how many bytes that is.
func ExampleHeaderSet() {
	headers, known := infiniband.RCCompareSwap.Headers()
	fmt.Println(headers, headers.Length(), known)
	_, known = infiniband.Opcode(0x80).Headers() // CNP is 0x81
	fmt.Println(known)
	// Output:
	// BTH+AtomicETH 40 true
	// false
}
