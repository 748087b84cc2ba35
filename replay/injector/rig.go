package injector

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// packet is a frame on its way out of, or into, a host.
type packet struct {
	now   time.Duration
	host  *scenario.Host
	frame []byte
	build.Frame
}

// hook takes the place of a packet; pass leaves it alone.
type hook func(p *packet) []scenario.Delayed

func pass(p *packet) []scenario.Delayed { return scenario.Pass(p.frame) }

// rig is a run in which one endpoint deviates. The client is the requester, the server the responder, unless a
// deviation says otherwise.
type rig struct {
	random *rand.Rand
	salt   uint64
	config *scenario.Config
	// originals has what the peer gets of a frame that the tap sees altered, by BTH and what follows; nil: nothing.
	originals map[string][]byte
	count     int // deviations

	out, in map[bool]hook // by whether the host is the server
	sent    map[uint32][]byte
	last    uint32 // PSN
	number  int
}

func newRig(c *scenario.Config) *rig {
	g := &rig{
		random: rand.New(rand.NewPCG(c.Seed, 99)), salt: c.Seed, config: c, //nolint:gosec // repeats by its seed
		originals: map[string][]byte{}, out: map[bool]hook{}, in: map[bool]hook{}, sent: map[uint32][]byte{},
	}
	c.Egress = func(now time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
		return g.run(g.out[h.Server], now, h, frame)
	}
	c.Ingress = func(now time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
		if original, ok := g.originals[key(frame)]; ok {
			if original == nil {
				return nil
			}
			frame = append([]byte(nil), original...)
		}
		return g.run(g.in[h.Server], now, h, frame)
	}
	return g
}

func (g *rig) run(f hook, now time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
	if f == nil {
		return scenario.Pass(frame)
	}
	d, err := scenario.Describe(frame)
	if err != nil {
		return scenario.Pass(frame)
	}
	return f(&packet{now: now, host: h, frame: frame, Frame: d})
}

// key is what the network does not change of a frame over IPv4.
func key(frame []byte) string { return string(frame[min(len(frame), 42):]) }

func (p *packet) build(change func(f *build.Frame)) []byte {
	f := p.Frame
	f.Payload = append([]byte(nil), f.Payload...)
	change(&f)
	b, err := f.AppendTo(nil)
	if err != nil {
		panic(fmt.Sprintf("injector: %v", err)) // it changes neither addresses nor lengths beyond what a frame holds
	}
	return b
}

// disguised is the packet as the tap is to see it; the peer gets what it was.
func (g *rig) disguised(p *packet, change func(f *build.Frame)) []scenario.Delayed {
	seen := p.build(change)
	g.count++
	g.originals[key(seen)] = p.frame
	return scenario.Pass(seen)
}

// forged is one more packet, made of this one, that the tap sees and the peer does not get.
func (g *rig) forged(p *packet, after time.Duration, change func(f *build.Frame)) scenario.Delayed {
	g.number++
	seen := p.build(func(f *build.Frame) {
		f.ID += 0x4000 + uint16(g.number)
		change(f)
	})
	g.count++
	g.originals[key(seen)] = nil
	return scenario.Delayed{After: after, Data: seen}
}

// chosen tells by PSN, so that what is sent again deviates again.
func (g *rig) chosen(psn uint32, share float64) bool {
	h := (uint64(psn) + g.salt<<24 + 1) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return float64(h>>11)/(1<<53) < share
}

// requests disguises requests of the client for which want holds.
func (g *rig) requests(share float64, want func(o infiniband.Opcode) bool, change func(f *build.Frame)) {
	g.out[false] = g.altered(share, func(p *packet) bool { return p.BTH.Opcode.IsRequest() && p.managed() == nil && want(p.BTH.Opcode) }, change)
}

// answers disguises answers of the server.
func (g *rig) answers(share float64, want func(p *packet) bool, change func(f *build.Frame)) {
	g.out[true] = g.altered(share, want, change)
}

func (g *rig) altered(share float64, want func(p *packet) bool, change func(f *build.Frame)) hook {
	return func(p *packet) []scenario.Delayed {
		if !want(p) || !g.chosen(p.BTH.PSN, share) {
			return pass(p)
		}
		return g.disguised(p, change)
	}
}

func (p *packet) acks() bool { return p.BTH.Opcode.IsAck() && p.AETH.Syndrome.IsACK() }

func (p *packet) naks() bool {
	return p.BTH.Opcode.IsAck() && p.AETH.Syndrome.IsNAK() && p.AETH.Syndrome.NAKCode() == infiniband.NAKPSNSequenceError
}

// managed is what the connection manager says in the packet, from the MAD header on; nil: nothing.
func (p *packet) managed() []byte {
	if p.BTH.DestinationQP != infiniband.GeneralServicesQP {
		return nil
	}
	return p.Payload
}

func anyRequest(infiniband.Opcode) bool { return true }
