package figures

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Loss is throughput under random loss of data and ACKs alike, one connection alone, in bit/s of payload.
type Loss struct {
	Loss       float64
	MetaRoCE   float64 // with the profile's defaults
	ShortTimer float64 // with rto_min of [ShortRTO]
	TailProbes float64 // with tail probes, which the profile does not have
	GoBackN    float64
}

// ShortRTO is a rto_min for networks of short ways: the profile's 1 ms is a hundred of their round trips.
const ShortRTO = 100 * time.Microsecond

// goBackNWindow is the window of a RoCEv2 sender, packets: four round trips of 100 Gbit/s.
const goBackNWindow = 128

// lossSeeds is how many networks a figure is the mean of: a few timers more or less show in a single one.
const lossSeeds = 4

// settle is what passes before loss is measured: nothing of how windows open is in the figures.
const settle = 3 * time.Millisecond

// MeasureLoss runs both transports for the time after they have settled.
func (f Fabric) MeasureLoss(loss float64, d time.Duration) Loss {
	row := Loss{Loss: loss}
	for seed := range uint64(lossSeeds) {
		row.MetaRoCE += f.lossy(1+seed, loss, d, nil) / lossSeeds
		row.ShortTimer += f.lossy(1+seed, loss, d, func(c *metaroce.Config) { c.RTOMin = ShortRTO }) / lossSeeds
		row.TailProbes += f.lossy(1+seed, loss, d, func(c *metaroce.Config) { c.TailProbe = true }) / lossSeeds
		row.GoBackN += f.lossyGoBackN(1+seed, loss, d) / lossSeeds
	}
	return row
}

// MeasureKept is the share of throughput that the profile's defaults keep with so many paths.
func (f Fabric) MeasureKept(loss float64, paths int, d time.Duration) float64 {
	change := func(c *metaroce.Config) { c.Paths = paths }
	with, without := 0.0, 0.0
	for seed := range uint64(lossSeeds) {
		with += f.lossy(1+seed, loss, d, change)
		without += f.lossy(1+seed, 0, d, change)
	}
	return with / without
}

func (f Fabric) lossy(seed uint64, loss float64, d time.Duration, change func(c *metaroce.Config)) float64 {
	n := f.network(seed, 1, loss)
	paths := 0
	a := f.end(n, 1, func(c *metaroce.Config) {
		if change != nil {
			change(c)
		}
		paths = c.Paths
	})
	b := f.end(n, 2, nil)
	a.bulk(n, a.connect(b, 0, paths, 1), 0)
	n.Run(settle, nil)
	before := b.total()
	n.Run(settle+d, nil)
	return rate(b.total()-before, d)
}

func (f Fabric) lossyGoBackN(seed uint64, loss float64, d time.Duration) float64 {
	n := f.network(seed, 1, loss)
	g, h := f.goBackN(n, 1), f.goBackN(n, 2)
	g.Open(1, 0, 50000, h.Address)
	n.Wake(n.Hosts[0])
	n.Run(settle, nil)
	before := h.Delivered(1)
	n.Run(settle+d, nil)
	return rate(h.Delivered(1)-before, d)
}

func rate(bytes uint64, d time.Duration) float64 { return float64(bytes) * 8 / d.Seconds() }

// goBackN is a host with RoCEv2 connections.
func (f Fabric) goBackN(n *simulation.Network, i int) *simulation.GoBackN {
	g := &simulation.GoBackN{Address: address(i), Rate: f.Rate, MTU: 4096, Window: goBackNWindow, Timeout: time.Millisecond}
	f.attach(n, g.Address, g)
	return g
}
