package afxdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	chunk    = 4096
	headroom = 256 // of each chunk, which the kernel keeps for itself
	page     = 4096
	fewest   = 2048 // chunks of a queue
)

// ring is one that is shared with the kernel: of descriptors, or of addresses.
type ring struct {
	memory   []byte
	producer *uint32
	consumer *uint32
	entries  unsafe.Pointer
	mask     uint32
}

// address is entry i of a ring of addresses, which its mask keeps within.
func (r *ring) address(i uint32) *uint64 {
	return (*uint64)(unsafe.Add(r.entries, uintptr(i&r.mask)*unsafe.Sizeof(uint64(0))))
}

func (r *ring) descriptor(i uint32) *unix.XDPDesc {
	return (*unix.XDPDesc)(unsafe.Add(r.entries, uintptr(i&r.mask)*unsafe.Sizeof(unix.XDPDesc{})))
}

// socket is an AF_XDP socket of one queue, with memory of its own for frames.
type socket struct {
	fd     int
	queue  uint32
	chunks uint32
	// umem is memory of Go, and not mapped, so that frames that were lent outlive the socket.
	umem   []byte
	fill   ring
	frames ring
	flags  uint16
}

// newSocket makes a socket by the first of several sets of flags that driver and kernel take.
func newSocket(index int, queue, chunks uint32, tries []uint16) (*socket, error) {
	var errs []error
	for _, flags := range tries {
		s := &socket{fd: -1, queue: queue, chunks: chunks, flags: flags}
		err := s.open(index)
		if err == nil {
			return s, nil
		}
		errs = append(errs, fmt.Errorf("queue %d, %s: %w", queue, nameOf(flags), err), s.close())
	}
	return nil, errors.Join(errs...)
}

func nameOf(flags uint16) string {
	name := "copied"
	if flags&unix.XDP_ZEROCOPY != 0 {
		name = "zero copy"
	}
	if flags&unix.XDP_USE_SG != 0 {
		name += ", frames in pieces"
	}
	return name
}

func (s *socket) open(index int) (err error) {
	if s.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open AF_XDP socket: %w", err)
	}
	size := int(s.chunks) * chunk
	memory := make([]byte, size+page)
	at := -uintptr(unsafe.Pointer(&memory[0])) & (page - 1) //nolint:gosec // the kernel wants whole pages
	s.umem = memory[at : int(at)+size]
	region := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&s.umem[0]))), Len: uint64(size), Size: chunk} //nolint:gosec // the kernel pins it
	if err := set(s.fd, unix.XDP_UMEM_REG, unsafe.Pointer(&region), unsafe.Sizeof(region)); err != nil {         //nolint:gosec // the kernel reads it during the call
		return fmt.Errorf("share %d MiB with the kernel: %w", size>>20, err)
	}
	for _, option := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, option, int(s.chunks)); err != nil {
			return fmt.Errorf("make a ring: %w", err)
		}
	}
	var offsets unix.XDPMmapOffsets
	if err := get(s.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&offsets), unsafe.Sizeof(offsets)); err != nil { //nolint:gosec // the kernel writes it during the call
		return fmt.Errorf("find the rings: %w", err)
	}
	if s.fill, err = s.share(unix.XDP_UMEM_PGOFF_FILL_RING, &offsets.Fr, unsafe.Sizeof(uint64(0))); err != nil {
		return err
	}
	if s.frames, err = s.share(unix.XDP_PGOFF_RX_RING, &offsets.Rx, unsafe.Sizeof(unix.XDPDesc{})); err != nil {
		return err
	}
	for i := range s.chunks {
		s.giveBack(uint64(i) * chunk)
	}
	if err := unix.Bind(s.fd, &unix.SockaddrXDP{Flags: s.flags, Ifindex: uint32(index), QueueID: s.queue}); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

// share maps a ring.
func (s *socket) share(at int64, o *unix.XDPRingOffset, entry uintptr) (ring, error) {
	memory, err := unix.Mmap(s.fd, at, int(uintptr(o.Desc)+uintptr(s.chunks)*entry), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return ring{}, fmt.Errorf("map a ring: %w", err)
	}
	return ring{
		memory: memory, mask: s.chunks - 1, entries: unsafe.Pointer(&memory[o.Desc]), //nolint:gosec // shared with the kernel
		producer: (*uint32)(unsafe.Pointer(&memory[o.Producer])), consumer: (*uint32)(unsafe.Pointer(&memory[o.Consumer])), //nolint:gosec // shared with the kernel
	}, nil
}

// giveBack lets the kernel fill a chunk. There is room: the ring has as many places as there are chunks.
func (s *socket) giveBack(address uint64) {
	at := atomic.LoadUint32(s.fill.producer)
	*s.fill.address(at) = address &^ (chunk - 1)
	atomic.StoreUint32(s.fill.producer, at+1)
}

// waiting is how many descriptors are to be read, from which on.
func (s *socket) waiting() (from, n uint32) {
	from = atomic.LoadUint32(s.frames.consumer)
	return from, atomic.LoadUint32(s.frames.producer) - from
}

func (s *socket) read(until uint32) { atomic.StoreUint32(s.frames.consumer, until) }

// lost is how many frames the kernel had no room for, or that did not fit into chunks.
func (s *socket) lost() uint64 {
	var st unix.XDPStatistics
	// The call cannot fail on an open socket; before 5.9 it knows of what was dropped alone.
	_ = get(s.fd, unix.XDP_STATISTICS, unsafe.Pointer(&st), unsafe.Sizeof(st)) //nolint:gosec // the kernel writes it during the call
	return st.Rx_dropped + st.Rx_ring_full
}

func (s *socket) close() error {
	var errs []error
	for _, r := range []*ring{&s.fill, &s.frames} {
		if r.memory != nil {
			errs = append(errs, unix.Munmap(r.memory))
			r.memory = nil
		}
	}
	if s.fd >= 0 {
		errs = append(errs, unix.Close(s.fd))
		s.fd = -1
	}
	return errors.Join(errs...)
}

func set(fd, option int, value unsafe.Pointer, size uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), size, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func get(fd, option int, value unsafe.Pointer, size uintptr) error {
	length := uint32(size)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), uintptr(unsafe.Pointer(&length)), 0) //nolint:gosec // an option that package unix has no function for
	if errno != 0 {
		return errno
	}
	return nil
}

// chunksOf is how many chunks a queue has, a power of two.
func chunksOf(ringBytes, queues int) uint32 {
	n := uint(max(ringBytes/chunk/max(1, queues), fewest))
	return 1 << (bits.Len(n) - 1)
}

// loan is what a batch has of a socket's chunks.
type loan struct {
	socket  *socket
	address uint64
}

// timeLength is of what the program wrote before a frame.
const timeLength = 8

func (s *socket) timeOf(d *unix.XDPDesc) uint64 {
	return binary.NativeEndian.Uint64(s.umem[d.Addr-timeLength:])
}

func (s *socket) bytesOf(d *unix.XDPDesc) []byte {
	return s.umem[d.Addr : d.Addr+uint64(d.Len) : d.Addr+uint64(d.Len)]
}
