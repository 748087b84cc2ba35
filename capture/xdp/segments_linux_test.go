package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/internal/vethtest"
)

// offload is what a sender leaves to the NIC (struct virtio_net_hdr).
type offload struct {
	linear  uint16 // bytes of the frame in the first buffer
	segment uint16 // bytes of UDP's payload in each packet, 0: the frame is one packet
}

// sendInPieces puts frames on the cable in several buffers, to be cut by the NIC where that is asked for.
func sendInPieces(t *testing.T, at vethtest.End, o offload, frames ...[]byte) {
	t.Helper()
	header := make([]byte, 10)
	binary.NativeEndian.PutUint16(header[2:], o.linear)
	if o.segment != 0 {
		const needsChecksum, cutUDP = 1, 5
		header[0], header[1] = needsChecksum, cutUDP
		binary.NativeEndian.PutUint16(header[4:], o.segment)
		binary.NativeEndian.PutUint16(header[6:], 14+20)
		binary.NativeEndian.PutUint16(header[8:], 6)
	}
	var err error
	<-at.Go(t, func() {
		var i *net.Interface
		var fd int
		if i, err = net.InterfaceByName(at.Interface); err != nil {
			return
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1)
		to := unix.SockaddrLinklayer{Ifindex: i.Index, Protocol: 8} // ETH_P_IP, as on the wire
		for _, f := range frames {
			err = errors.Join(err, unix.Sendto(fd, slices.Concat(header, f), 0, &to))
		}
	})
	require.NoError(t, err)
}

// write is a packet in the middle of a WRITE.
func write(psn uint32, payload int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{7, 0, 0xff, 0xff, 0, 0, 0, 9}, psn)
	b = append(b, make([]byte, payload+4)...)
	udp := binary.BigEndian.AppendUint16([]byte{0xc0, 1, 0x12, 0xb7}, uint16(8+len(b)))
	return inIPv4(17, append(append(udp, 0, 0), b...))
}

// Frames that lie in several buffers are counted as others are, at each MTU, and where that changes meanwhile.
func TestFramesInPiecesAtAnyMTU(t *testing.T) {
	left, right := vethtest.Pair(t)
	in, out := opened(t, right, Options{}), opened(t, left, Options{})
	psn := uint32(1)
	for _, mtu := range []int{9000, 1500, 4200, 9000} {
		for _, e := range []vethtest.End{left, right} {
			e.IP(t, "link set", e.Interface, fmt.Sprint("mtu ", mtu))
		}
		payload := min(4096, (mtu-20-8-12-4)&^255)
		var frames [][]byte
		for range 10 {
			frames = append(frames, write(psn, payload))
			psn++
		}
		sendInPieces(t, left, offload{linear: 14}, frames...)
		for name, s := range map[string]*Source{"in": in, "out": out} {
			var r Record
			_, err := s.Sweep(func(each *Record) { r = *each })
			require.NoError(t, err)
			assert.EqualValues(t, 10, r.Packets, "%s, MTU %d", name, mtu)
			assert.EqualValues(t, 10*len(frames[0]), r.Bytes, name)
			assert.EqualValues(t, 10*payload, r.Payload, name)
			assert.Equal(t, Sequence{Known: true, DuplicatesKnown: true}, r.Sequence, name)
		}
	}
}

// A packet that a NIC is to cut is counted on its way out as what then comes in, but in no record: only its first part has
// headers where the program looks.
func TestSegmentsAreCountedAsOnTheWire(t *testing.T) {
	left, right := vethtest.Pair(t)
	out, in := opened(t, left, Options{}), opened(t, right, Options{})
	for _, s := range []*Source{in, out} {
		_, err := s.Sweep(func(*Record) {}) // what the kernel itself sends
		require.NoError(t, err)
	}
	const packets, segment = 7, 12 + 1024 + 4
	var payload []byte
	for psn := range uint32(packets) {
		payload = append(payload, write(psn, 1024)[42:]...)
	}
	udp := binary.BigEndian.AppendUint16([]byte{0xc0, 1, 0x12, 0xb7}, uint16(8+len(payload)))
	sendInPieces(t, left, offload{linear: 42, segment: segment}, inIPv4(17, append(append(udp, 0, 0), payload...)))
	l, err := out.Sweep(func(r *Record) { t.Errorf("%+v", r) })
	require.NoError(t, err)
	assert.EqualValues(t, packets, l.Others[Segmented])
	assert.EqualValues(t, packets*(42+segment), l.OtherBytes)
	var r Record
	_, err = in.Sweep(func(each *Record) { r = *each })
	require.NoError(t, err)
	assert.EqualValues(t, packets, r.Packets)
	assert.Equal(t, l.OtherBytes, r.Bytes)
	assert.EqualValues(t, 1024*packets, r.Payload)
}

// A million connections in a table of 66,666, on their way out, since a busy receiver loses packets before the programs: what
// finds no room comes by the ring, and each packet is in one record.
func TestMillionConnections(t *testing.T) {
	connections, chunk := 1_000_000, 100_000
	if os.Getenv("ROCELENS_RACE") != "" {
		connections, chunk = 40_000, 20_000 // the detector makes it slow; CI counts all of them without
	}
	left, _ := vethtest.Pair(t)
	s := opened(t, left, Options{Connections: chunk * 2 / 3, Ring: 1 << 26})
	seen := make([]uint8, connections)
	var sum Ledger
	for first := 0; first < connections; first += chunk {
		frames := make([][]byte, chunk)
		for i := range frames {
			frames[i] = write(0, 8)
			binary.BigEndian.PutUint32(frames[i][46:], uint32(first+i))
		}
		left.Send(t, frames)
		l, err := s.Sweep(func(r *Record) { seen[r.QP] += uint8(r.Packets) })
		require.NoError(t, err)
		sum.add(&l)
	}
	assert.EqualValues(t, connections, sum.RDMA)
	assert.Equal(t, sum.RDMA, sum.Counted)
	assert.Zero(t, sum.Others[Overflow])
	assert.Positive(t, sum.Spilled)
	others := slices.DeleteFunc(seen, func(packets uint8) bool { return packets == 1 })
	assert.Empty(t, others, "each connection has its packet")
}
