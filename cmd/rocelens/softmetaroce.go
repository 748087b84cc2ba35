package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

type softmetaroceCommand struct {
	Serve softmetaroceServeCommand `cmd:"" help:"Wait for peers and serve their transfers."`
	Send  softmetaroceSendCommand  `cmd:"" help:"Move data to or from a peer that serves, and compare what has landed."`
}

// endpointFlags are common to both ends.
type endpointFlags struct {
	Paths     int           `default:"8" placeholder:"N" help:"Paths of a connection, each with a source port of its own, 1 to 128 (${default})."`
	MTU       int           `name:"mtu" default:"0" placeholder:"BYTES" help:"Largest payload of a packet: 256, 512, 1024, 2048, 4096 or 8192. 0: what the way takes, at most 4096."`
	RTOMin    time.Duration `name:"rto-min" default:"10ms" placeholder:"TIME" help:"Least retransmission timeout (${default}; the profile has 1ms, which a busy host cannot keep)."`
	LinkRate  uint32        `default:"0" placeholder:"MBIT" help:"Inbound rate that is shared out among senders, Mbit/s. 0: no limit."`
	Impair    string        `placeholder:"LIST" help:"What to do to packets that are sent, such as loss=1%,delay=1ms,duplicate=1%,reorder=1%,mark=5%,blackhole=2@100,break=2@100."`
	Seed      uint64        `default:"0" placeholder:"N" help:"Seed of ids, ports and impairments. 0: random."`
	NoOffload bool          `help:"Let the kernel neither cut nor join datagrams, so that tcpdump sees each packet."`
	PCAP      string        `name:"pcap" type:"path" placeholder:"FILE" help:"Write what is sent and received to a capture, in front of the impairment."`
	JSON      bool          `name:"json" help:"Print reports as JSON, one a line."`
}

// config is the peer's configuration, and what has to be closed after it.
func (f *endpointFlags) config() (softmetaroce.Config, io.Closer, error) {
	c := softmetaroce.DefaultConfig()
	c.Paths, c.LinkRate, c.RTOMin, c.Offload = f.Paths, f.LinkRate, f.RTOMin, !f.NoOffload
	c.RTOInitial, c.RTOMax = max(c.RTOInitial, c.RTOMin), max(c.RTOMax, c.RTOMin)
	if f.MTU != 0 {
		c.MTU = f.MTU
	}
	var err error
	if c.Impairment, err = softmetaroce.ParseImpairment(f.Impair); err != nil {
		return c, nil, &exitError{exitUsage, fmt.Errorf("--impair: %w", err)}
	}
	c.Seed = f.Seed
	if c.Seed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		c.Seed = binary.NativeEndian.Uint64(b[:])
	}
	if f.PCAP == "" {
		return c, io.NopCloser(nil), nil
	}
	file, err := os.Create(f.PCAP)
	if err != nil {
		return c, nil, fmt.Errorf("create the capture: %w", err)
	}
	c.Capture = file
	return c, file, nil
}

// parsePeer reads HOST or HOST:PORT; a host is an address.
func parsePeer(text string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(a.Unmap(), mr0.Port), nil
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil || ap.Port() == 0 {
		return ap, &exitError{exitUsage, fmt.Errorf("%q is no address: write it as 192.0.2.1, 192.0.2.1:51791 or [2001:db8::1]:51791", text)}
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}

// parsePeers reads one address for each plane, all with the same port.
func parsePeers(texts []string) (addresses []netip.Addr, port uint16, err error) {
	for _, text := range texts {
		a, err := parsePeer(text)
		if err != nil {
			return nil, 0, err
		}
		if port != 0 && a.Port() != port {
			return nil, 0, &exitError{exitUsage, errors.New("all planes use the same port")}
		}
		addresses, port = append(addresses, a.Addr()), a.Port()
	}
	return addresses, port, nil
}

// fittingMTU is the largest payload that fits the MTU of a way, at most 4096.
func fittingMTU(way int, v6 bool) int {
	const headers = 28 + 16 + 20 + 12 + 4 + 4 // IPv4, UDP, the headers of a WRITE with an immediate, ICRC
	room := way - headers
	if v6 {
		room -= 20
	}
	mtu := 4096
	for mtu > 256 && mtu > room {
		mtu /= 2
	}
	return mtu
}

// liveLine is what a terminal shows while packets move.
func liveLine(l *softmetaroce.Live, since time.Time) string {
	done, seconds := l.Done.Load(), time.Since(since).Seconds()
	line := bytesText(done)
	if size := l.Size.Load(); size > 0 {
		line = fmt.Sprintf("%s of %s (%d %%)", line, bytesText(size), done*100/size)
	}
	return fmt.Sprintf("%s, %s, %s packets out, %s in, %s resent, %s marked CE", line, scale(float64(done)*8/max(seconds, 1e-9), "bit/s"),
		countText(l.Sent.Load()), countText(l.Received.Load()), countText(l.Retransmissions.Load()), countText(l.CE.Load()))
}

// showLive keeps one line on a terminal up to date until the returned function is called.
func showLive(std *streams, l *softmetaroce.Live) (stop func()) {
	if !std.ErrTTY {
		return func() {}
	}
	start := time.Now()
	return every(progressInterval, func() { fmt.Fprint(std.Err, eraseLine+liveLine(l, start)) }, func() { fmt.Fprint(std.Err, eraseLine) })
}
