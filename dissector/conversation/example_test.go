package conversation_test

import (
	"fmt"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/dissector/tree"
)

// A tracker is told of every packet, in order, behind Decode. Of the packet to the server's queue pair it then knows what
// the connection was set up for, and the packet's tree and line say it.
func Example() {
	client, server := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	message := func(m mad.Message, data []byte) build.Frame {
		h := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, AttributeID: uint16(m)}
		return build.Frame{
			BTH:     infiniband.BTH{Opcode: infiniband.UDSendOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: infiniband.GeneralServicesQP},
			DETH:    infiniband.DETH{QueueKey: infiniband.GSIQueueKey, SourceQP: infiniband.GeneralServicesQP},
			Payload: append(h.AppendTo(nil), data...), Source: client, Destination: server, SourcePort: 50000,
		}
	}
	request := message(mad.MessageREQ, mad.REQ{LocalID: 1, ServiceID: 0x0106_4e51, LocalQPN: 0x20}.AppendTo(nil)) // TCP port 20049
	reply := message(mad.MessageREP, mad.REP{LocalID: 2, RemoteID: 1, LocalQPN: 0x21}.AppendTo(nil))
	reply.Source, reply.Destination = server, client
	done := build.Frame{
		Source: client, Destination: server, SourcePort: 50000,
		BTH:     infiniband.BTH{Opcode: infiniband.RCSendOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x21, PSN: 7},
		Payload: []byte{0x11, 0x22, 0x33, 0x44, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 3},
	}
	tracker := conversation.New()
	var p dissector.Packet
	for _, f := range []build.Frame{request, reply, done} {
		data, err := f.AppendTo(nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		err = tracker.Observe(&p, dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p))
		fmt.Println(tree.Summary(&p, err).Info)
	}
	// Output:
	// UD SEND Only PSN=0x000000 (0) QP=0x000001 SrcQP=0x000001 len=256 CM REQ TCP port 20049 (NFS/RDMA), QP=0x000020 PSN=0x000000
	// UD SEND Only PSN=0x000000 (0) QP=0x000001 SrcQP=0x000001 len=256 CM REP QP=0x000021 PSN=0x000000
	// RC SEND Only PSN=0x000007 (7) QP=0x000021 len=16 NFS/RDMA: RPC-over-RDMA, RDMA_DONE, XID 0x11223344
}
