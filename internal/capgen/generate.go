package capgen

import (
	"bufio"
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector/build"
)

// Generate writes a capture and returns the truth about it. The same Config makes the same bytes.
func Generate(w io.Writer, format pcapfile.Format, cfg Config) (Truth, error) {
	if err := cfg.complete(); err != nil {
		return Truth{}, fmt.Errorf("generate capture: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<20)
	options := pcapfile.WriterOptions{Nanosecond: true, LinkType: cfg.Link.linkType()}
	if cfg.Interface != "" {
		options.Interfaces = []pcapfile.WriterInterface{{Name: cfg.Interface, LinkType: options.LinkType}}
	}
	writer, err := pcapfile.NewWriter(out, format, options)
	if err != nil {
		return Truth{}, err
	}
	random := rand.New(rand.NewPCG(cfg.Seed, 0x726f6365)) //nolint:gosec // has to be the same again
	g := generator{cfg: &cfg, builder: newBuilder(random), writer: writer}
	g.burst = burst{cfg: &cfg, random: random, truth: &g.truth}
	g.truth.Connections = uint64(cfg.Connections)
	for i := range cfg.Connections {
		c := newConnection(i, &cfg, random)
		g.burst.run(c)
		g.planned += len(c.queue)
		g.order = append(g.order, c)
	}
	heap.Init(&g.order)
	if err := g.run(); err != nil {
		return Truth{}, fmt.Errorf("generate capture: %w", err)
	}
	if err := out.Flush(); err != nil {
		return Truth{}, fmt.Errorf("generate capture: %w", err)
	}
	return g.truth, nil
}

type generator struct {
	cfg     *Config
	truth   Truth
	burst   burst
	builder *builder
	writer  *pcapfile.Writer
	order   byTime
	planned int
	frame   capture.Frame
	link    []byte // the frame's bytes on a link other than Ethernet
}

// run merges the connections by time.
func (g *generator) run() error {
	for len(g.order) > 0 {
		c := g.order[0]
		p := &c.queue[c.head]
		c.head++
		if err := g.write(p.time, g.builder.build(p)); err != nil {
			return err
		}
		g.truth.RDMAPackets++
		if g.cfg.Background > 0 && g.truth.RDMAPackets%uint64(g.cfg.Background) == 0 {
			if err := g.write(p.time, g.builder.background(p, g.truth.NotRDMA)); err != nil {
				return err
			}
			g.truth.NotRDMA++
		}
		if c.head == len(c.queue) && g.planned < g.cfg.Packets {
			g.burst.run(c)
			g.planned += len(c.queue)
		}
		if c.head == len(c.queue) {
			heap.Pop(&g.order)
			continue
		}
		heap.Fix(&g.order, 0)
	}
	return nil
}

func (g *generator) write(t int64, data []byte) error {
	g.frame.Data, g.frame.Time, g.frame.HasTime = g.onLink(t, data), t, true
	g.truth.Packets++
	return g.writer.WriteFrame(&g.frame)
}

// onLink gives an Ethernet frame the form in which the link's captures have it; it is valid until the next call.
func (g *generator) onLink(t int64, data []byte) []byte {
	const header, second = 14, 1_000_000_000
	cooked := build.SLL{PacketType: 4, Hardware: 1, AddressLength: 6, Protocol: uint16(data[12])<<8 | uint16(data[13]), Interface: 2}
	copy(cooked.Address[:], data[6:12])
	switch g.cfg.Link {
	case LinkSLL:
		g.link = cooked.AppendTo(g.link[:0], data[header:])
	case LinkSLL2:
		g.link = cooked.AppendVersion2(g.link[:0], data[header:])
	case LinkERF:
		const varying = 4 // the flag of records whose lengths differ
		stamp := uint64(t/second)<<32 | uint64(t%second)<<32/second
		g.link = build.ERF{Timestamp: stamp, Type: build.ERFEthernet, Flags: varying}.AppendTo(g.link[:0], data)
	case LinkEthernet, links:
		return data
	}
	return g.link
}

// background returns a frame of another protocol between the hosts of p: ARP and TCP take turns.
func (b *builder) background(p *packet, n uint64) []byte {
	from, to := &p.conn.ends[0], &p.conn.ends[1]
	f := b.frame[:0]
	f = append(f, to.mac[:]...)
	f = append(f, from.mac[:]...)
	source, destination := address(IPv4, 10, 16, uint16(n%hosts)), address(IPv4, 10, 17, uint16(n%hosts))
	if n%2 == 0 {
		f = be16(f, 0x0806, 1, etherIPv4, 0x0604, 1)
		f = append(f, from.mac[:]...)
		f = append(f, source[12:]...)
		f = append(f, 0, 0, 0, 0, 0, 0)
		f = append(f, destination[12:]...)
		f = append(f, make([]byte, 18)...) // Ethernet's shortest frame
	} else {
		f = be16(f, etherIPv4)
		f = ipv4(f, 0, uint16(n), 6, source, destination, 20)
		f = be16(f, 40000, 22, 0, 1, 0, 1, 0x5010, 1024, 0, 0)
		f = append(f, 0, 0, 0, 0, 0, 0)
	}
	b.frame = f
	return f
}

// byTime is a heap of connections by the time of their next packet; it never holds one without packets.
type byTime []*connection

func (h byTime) Len() int { return len(h) }

func (h byTime) Less(i, j int) bool {
	return h[i].queue[h[i].head].time < h[j].queue[h[j].head].time
}

func (h byTime) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is part of heap.Interface.
func (h *byTime) Push(x any) {
	if c, ok := x.(*connection); ok {
		*h = append(*h, c)
	}
}

// Pop is part of heap.Interface.
func (h *byTime) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
