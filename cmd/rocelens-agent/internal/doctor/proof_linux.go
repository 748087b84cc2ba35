package doctor

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/afpacket"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/tree"
)

// The packet of the proof is an ACK of the reliable connection, because nobody answers an ACK, whatever is in it. Its addresses are
// of TEST-NET-1 (RFC 5737), which no host has; its QPN is the last one; it lives for one hop; and it goes to the interface's own
// MAC address, so that a switch, which learnt that address from the same port, drops it.
const (
	proofQPN       = 0xfffffe
	proofPort      = 49152
	proofRing      = 2 << 20
	ipv4Length     = 20
	udpLength      = 8
	ethernetLength = 14
	hardwareLength = 6
	psnBits        = 24
	bareIP         = "65534" // ARPHRD_NONE, such as tun
)

var (
	proofSource      = [4]byte{192, 0, 2, 1}
	proofDestination = [4]byte{192, 0, 2, 2}
)

// proofFrame is the packet. The PSN tells it from that of another doctor.
func proofFrame(mac net.HardwareAddr, psn uint32) []byte {
	var b []byte
	if len(mac) == hardwareLength {
		b = append(append(b, mac...), mac...)
	} else {
		b = append(b, make([]byte, 2*hardwareLength)...) // the loopback has none
	}
	b = binary.BigEndian.AppendUint16(b, unix.ETH_P_IP)
	const length = ipv4Length + udpLength + infiniband.BTHLength + infiniband.AETHLength + infiniband.ICRCLength
	b = append(b, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, length)
	b = append(b, 0, 0, 0x40, 0, 1, unix.IPPROTO_UDP, 0, 0) // no fragments, one hop
	b = append(append(b, proofSource[:]...), proofDestination[:]...)
	binary.BigEndian.PutUint16(b[ethernetLength+10:], checksum(b[ethernetLength:]))
	b = binary.BigEndian.AppendUint16(b, proofPort)
	b = binary.BigEndian.AppendUint16(b, dissector.PortRoCEv2)
	b = binary.BigEndian.AppendUint16(b, length-ipv4Length)
	b = append(b, 0, 0)
	b = infiniband.BTH{Opcode: infiniband.RCAcknowledge, PartitionKey: 0xffff, DestinationQP: proofQPN, PSN: psn}.AppendTo(b)
	b = infiniband.AETH{}.AppendTo(b)
	icrc, _ := dissector.ComputeICRC(dissector.ProtocolRoCEv2, b[ethernetLength:])
	return binary.LittleEndian.AppendUint32(b, icrc)
}

// checksum is that of an IPv4 header without options.
func checksum(header []byte) uint16 {
	var sum uint32
	for i := 0; i < ipv4Length; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	sum = sum&0xffff + sum>>16
	return ^uint16(sum&0xffff + sum>>16)
}

