package afpacket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
)

const (
	defaultRing  = 32 << 20
	blockSize    = 1 << 20
	frameSize    = 2048 // a unit of the kernel's bookkeeping; frames may be longer
	retireMillis = 50   // after which a block is handed over that is not full
	batchFrames  = 256

	linkTypeEthernet = 1
	linkTypeRaw      = 101

	hardwareEthernet = 1     // ARPHRD_ETHER
	hardwareLoopback = 772   // ARPHRD_LOOPBACK: Ethernet headers, too
	hardwareNone     = 65534 // ARPHRD_NONE: bare IP, such as tun
)

// Source captures from one interface. Its methods are for one goroutine, but for Interfaces and Close.
type Source struct {
	name     string
	linkType uint16
	fd       int
	wake     int // eventfd by which Close ends a waiting Next
	ring     []byte
	block    int    // the one to be read next, or being read
	left     uint32 // frames of it that have not been handed over
	offset   uint32 // of the next one in the ring
	count    uint64
	clock    timer
	filter   *unix.HwTstampConfig // of the NIC before this source changed it; nil: it did not
	lenient  bool                 // the NIC's clock may be given up
	down     bool                 // the interface is: what the ring still holds is the last

	closed   atomic.Bool
	reading  sync.Mutex // held by Next, and by Close before it takes the ring away
	mu       sync.Mutex // guards what follows, and the socket against being closed while it is asked
	open     bool
	received uint64
	dropped  uint64
	timed    string // by which clock
}

var _ capture.Source = (*Source)(nil)

// Open starts to capture on an interface. Errors: ErrNoInterface, ErrDown, ErrPermission, ErrLinkType, and those of the kernel.
func Open(name string, opts Options) (*Source, error) {
	s, err := open(name, opts)
	if err != nil {
		return nil, fmt.Errorf("capture on %q: %w", name, err)
	}
	return s, nil
}

func open(name string, opts Options) (*Source, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, ErrNoInterface
	}
	if i.Flags&net.FlagUp == 0 {
		return nil, ErrDown
	}
	link, err := linkTypeOf(name)
	if err != nil {
		return nil, err
	}
	// Protocol 0: nothing is queued before the ring is there and the socket bound.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) {
		return nil, ErrPermission
	}
	if err != nil {
		return nil, fmt.Errorf("open packet socket: %w", err)
	}
	s := &Source{name: name, linkType: link, fd: fd, wake: -1, open: true}
	if err := s.start(i.Index, opts); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// linkTypeOf asks the kernel what the interface's frames begin with.
func linkTypeOf(name string) (uint16, error) {
	text, err := os.ReadFile("/sys/class/net/" + name + "/type")
	if err != nil {
		return linkTypeEthernet, nil //nolint:nilerr // no sysfs, as in some containers: nearly all are Ethernet
	}
	hardware, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read type of interface: %w", err)
	}
	switch hardware {
	case hardwareEthernet, hardwareLoopback:
		return linkTypeEthernet, nil
	case hardwareNone:
		return linkTypeRaw, nil
	}
	return 0, fmt.Errorf("%w (ARPHRD type %d)", ErrLinkType, hardware)
}

func (s *Source) start(index int, opts Options) error {
	if opts.RingBytes <= 0 {
		opts.RingBytes = defaultRing
	}
	blocks := max(2, opts.RingBytes/blockSize)
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("choose ring version: %w", err)
	}
	request := unix.TpacketReq3{
		Block_size: blockSize, Block_nr: uint32(blocks),
		Frame_size: frameSize, Frame_nr: uint32(blocks * (blockSize / frameSize)), Retire_blk_tov: retireMillis,
	}
	if err := unix.SetsockoptTpacketReq3(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return fmt.Errorf("make ring of %d MiB: %w", blocks*blockSize>>20, err)
	}
	ring, err := unix.Mmap(s.fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map ring: %w", err)
	}
	s.ring = ring
	if s.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("make event descriptor: %w", err)
	}
	if !opts.NoPromiscuous {
		membership := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &membership); err != nil {
			return fmt.Errorf("set promiscuous: %w", err)
		}
	}
	s.clock = s.chooseClock(opts.Timestamps)
	s.timed, s.lenient = s.clock.name, opts.Timestamps == TimestampsAuto
	address := unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index}
	if err := unix.Bind(s.fd, &address); err != nil {
		return fmt.Errorf("bind to interface: %w", err)
	}
	return nil
}

// networkOrder is the 16-bit value whose bytes in memory are big-endian.
func networkOrder(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}

// Next waits for frames and copies them into the batch. It returns io.EOF after Close, and ErrDown when the interface
// goes away.
func (s *Source) Next(batch *capture.Batch) error {
	if cap(batch.Frames) == 0 {
		batch.Frames = make([]capture.Frame, 0, batchFrames)
	}
	batch.Frames, batch.Buffer = batch.Frames[:0], batch.Buffer[:0]
	s.reading.Lock()
	defer s.reading.Unlock()
	for s.left == 0 {
		if s.closed.Load() {
			return io.EOF
		}
		if s.acquire() {
			continue
		}
		if err := s.wait(); err != nil {
			return err
		}
	}
	s.fill(batch)
	if s.left == 0 {
		s.giveBack()
	}
	if s.clock.strangers >= mostStrangers && s.lenient {
		s.giveUpNIC()
	}
	return nil
}

