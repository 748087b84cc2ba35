package softmetaroce

import (
	"errors"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/dissector"
)

// Sizes of batches. A GSO message is at most 64 datagrams and 64 KiB; sizes stay below for IP and UDP headers.
const (
	sendMessages  = 32    // of one sendmmsg
	joinedMost    = 64    // datagrams of one message
	joinedBytes   = 65000 // of one message
	receiveJoined = 16    // of one recvmmsg, when the kernel joins datagrams
	receiveSingle = 64    // of one recvmmsg, when it does not
	controlBytes  = 128   // for all that is asked for
)

// outgoing is a datagram that waits for its batch to be sent.
type outgoing struct {
	payload     []byte
	destination netip.AddrPort
	ecn         dissector.ECN
}

// mmsghdr is the kernel's struct of sendmmsg and recvmmsg.
type mmsghdr struct {
	header unix.Msghdr
	length uint32
	_      [unsafe.Sizeof(uintptr(0)) - 4]byte
}

// sender sends batches.
type sender struct {
	offload  bool // join datagrams
	messages [sendMessages]mmsghdr
	names    [sendMessages]unix.RawSockaddrInet6
	controls [sendMessages][controlBytes]byte
	iovecs   [sendMessages * joinedMost]unix.Iovec
	sizes    [sendMessages]int // datagrams of each message
	count    SocketCounts
	lastErr  error
}

// flush sends what is pending on a socket.
func (b *sender) flush(s *socket) {
	for from := 0; from < len(s.pending); {
		from += b.write(s, b.build(s.pending[from:]))
	}
	s.queued -= len(s.pending)
	clear(s.pending)
	s.pending = s.pending[:0]
}

// build makes messages of datagrams, and returns their number.
func (b *sender) build(pending []outgoing) (messages int) {
	datagrams, vectors := 0, 0
	for messages < sendMessages && datagrams < len(pending) && vectors < len(b.iovecs) {
		first := &pending[datagrams]
		size, total, n := len(first.payload), 0, 0
		for i := datagrams; i < len(pending) && n < joinedMost && vectors+n < len(b.iovecs); i++ {
			d := &pending[i]
			if n > 0 && (!b.offload || len(d.payload) > size || total+len(d.payload) > joinedBytes ||
				d.ecn != first.ecn || d.destination != first.destination) {
				break
			}
			v := &b.iovecs[vectors+n]
			v.Base = &d.payload[0]
			v.SetLen(len(d.payload))
			total += len(d.payload)
			n++
			if len(d.payload) < size {
				break // only the last may be shorter
			}
		}
		b.message(messages, first, vectors, n)
		vectors += n
		datagrams += n
		messages++
	}
	return messages
}

func (b *sender) message(i int, first *outgoing, vector, n int) {
	m := &b.messages[i]
	h := &m.header
	h.Name = (*byte)(unsafe.Pointer(&b.names[i])) //nolint:gosec // a struct of the kernel's
	h.Namelen = rawAddress(&b.names[i], first.destination)
	h.Iov = &b.iovecs[vector]
	h.SetIovlen(n)
	control := b.controls[i][:0]
	if first.destination.Addr().Is4() {
		control = appendControl(control, unix.IPPROTO_IP, unix.IP_TOS, uint32(first.ecn), 4)
	} else {
		control = appendControl(control, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, uint32(first.ecn), 4)
	}
	if n > 1 {
		control = appendControl(control, unix.IPPROTO_UDP, unix.UDP_SEGMENT, uint32(len(first.payload)), 2)
	}
	h.Control = &control[0]
	h.SetControllen(len(control))
	b.sizes[i] = n
}

// write sends messages and returns how many datagrams are done with. The others have to be built again, because the way
// does not take joined ones.
func (b *sender) write(s *socket, n int) (datagrams int) {
	for done := 0; done < n; {
		r, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&b.messages[done])), uintptr(n-done), 0, 0, 0) //nolint:gosec // sendmmsg takes this
		b.count.SendCalls++
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			refused := errno == unix.EINVAL || errno == unix.EMSGSIZE || errno == unix.EIO || errno == unix.EOPNOTSUPP
			if b.sizes[done] > 1 && refused {
				b.offload = false
				return datagrams
			}
			datagrams += b.sizes[done]
			b.count.SendErrors += uint64(b.sizes[done]) // as if the network had lost them
			b.lastErr = errno
			done++
			continue
		}
		for i := range int(r) {
			b.count.DatagramsSent += uint64(b.sizes[done+i])
			datagrams += b.sizes[done+i]
		}
		b.count.MessagesSent += uint64(r)
		done += int(r)
	}
	return datagrams
}

