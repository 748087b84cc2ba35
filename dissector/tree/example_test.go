package tree_test

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/tree"
)

// example is a NAK such as a capture would have: its receiver still waits for PSN 34.
func example() (data []byte, meta dissector.Meta, err error) {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.2"), Destination: netip.MustParseAddr("10.0.0.1"), SourcePort: 49152,
		BTH:  infiniband.BTH{Opcode: infiniband.RCAcknowledge, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x11, PSN: 34},
		AETH: infiniband.AETH{Syndrome: 0x60, MSN: 7},
	}
	data, err = f.AppendTo(nil)
	return data, dissector.Meta{Number: 1, LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}, err
}

func ExampleBuild() {
	data, meta, err := example()
	if err != nil {
		fmt.Println(err)
		return
	}
	var p dissector.Packet
	err = dissector.Decode(data, meta, &p)
	// Every bit of the frame belongs to one leaf; here those that have tshark's name for a field of the AETH.
	tree.Build(&p, err).Walk(func(n *tree.Node) bool {
		if n.Field == "infiniband.aeth" {
			if err := tree.WriteText(os.Stdout, n); err != nil {
				fmt.Println(err)
			}
		}
		return true
	})
	// Output:
	// 0x0036+4     AETH: NAK, PSN sequence error
	// 0x0036+1       Syndrome: 96 (NAK, PSN sequence error)
	// 0x0036.0:1       Reserved: 0
	// 0x0036.1:2       Type: 3 (NAK)
	// 0x0036.3:5       NAK code: 0 (PSN sequence error)
	// 0x0037+3       MSN: 7
}

func ExampleSummary() {
	data, meta, err := example()
	if err != nil {
		fmt.Println(err)
		return
	}
	var p dissector.Packet
	err = dissector.Decode(data, meta, &p)
	line := tree.Summary(&p, err)
	fmt.Println(line.Source, line.Destination, line.Protocol, line.Info)
	// Output:
	// 10.0.0.2 10.0.0.1 RoCEv2 RC ACK PSN=0x000022 (34) QP=0x000011 MSN=7 NAK, PSN sequence error
}
