package doctor

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// What the kernel says of a driver's XDP, by the generic netlink family "netdev" (Linux 6.3, linux/netdev.h). To ask
// is the only way to know without attaching a program, for which some drivers reset the link.
const (
	netdevDeviceGet    = 1 // NETDEV_CMD_DEV_GET
	netdevIndex        = 1 // NETDEV_A_DEV_IFINDEX
	netdevFeatures     = 3 // NETDEV_A_DEV_XDP_FEATURES, 64 bits
	xdpBasic           = 1 << 0
	xdpRedirect        = 1 << 1
	xdpZeroCopy        = 1 << 3
	genericHeader      = 4
	controlFamilyName  = 2 // CTRL_ATTR_FAMILY_NAME
	largestAnswer      = 1 << 15
	attributeHeader    = 4
	attributeAlignment = 4
)

var errAnswer = errors.New("the kernel's answer is not understood")

// xdpFeatures is the bits of enum netdev_xdp_act. An error means that this kernel does not tell.
func xdpFeatures(index int) (uint64, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is left to be lost
	family, err := askNetlink(fd, unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, attribute(controlFamilyName, []byte("netdev\x00")))
	if err != nil {
		return 0, err
	}
	id := find(family, unix.CTRL_ATTR_FAMILY_ID)
	if len(id) < 2 {
		return 0, errAnswer
	}
	answer, err := askNetlink(fd, binary.NativeEndian.Uint16(id), netdevDeviceGet, attribute(netdevIndex, binary.NativeEndian.AppendUint32(nil, uint32(index))))
	if err != nil {
		return 0, err
	}
	bits := find(answer, netdevFeatures)
	if len(bits) < 8 {
		return 0, errAnswer
	}
	return binary.NativeEndian.Uint64(bits), nil
}

// attribute is struct nlattr with its value, padded.
func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(attributeHeader+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	for len(b)%attributeAlignment != 0 {
		b = append(b, 0)
	}
	return b
}

// askNetlink sends one generic request, and gives the attributes of its answer.
func askNetlink(fd int, family uint16, command uint8, attributes []byte) ([]byte, error) {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+genericHeader+len(attributes)))
	b = binary.NativeEndian.AppendUint16(b, family)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = binary.NativeEndian.AppendUint32(b, 1) // sequence
	b = binary.NativeEndian.AppendUint32(b, 0) // port: the kernel's to fill in
	b = append(b, command, 1, 0, 0)
	if err := unix.Sendto(fd, append(b, attributes...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, largestAnswer)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return nil, err
	}
	answer = answer[:n]
	if n < unix.SizeofNlMsghdr+genericHeader {
		return nil, errAnswer
	}
	length := int(binary.NativeEndian.Uint32(answer))
	if length > n || length < unix.SizeofNlMsghdr+genericHeader {
		return nil, errAnswer
	}
	if binary.NativeEndian.Uint16(answer[4:]) == unix.NLMSG_ERROR {
		return nil, unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])))
	}
	return answer[unix.SizeofNlMsghdr+genericHeader : length], nil
}

// find is the value of the first attribute of a kind, nil when there is none.
func find(attributes []byte, kind uint16) []byte {
	for len(attributes) >= attributeHeader {
		length := int(binary.NativeEndian.Uint16(attributes))
		if length < attributeHeader || length > len(attributes) {
			return nil
		}
		if binary.NativeEndian.Uint16(attributes[2:])&^unix.NLA_F_NESTED == kind {
			return attributes[attributeHeader:length]
		}
		attributes = attributes[min(len(attributes), (length+attributeAlignment-1)/attributeAlignment*attributeAlignment):]
	}
	return nil
}