// appendControl appends a control message of 2 or 4 bytes.
func appendControl(b []byte, level, kind int, value uint32, size int) []byte {
	at := len(b)
	b = b[:at+unix.CmsgSpace(size)]
	clear(b[at:])
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[at])) //nolint:gosec // room was made, and at is aligned by CmsgSpace
	h.Level, h.Type = int32(level), int32(kind)
	h.SetLen(unix.CmsgLen(size))
	data := unsafe.Pointer(&b[at+unix.CmsgLen(0)]) //nolint:gosec // behind the header
	if size == 2 {
		*(*uint16)(data) = uint16(value)
	} else {
		*(*uint32)(data) = value
	}
	return b
}

// arrived is what the kernel said of one message.
type arrived struct {
	payload []byte
	source  netip.AddrPort
	ecn     dissector.ECN
	segment int // length of all joined datagrams but the last, 0: a single one
}

// receiver reads batches from the socket of one address.
type receiver struct {
	fd       int
	local    netip.AddrPort
	messages []mmsghdr
	names    []unix.RawSockaddrInet6
	controls [][controlBytes]byte
	iovecs   []unix.Iovec
	buffers  [][]byte
	drops    uint32 // that the kernel has counted on this socket
}

func newReceiver(fd int, local netip.AddrPort, joined bool, datagram int) *receiver {
	n, size := receiveSingle, datagram
	if joined {
		n, size = receiveJoined, 1<<16
	}
	r := &receiver{
		fd: fd, local: local, messages: make([]mmsghdr, n), names: make([]unix.RawSockaddrInet6, n),
		controls: make([][controlBytes]byte, n), iovecs: make([]unix.Iovec, n), buffers: make([][]byte, n),
	}
	for i := range r.messages {
		r.buffers[i] = make([]byte, size)
		r.iovecs[i].Base = &r.buffers[i][0]
		r.iovecs[i].SetLen(size)
		h := &r.messages[i].header
		h.Name = (*byte)(unsafe.Pointer(&r.names[i])) //nolint:gosec // a struct of the kernel's
		h.Iov = &r.iovecs[i]
		h.SetIovlen(1)
		h.Control = &r.controls[i][0]
	}
	return r
}

// read takes what has arrived without waiting and returns the number of messages.
func (r *receiver) read() (int, error) {
	for i := range r.messages {
		h := &r.messages[i].header
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(controlBytes)
		h.Flags = 0
	}
	for {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&r.messages[0])), uintptr(len(r.messages)), unix.MSG_DONTWAIT, 0, 0) //nolint:gosec // recvmmsg takes this
		switch {
		case errno == 0:
			return int(n), nil
		case errno == unix.EINTR:
		case errors.Is(errno, unix.EAGAIN), errno == unix.ECONNREFUSED:
			return 0, nil
		default:
			return 0, errno
		}
	}
}

// message is what was read. A payload that did not fit is empty.
func (r *receiver) message(i int) arrived {
	m := &r.messages[i]
	a := arrived{payload: r.buffers[i][:m.length], source: address(&r.names[i])}
	if m.header.Flags&unix.MSG_TRUNC != 0 {
		a.payload = nil
	}
	control := r.controls[i][:min(int(m.header.Controllen), controlBytes)]
	for len(control) >= unix.CmsgLen(0) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0])) //nolint:gosec // its length was checked
		length := int(h.Len)
		if length < unix.CmsgLen(0) || length > len(control) {
			break
		}
		r.control(h, control[unix.CmsgLen(0):length], &a)
		control = control[min(len(control), unix.CmsgSpace(length-unix.CmsgLen(0))):]
	}
	return a
}

func (r *receiver) control(h *unix.Cmsghdr, data []byte, a *arrived) {
	var value uint32
	switch {
	case len(data) >= 4:
		value = *(*uint32)(unsafe.Pointer(&data[0])) //nolint:gosec // control messages are aligned
	case len(data) > 0:
		value = uint32(data[0])
	}
	switch {
	case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS, h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS:
		a.ecn = dissector.ECN(value & 3)
	case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO:
		a.segment = int(value)
	case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_RXQ_OVFL:
		r.drops = value
	}
}
