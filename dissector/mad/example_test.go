package mad_test

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/mad"
)

func Example() {
	request := mad.REQ{
		LocalID: 7, ServiceID: 0x0000_0000_0106_1144, LocalQPN: 0x11, StartingPSN: 0x5000, PathMTU: 5, RetryCount: 7,
		PrivateData: mad.IPCM{IPVersion: 4, Source: [16]byte{12: 10, 15: 1}, Destination: [16]byte{12: 10, 15: 2}}.AppendTo(nil),
	}
	header := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, AttributeID: uint16(mad.MessageREQ)}
	payload := request.AppendTo(header.AppendTo(nil)) // of a datagram to QP 1

	var h mad.Header
	n, err := h.Decode(payload)
	if err != nil || h.Message() != mad.MessageREQ {
		fmt.Println("no REQ:", err)
		return
	}
	var m mad.REQ
	if _, err := m.Decode(payload[n:]); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v for %v from QP %#x, first PSN %#x, path MTU %v\n", h.Message(), m.ServiceID, m.LocalQPN, m.StartingPSN, m.PathMTU)
	if ip, ok := m.IPCM(); ok {
		if source, destination, ok := ip.Addresses(); ok {
			fmt.Println(source, ">", destination)
		}
	}
	// Output:
	// REQ for TCP port 4420 (NVMe-oF) from QP 0x11, first PSN 0x5000, path MTU 4096 bytes
	// 10.0.0.1 > 10.0.0.2
}
