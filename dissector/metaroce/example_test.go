package metaroce_test

import (
	"fmt"
	"net/netip"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// A receiver answers a WRITE that arrived behind a gap.
func Example() {
	client, server := netip.MustParseAddrPort("10.0.0.1:50001"), netip.MustParseAddrPort("10.0.0.2:51791")
	write := mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeWrite, Flags: mr0.FlagFirst | mr0.FlagLast, DestConnID: 7, PSN: 103},
		DH:   mr0.DH{Timestamp: 1000, MessageLength: 5},
		WETH: mr0.WETH{VirtualAddress: 0x1000, RKey: 9},
	}
	datagram, err := write.AppendDatagram(nil, []byte("hello"), client, server)
	if err != nil {
		fmt.Println(err)
	}

	var in mr0.Packet
	if err := mr0.Decode(datagram, &in); err != nil || !mr0.VerifyICRC(datagram, client, server) {
		fmt.Println(mr0.Profile.Explain(in.Fault))
	}
	fmt.Printf("%s to %#x: %s\n", in.CH.Type, in.WETH.VirtualAddress, in.Payload(datagram))

	next := uint32(100)
	ack := mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeACK, DestConnID: 8, PathID: in.CH.PathID, PSN: 1},
		ACKH: mr0.ACKH{CumulativePSN: next, EchoTimestamp: in.DH.Timestamp, Trigger: mr0.ACKTriggerGap},
	}
	ack.ACKH.SACK.Set(int(mr0.PSNDistance(next+1, in.CH.PSN)))
	for first, last := range ack.ACKH.SACK.Ranges() {
		fmt.Printf("%s (%s): next %d, has %d to %d\n", ack.CH.Type, ack.ACKH.Trigger, next, next+1+uint32(first), next+1+uint32(last))
	}
	// Output:
	// WRITE to 0x1000: hello
	// ACK (gap): next 100, has 103 to 103
}
