package compliance_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/compliance"
)

// datagram is one on its way through a proxy. A hook that changes the packet or the payload sets changed.
type datagram struct {
	mr0.Packet

	data    []byte // UDP payload with its ICRC
	payload []byte
	port    uint16 // source port
	ecn     dissector.ECN
	err     error // of the decoder
	wrong   uint32
	changed bool
}

// hook sees a datagram on its way and passes on what is to go on.
type hook func(d *datagram, pass func(*datagram))

// proxy stands between the suite and what is served, and takes its address. It breaks datagrams in either direction:
// what it makes of the target's words and of what the target hears is a broken target to the suite.
type proxy struct {
	t        *testing.T
	network  [3]byte
	in, out  hook // towards the target, and from it
	lock     sync.Mutex
	sockets  map[netip.AddrPort]*compliance.Socket
	recent   []netip.AddrPort
	listener [2]*compliance.Socket // for the suite, and for the target
}

// The hosts of a network: the proxy in the target's place, the suite, the target, and the proxy in the suite's place.
const (
	placeOfTarget = iota + 1
	placeOfSuite
	targetBehind
	suiteBehind
)

// interpose runs a proxy until the test ends.
func interpose(t *testing.T, n [3]byte, in, out hook) {
	t.Helper()
	p := &proxy{t: t, network: n, in: in, out: out, sockets: map[netip.AddrPort]*compliance.Socket{}}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i, at := range []byte{placeOfTarget, suiteBehind} {
		s, err := compliance.OpenSocket(ctx, netip.AddrPortFrom(host(n, at), mr0.Port))
		if err != nil {
			t.Fatal(err)
		}
		p.listener[i] = s
		running.Go(func() { p.run(ctx, s, i == 0) })
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
		for _, s := range p.sockets {
			s.Close()
		}
		p.listener[0].Close()
		p.listener[1].Close()
	})
}

// run passes on what one side sends.
func (p *proxy) run(ctx context.Context, s *compliance.Socket, inwards bool) {
	from, here, to, as := byte(placeOfSuite), byte(placeOfTarget), byte(targetBehind), byte(suiteBehind)
	change := p.in
	if !inwards {
		from, here, to, as = targetBehind, suiteBehind, placeOfSuite, placeOfTarget
		change = p.out
	}
	for ctx.Err() == nil {
		data, source, ecn, ok, err := s.Receive(time.Now().Add(50 * time.Millisecond))
		if err != nil {
			p.t.Errorf("proxy: %v", err)
			return
		}
		if !ok || source.Addr() != host(p.network, from) {
			continue
		}
		d := &datagram{data: data, port: source.Port(), ecn: ecn}
		d.err = mr0.Decode(data, &d.Packet)
		if len(data) >= metaroce.ICRCLength {
			right := metaroce.AppendUDPPseudoICRC(append([]byte(nil), data[:len(data)-4]...), 0, source, netip.AddrPortFrom(host(p.network, here), mr0.Port))
			for i, b := range right[len(right)-4:] {
				d.wrong |= uint32(b^data[len(data)-4+i]) << (8 * i)
			}
		}
		if d.err == nil {
			d.payload = append([]byte(nil), d.Payload(data)...)
		}
		pass := func(d *datagram) { p.pass(d, as, to) } //nolint:contextcheck // its sockets live until the test ends
		p.lock.Lock()
		if change == nil {
			pass(d)
		} else {
			change(d, pass)
		}
		p.lock.Unlock()
	}
}

// pass sends a datagram on, with an ICRC that is as right or as wrong as it was.
func (p *proxy) pass(d *datagram, as, to byte) {
	source := netip.AddrPortFrom(host(p.network, as), d.port)
	destination := netip.AddrPortFrom(host(p.network, to), mr0.Port)
	s := p.socket(source)
	if s == nil {
		return
	}
	data := d.data
	if d.changed {
		data = append(d.AppendHeaders(nil), d.payload...)
		data = append(data, 0, 0, 0, 0)
	}
	if len(data) >= metaroce.ICRCLength {
		data = metaroce.AppendUDPPseudoICRC(append([]byte(nil), data[:len(data)-4]...), 0, source, destination)
		for i := range 4 {
			data[len(data)-4+i] ^= byte(d.wrong >> (8 * i))
		}
	}
	if err := s.Send(destination, data, d.ecn); err != nil {
		p.t.Errorf("proxy: %v", err)
	}
}

// socket is bound to that address; those not used for longest are closed when there are many.
func (p *proxy) socket(name netip.AddrPort) *compliance.Socket {
	if name.Port() == mr0.Port {
		if name.Addr() == host(p.network, placeOfTarget) {
			return p.listener[0]
		}
		return p.listener[1]
	}
	if s := p.sockets[name]; s != nil {
		return s
	}
	if len(p.recent) >= 200 {
		p.sockets[p.recent[0]].Close()
		delete(p.sockets, p.recent[0])
		p.recent = p.recent[1:]
	}
	s, err := compliance.OpenSocket(context.Background(), name)
	if err != nil {
		p.t.Errorf("proxy: %v", err)
		return nil
	}
	p.sockets[name] = s
	p.recent = append(p.recent, name)
	return s
}
