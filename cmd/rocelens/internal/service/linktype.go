package service

import "fmt"

// linkTypes are the names of LINKTYPE_ numbers that captures of data centres come with
// (https://www.tcpdump.org/linktypes.html).
var linkTypes = map[uint16]string{
	0: "NULL", 1: "ETHERNET", 9: "PPP", 12: "RAW", 14: "RAW", 101: "RAW", 105: "IEEE802_11", 108: "LOOP",
	113: "LINUX_SLL", 127: "IEEE802_11_RADIOTAP", 187: "BLUETOOTH_HCI_H4", 189: "USB_LINUX", 192: "PPI", 197: "ERF",
	220: "USB_LINUX_MMAPPED", 228: "IPV4", 229: "IPV6", 239: "NFLOG", 247: "INFINIBAND", 276: "LINUX_SLL2",
}

func linkTypeName(number uint16) string {
	if name := linkTypes[number]; name != "" {
		return name
	}
	return fmt.Sprintf("LINKTYPE %d", number)
}
