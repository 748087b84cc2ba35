// Package afpacket captures from a Linux network interface by an AF_PACKET socket with a ring of blocks
// (TPACKET_V3). It is pure Go.
//
// The kernel takes the outermost VLAN tag out of a frame and hands it over beside it; it is put back here, with its
// priority, and also when its VLAN is 0.
package afpacket

import (
	"errors"

	"github.com/rocelens/rocelens/capture"
)

// Errors that callers tell apart. Each is a clause for the person at the command line.
var (
	ErrNoInterface = capture.ErrNoInterface
	ErrPermission  = errors.New("capturing needs the capability CAP_NET_RAW: run as root, or once setcap cap_net_raw+ep on the program")
	ErrDown        = capture.ErrDown
	ErrLinkType    = errors.New("the network interface carries frames of a kind that is not decoded")
	ErrUnsupported = capture.ErrUnsupported
)

// Options says how to capture. The zero value is right for most.
type Options struct {
	// RingBytes is the size of the ring that bridges moments in which nobody reads. 0: 32 MiB.
	RingBytes int
	// NoPromiscuous leaves frames alone that are not addressed to the interface, such as those of a mirror port.
	NoPromiscuous bool
	// Timestamps is whose clock is to time frames.
	Timestamps Timestamps
}

// Timestamps is whose clock is to time frames. Interface.Clock says whose does, and why it is not the NIC's.
type Timestamps uint8

const (
	// TimestampsAuto is the NIC's clock where the NIC stamps all frames already, its clock follows the host's, and few
	// frames go out, since those it does not stamp; else the kernel's.
	TimestampsAuto Timestamps = iota
	// TimestampsNIC is the NIC's clock where it has one, whatever that follows. The NIC is set to stamp all frames, which
	// other programs such as ptp4l notice, until Close. Frames without its stamp have no time.
	TimestampsNIC
	// TimestampsKernel is the kernel's clock.
	TimestampsKernel
)