// wait sleeps until the kernel hands over a block or Close wants an end. When the interface goes down, the block that was
// being filled is handed over once its time has run out.
func (s *Source) wait() error {
	if s.down {
		return fmt.Errorf("capture on %q: %w", s.name, ErrDown)
	}
	fds := [...]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN | unix.POLLERR}, {Fd: int32(s.wake), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds[:], -1); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("capture on %q: wait for packets: %w", s.name, err)
	}
	if fds[1].Revents != 0 || s.closed.Load() {
		return io.EOF
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
		s.down = true
		if _, err := unix.Poll(fds[1:], 2*retireMillis); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("capture on %q: wait for the last packets: %w", s.name, err)
		}
	}
	return nil
}

// Offsets in a block and its frames: struct tpacket_block_desc and tpacket3_hdr of linux/if_packet.h.
const (
	blockStatus     = 8
	blockFrames     = 12
	blockFirst      = 16
	frameNext       = 0
	frameSeconds    = 4
	frameNanos      = 8
	frameCaptured   = 12
	frameLength     = 16
	frameStatus     = 20
	frameMAC        = 24
	frameVLAN       = 32
	frameTPID       = 36
	framePacketType = 48 + 10 // in struct sockaddr_ll, which follows
	macLength       = 12
	tagLength       = 4
	nanosPerSecond  = 1_000_000_000
	largestCaptured = 1 << 18
)

func (s *Source) word(at uint32) uint32 { return binary.NativeEndian.Uint32(s.ring[at:]) }

// acquire takes the next block if the kernel has handed it over.
func (s *Source) acquire() bool {
	base := uint32(s.block * blockSize)
	if atomic.LoadUint32(s.status())&unix.TP_STATUS_USER == 0 {
		return false
	}
	s.left, s.offset = s.word(base+blockFrames), base+s.word(base+blockFirst)
	if s.left == 0 {
		s.giveBack()
	}
	return true
}

func (s *Source) giveBack() {
	atomic.StoreUint32(s.status(), unix.TP_STATUS_KERNEL)
	s.block = (s.block + 1) % (len(s.ring) / blockSize)
}

// fill copies frames of the block at hand, tags put back, until the batch is full.
func (s *Source) fill(batch *capture.Batch) {
	for s.left > 0 && len(batch.Frames) < cap(batch.Frames) {
		at := s.offset
		status := s.word(at + frameStatus)
		captured := min(s.word(at+frameCaptured), largestCaptured)
		data := at + uint32(binary.NativeEndian.Uint16(s.ring[at+frameMAC:]))
		length := s.word(at + frameLength)
		start := len(batch.Buffer)
		frame := s.ring[data : data+captured]
		if status&unix.TP_STATUS_VLAN_VALID != 0 && s.linkType == linkTypeEthernet && len(frame) >= macLength {
			tpid := uint16(unix.ETH_P_8021Q)
			if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
				tpid = binary.NativeEndian.Uint16(s.ring[at+frameTPID:])
			}
			batch.Buffer = append(batch.Buffer, frame[:macLength]...)
			batch.Buffer = binary.BigEndian.AppendUint16(batch.Buffer, tpid)
			batch.Buffer = binary.BigEndian.AppendUint16(batch.Buffer, uint16(s.word(at+frameVLAN)))
			frame = frame[macLength:]
			length += tagLength
		}
		batch.Buffer = append(batch.Buffer, frame...)
		s.count++
		time, timed := s.clock.time(status, int64(s.word(at+frameSeconds))*nanosPerSecond+int64(s.word(at+frameNanos)))
		batch.Frames = append(batch.Frames, capture.Frame{
			Data:   batch.Buffer[start:len(batch.Buffer):len(batch.Buffer)],
			Number: s.count, Time: time, HasTime: timed, Offset: -1,
			OriginalLength: length, LinkType: s.linkType, Direction: directionOf(s.ring[at+framePacketType]),
		})
		s.left--
		s.offset += s.word(at + frameNext)
	}
}

func directionOf(packetType byte) capture.Direction {
	if packetType == unix.PACKET_OUTGOING {
		return capture.DirectionOut
	}
	return capture.DirectionIn
}

// Interfaces has one interface, with the kernel's counters up to now. It may be called from any goroutine.
func (s *Source) Interfaces() []capture.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statistics()
	received, dropped := s.received, s.dropped
	return []capture.Interface{{Name: s.name, Description: "AF_PACKET", LinkType: s.linkType, Received: &received, Dropped: &dropped, Clock: s.timed}}
}

// statistics adds what the kernel counted since it was last asked.
func (s *Source) statistics() {
	if !s.open {
		return
	}
	// The call cannot fail on an open packet socket; were it to, the counters would stay what they are.
	if st, err := unix.GetsockoptTpacketStatsV3(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		s.received += uint64(st.Packets)
		s.dropped += uint64(st.Drops)
	}
}

// Report tells how many frames were handed over.
func (s *Source) Report() capture.Report {
	return capture.Report{Format: "live", Packets: s.count}
}

// Close ends the capture. It may be called from any goroutine, and makes a Next that waits return io.EOF.
func (s *Source) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if _, err := unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		return fmt.Errorf("wake the reader of %q: %w", s.name, err)
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statistics()
	s.open = false
	return s.release()
}