// prove opens a capture as the agent does, and looks for one packet.
func (e *examination) prove(ctx context.Context) error {
	name := e.options.Interface
	source, err := afpacket.Open(name, afpacket.Options{RingBytes: proofRing})
	if err != nil {
		e.add("proof", Problem, "a capture cannot be opened: "+err.Error(), whyNot(name, err))
		return nil
	}
	e.CanCapture = true
	psn := rand.Uint32N(1 << psnBits) //nolint:gosec // only to be unlike that of another run
	e.Proof.Kind = "listened"
	if e.options.Send {
		e.Proof.Kind = "sent"
		frame := proofFrame(e.link.HardwareAddr, psn)
		if e.sysfs("type") == bareIP {
			frame = frame[ethernetLength:]
		}
		if err := send(e.link, frame); err != nil {
			e.CanCapture = false
			e.add("proof", Problem, "the packet cannot be sent: "+err.Error(), "")
			return source.Close()
		}
	}
	var came arrival
	wanted := func(p *dissector.Packet) bool {
		came = arrival{p.Tunnel, len(p.Payload()) < int(p.PayloadLength)}
		return !e.options.Send || p.BTH.PSN == psn && p.BTH.DestinationQP == proofQPN && p.Network.Source.Addr().As4() == proofSource
	}
	e.Proof.Packet, e.Proof.Seen, err = await(ctx, source, e.options.Wait, wanted)
	switch {
	case err != nil:
		e.CanCapture = false
		e.add("proof", Problem, "the capture ended: "+err.Error(), whyNot(name, err))
	case e.Proof.Seen && e.options.Send:
		e.add("proof", OK, "the packet that was sent was captured on its way out", "")
	case e.Proof.Seen:
		e.add("proof", OK, "an RDMA packet was captured", "")
		e.arrived(&came)
	case e.options.Send:
		e.CanCapture = false
		e.add("proof", Problem, fmt.Sprintf("the packet that was sent was not captured within %s", e.options.Wait), "report this, with the kernel and the driver named above")
	default:
		e.add("proof", Note, fmt.Sprintf("no RDMA packet came within %s, though the capture works", e.options.Wait), "run it again under traffic, or with --send, which sends one packet that no host takes")
	}
	return ctx.Err()
}

// arrival is how a packet came here.
type arrival struct {
	tunnel dissector.Tunnel
	cut    bool // its payload was not all there
}

// arrived reports what a packet that came in a tunnel, as a mirror's copies do, tells of the mirror.
func (e *examination) arrived(a *arrival) {
	if a.tunnel.Depth == 0 {
		return
	}
	says := "it came in " + a.tunnel.Type.String()
	if outer := &a.tunnel.Outer; outer.Version != 0 {
		says += fmt.Sprintf(" from %s to %s", outer.Source, outer.Destination)
	}
	switch {
	case a.tunnel.Outer.Fragment:
		e.add("mirror", Note, says+", and in IP fragments, of which only the first is decoded: whether the ICRC is right cannot be told",
			"raise the MTU on the way from the switch to this host, or let the switch cut its copies")
	case a.cut:
		e.add("mirror", Note, says+", cut short: it is counted by its length before, but whether the ICRC is right cannot be told", "")
	default:
		e.add("mirror", OK, says+", the headers of which the agent takes off", "")
	}
}

// await reads until a wanted packet came or time is up, and closes the source.
func await(ctx context.Context, source capture.Source, wait time.Duration, wanted func(*dissector.Packet) bool) (line string, seen bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- source.Close() }) // which ends Next
	var batch capture.Batch
	var packet dissector.Packet
	for !seen && err == nil {
		if err = source.Next(&batch); err != nil {
			break
		}
		line, seen = first(&batch, &packet, wanted)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if stop() {
		return line, seen, errors.Join(err, source.Close())
	}
	return line, seen, errors.Join(err, <-closed)
}

// first is the first wanted RDMA packet of a batch, in one line.
func first(batch *capture.Batch, p *dissector.Packet, wanted func(*dissector.Packet) bool) (string, bool) {
	for i := range batch.Frames {
		f := &batch.Frames[i]
		err := dissector.Decode(f.Data, dissector.Meta{OriginalLength: f.OriginalLength, LinkType: dissector.LinkType(f.LinkType)}, p)
		if !p.IsRDMA() && p.Protocol != dissector.ProtocolMetaRoCE || !wanted(p) {
			continue
		}
		s := tree.Summary(p, err)
		return fmt.Sprintf("%s > %s %s %s", s.Source, s.Destination, s.Protocol, s.Info), true
	}
	return "", false
}

// send puts one frame on the wire.
func send(link *net.Interface, frame []byte) error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var order [2]byte
	binary.BigEndian.PutUint16(order[:], unix.ETH_P_IP)
	err = unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: link.Index, Protocol: binary.NativeEndian.Uint16(order[:])})
	return errors.Join(err, unix.Close(fd))
}
