package filter_test

import (
	"fmt"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/filter"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// A filter is compiled once and asked about each packet. Where it is wrong, the error names the column.
func ExampleCompile() {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000,
		BTH: infiniband.BTH{Opcode: infiniband.RCWriteOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x11, PSN: 105},
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var p dissector.Packet
	decodeErr := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: 1}, &p)
	for _, text := range []string{
		"infiniband.bth.psn in {100 .. 110} and ip.src == 10.0.0.0/8",
		"infiniband.aeth or eth.src[0:3] == 24:8a:07",
		"infiniband.bth.psn == x",
	} {
		compiled, err := filter.Compile(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(compiled.Match(&p, decodeErr))
	}
	// Output:
	// true
	// false
	// column 23: expected a number, decimal or 0x…, found "x"
}
