package softmetaroce

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
)

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	protocolUDP   = 17
	udpHeader     = 8
)

// recorder writes datagrams to a nanosecond pcap file, with Ethernet, IP and UDP headers built anew: the kernel keeps
// those that were on the wire. Addresses, ports, lengths, ECN and all that lies behind are what they were; MAC
// addresses, TTL and IP identification are made up.
type recorder struct {
	buffered *bufio.Writer
	writer   *pcapfile.Writer
	frame    []byte
	datagram []byte
	err      error
}

func newRecorder(w io.Writer) (*recorder, error) {
	r := &recorder{buffered: bufio.NewWriterSize(w, 1<<20)}
	var err error
	r.writer, err = pcapfile.NewWriter(r.buffered, pcapfile.FormatPcap, pcapfile.WriterOptions{Nanosecond: true})
	return r, err
}

// add writes a datagram; time is ns since the Unix epoch. An error is kept for close.
func (r *recorder) add(time int64, source, destination netip.AddrPort, ecn dissector.ECN, payload []byte) {
	if r.err != nil {
		return
	}
	r.datagram = appendUDP(r.datagram[:0], source, destination, payload)
	var etherType uint16 = etherTypeIPv6
	if source.Addr().Is4() {
		etherType = etherTypeIPv4
	}
	r.frame = build.Ethernet(r.frame[:0], mac(destination.Addr()), mac(source.Addr()), etherType, nil)[:14]
	r.frame = build.IP{Source: source.Addr(), Destination: destination.Addr(), ECN: ecn}.AppendIP(r.frame, protocolUDP, r.datagram)
	r.err = r.writer.WriteFrame(&capture.Frame{Data: r.frame, Time: time, HasTime: true})
}

// close writes what is buffered.
func (r *recorder) close() error {
	err := r.err
	if err == nil {
		err = r.buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("write the capture: %w", err)
	}
	return nil
}

// mac is a locally administered address made of the last four bytes of an IP address.
func mac(a netip.Addr) [6]byte {
	b := a.AsSlice()
	m := [6]byte{0x02}
	copy(m[2:], b[len(b)-4:])
	return m
}

// appendUDP appends a UDP header with its checksum (RFC 768; RFC 8200, section 8.1), and the payload.
func appendUDP(b []byte, source, destination netip.AddrPort, payload []byte) []byte {
	from := len(b)
	b = binary.BigEndian.AppendUint16(b, source.Port())
	b = binary.BigEndian.AppendUint16(b, destination.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(udpHeader+len(payload)))
	b = append(b, 0, 0)
	b = append(b, payload...)
	sum := add16(0, source.Addr().AsSlice())
	sum = add16(sum, destination.Addr().AsSlice())
	sum = add16(sum+protocolUDP+uint64(len(b)-from), b[from:])
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	checksum := ^uint16(sum)
	if checksum == 0 {
		checksum = 0xffff // 0 would say that there is none
	}
	binary.BigEndian.PutUint16(b[from+6:], checksum)
	return b
}

// add16 adds big-endian words; adding wider ones is the same modulo 65,535 (RFC 1071, section 2).
func add16(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}
