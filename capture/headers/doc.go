// Package headers captures the first 192 bytes of packets that are RDMA, or may be, of a Linux network interface: programs
// in the kernel, an XDP one for what comes in and a TCX one for what goes out, copy them into a ring and let each packet go
// on. What is certainly not RDMA is counted and not copied.
package headers

import "github.com/rocelens/rocelens/capture/xdp/attach"

// SnapLength is how many bytes of a frame are captured at most.
const SnapLength = 192

// Options says how to capture. The zero value is right for most.
type Options struct {
	// RingBytes is the size of the ring that bridges moments in which nobody reads, rounded up to a power of two. A packet
	// takes 224 bytes of it. 0: 32 MiB.
	RingBytes int
	// NoPromiscuous leaves frames alone that are not addressed to the interface, such as those of a mirror port.
	NoPromiscuous bool
	// Skip are ways to attach the programs that are not tried.
	Skip []attach.Way
}
