package injector

import (
	"bytes"

	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// Frames are what a tap at the vantage sees of one connection with the deviation: Ethernet header to ICRC, in order.
func (d *Deviation) Frames(v scenario.Vantage, seed uint64) (frames [][]byte, err error) {
	c := scenario.DefaultConfig()
	c.Seed, c.Vantage, c.Messages, c.MaxMessage = seed, v, 150, 8<<10
	d.set(newRig(&c))
	c.Tap = func(f scenario.Frame) { frames = append(frames, bytes.Clone(f.Data)) }
	run, err := scenario.New(c)
	if err != nil {
		return nil, err
	}
	run.Go()
	return frames, nil
}
