package capgen

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Sent is one packet that Opcodes wrote.
type Sent struct {
	Encapsulation Encapsulation
	Opcode        infiniband.Opcode
	DestinationQP uint32
	PSN           uint32
	PayloadLength uint32
}

// Opcodes writes one packet of every known opcode in every encapsulation, whose payloads have all lengths of
// pad, and returns them in their order.
func Opcodes(w io.Writer, format pcapfile.Format, seed uint64) ([]Sent, error) {
	cfg := Default()
	random := rand.New(rand.NewPCG(seed, 0x6f70)) //nolint:gosec // has to be the same again
	out := bufio.NewWriter(w)
	writer, err := pcapfile.NewWriter(out, format, pcapfile.WriterOptions{Nanosecond: true})
	if err != nil {
		return nil, err
	}
	b := newBuilder(random)
	var sent []Sent
	for e := range encapsulations {
		cfg.Encapsulations = []Encapsulation{e}
		c := newConnection(int(e), &cfg, random)
		for o := range 256 {
			opcode := infiniband.Opcode(o)
			if _, known := opcode.Headers(); !known {
				continue
			}
			p := packet{conn: c, time: c.now, opcode: opcode, psn: c.ends[0].psn, syndrome: noCreditLimit, ipID: uint16(o)}
			if opcode.CarriesPayload() {
				p.length = 61 + uint32(o)%7
			}
			if opcode.Operation() == infiniband.AtomicWrite && opcode.Service() == infiniband.ServiceRC {
				p.length = 8
			}
			c.ends[0].psn = (c.ends[0].psn + 1) & 0xffffff
			c.now += 1000
			frame := capture.Frame{Data: b.build(&p), Time: p.time, HasTime: true}
			if err := writer.WriteFrame(&frame); err != nil {
				return nil, err
			}
			sent = append(sent, Sent{e, opcode, c.ends[1].qpn, p.psn, p.length})
		}
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("generate capture: %w", err)
	}
	return sent, nil
}
