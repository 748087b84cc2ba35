package dissector_test

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

func ExampleDecode() {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 49152,
		BTH:     infiniband.BTH{Opcode: infiniband.RCWriteOnly, PartitionKey: 0xffff, DestinationQP: 0x11, PSN: 7},
		RETH:    infiniband.RETH{VirtualAddress: 0x1000, RemoteKey: 1, DMALength: 5},
		Payload: []byte("hello"),
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	var p dissector.Packet // one for all frames
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}
	if err := dissector.Decode(data, meta, &p); err != nil {
		fmt.Printf("%v: %v at byte %d: %v\n", err, p.Fault.Layer, p.Fault.Offset, p.Fault.Reason)
		return
	}
	fmt.Printf("%v > %v QP %#x: %v, PSN %d, %q\n", p.Network.Source, p.Network.Destination, p.BTH.DestinationQP, p.BTH.Opcode, p.BTH.PSN, p.Payload())
	fmt.Println("ICRC good:", dissector.VerifyICRC(&p) == dissector.ICRCGood)
	// Output:
	// 10.0.0.1 > 10.0.0.2 QP 0x11: RC RDMA WRITE Only, PSN 7, "hello"
	// ICRC good: true
}

// A wrong ICRC is told from one that the capture cannot tell.
func ExampleVerifyICRC() {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 49152,
		BTH:     infiniband.BTH{Opcode: infiniband.RCSendOnly, PartitionKey: 0xffff, DestinationQP: 0x11, PSN: 7},
		Payload: []byte("four bytes and more"),
	}
	whole, err := f.AppendTo(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	damaged := slices.Clone(whole)
	damaged[60] ^= 1 // a byte of the payload
	cut := whole[:60]

	var p dissector.Packet
	for _, data := range [][]byte{whole, damaged, cut} {
		meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(whole))}
		if err := dissector.Decode(data, meta, &p); err != nil {
			fmt.Println(err)
			continue
		}
		switch dissector.VerifyICRC(&p) {
		case dissector.ICRCGood:
			fmt.Println("right")
		case dissector.ICRCBad:
			fmt.Println("wrong: damaged on the way, or rewritten")
		case dissector.ICRCUndetermined, dissector.ICRCNotChecked:
			fmt.Println("cannot tell")
		}
	}
	// Output:
	// right
	// wrong: damaged on the way, or rewritten
	// cannot tell
}
