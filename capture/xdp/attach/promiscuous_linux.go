package attach

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Promiscuous has an interface take frames that are not addressed to it, as those of a mirror port are not, for as long as the
// socket is open that it makes. That socket gets no packets.
func Promiscuous(index int) (leave func() error, err error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	membership := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &membership); err != nil {
		_ = unix.Close(fd) // nothing has come of it
		return nil, fmt.Errorf("set promiscuous: %w", err)
	}
	return func() error { return unix.Close(fd) }, nil
}
