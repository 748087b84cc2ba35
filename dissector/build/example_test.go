package build_test

import (
	"fmt"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// A frame is described by what is special about it; lengths, checksums, pad and ICRC are filled in. Tunnels go around it.
func ExampleFrame() {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000, VLANs: []uint16{3<<13 | 100},
		BTH:     infiniband.BTH{Opcode: infiniband.UCSendOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x11, PSN: 1},
		Payload: []byte("hello"),
	}
	frame, err := f.AppendTo(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mirror := build.ERSPAN3{Session: 7, VLAN: 100, Egress: true}
	outer := build.IP{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.2")}
	packet := mirror.Wrap(nil, outer, 1, frame)

	var p dissector.Packet
	err = dissector.Decode(packet, dissector.Meta{LinkType: dissector.LinkTypeIPv4}, &p)
	fmt.Println(err, p.Tunnel.Type, p.Tunnel.ID, p.BTH.Opcode, string(p.Payload()), dissector.VerifyICRC(&p) == dissector.ICRCGood)
	// Output: <nil> ERSPAN III 7 UC SEND Only hello true
}
