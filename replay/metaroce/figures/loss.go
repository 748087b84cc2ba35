package figures

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Loss is throughput under random loss of data and ACKs alike, one connection alone.
type Loss struct {
	Loss       float64
	MetaRoCE   float64 // bit/s of payload
	TailProbes float64 // with tail probes, which the profile does not have
	GoBackN    float64
}

// goBackNWindow is the window of a RoCEv2 sender, packets: four round trips of 100 Gbit/s.
const goBackNWindow = 128

// MeasureLoss runs both transports for the time after they have settled.
func (f Fabric) MeasureLoss(loss float64, d time.Duration) Loss {
	const settle = 3 * time.Millisecond
	row := Loss{Loss: loss}
	row.MetaRoCE = f.lossy(loss, settle, d, false)
	row.TailProbes = f.lossy(loss, settle, d, true)

	n := f.network(1, 1, loss)
	g, h := f.goBackN(n, 1), f.goBackN(n, 2)
	g.Open(1, 0, 50000, h.Address)
	n.Wake(n.Hosts[0])
	n.Run(settle, nil)
	before := h.Delivered(1)
	n.Run(settle+d, nil)
	row.GoBackN = rate(h.Delivered(1)-before, d)
	return row
}

func (f Fabric) lossy(loss float64, settle, d time.Duration, tails bool) float64 {
	n := f.network(1, 1, loss)
	a, b := f.end(n, 1, func(c *metaroce.Config) { c.TailProbe = tails }), f.end(n, 2, nil)
	a.bulk(n, a.connect(b, 0, 8, 1), 0)
	n.Run(settle, nil)
	before := b.total()
	n.Run(settle+d, nil)
	return rate(b.total()-before, d)
}

func rate(bytes uint64, d time.Duration) float64 { return float64(bytes) * 8 / d.Seconds() }

// goBackN is a host with RoCEv2 connections.
func (f Fabric) goBackN(n *simulation.Network, i int) *simulation.GoBackN {
	g := &simulation.GoBackN{Address: address(i), Rate: f.Rate, MTU: 4096, Window: goBackNWindow, Timeout: time.Millisecond}
	f.attach(n, g.Address, g)
	return g
}
