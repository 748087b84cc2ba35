// Package afxdp captures whole frames by AF_XDP sockets, one for each queue of a network interface. It is for mirror ports:
// packets that are RDMA, or may be, are taken away from the kernel and reach no program of the host. All else, such as ARP,
// ICMP and TCP, goes on, and is counted.
package afxdp

// Options says how to capture. The zero value is right for most.
type Options struct {
	// RingBytes is the memory for frames, of all queues together, that bridges moments in which nobody reads; a frame takes
	// 4 KiB of it, or a multiple. 0: 32 MiB. A queue has 8 MiB at least.
	RingBytes int
	// NoPromiscuous leaves frames alone that are not addressed to the interface, such as those of a mirror port.
	NoPromiscuous bool
	// Generic does without the driver, and Copy without its writing into our memory.
	Generic, Copy bool
}
