package figures

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Planes is throughput over several planes.
type Planes struct {
	Planes      int
	Connections int
	MetaRoCE    float64 // bit/s of payload, all hosts together
	GoBackN     float64
	Jain        float64 // of the MetaRoCE connections' bytes
}

// MeasurePlanes lets hosts send to their neighbours in a ring over so many connections in all.
func (f Fabric) MeasurePlanes(planes, hosts, connections int, d time.Duration) Planes {
	const settle = 2 * time.Millisecond
	row := Planes{Planes: planes, Connections: connections}
	n := f.network(5, planes, 0)
	var ends []*end
	for i := range hosts {
		ends = append(ends, f.end(n, i, func(c *metaroce.Config) { c.InitialWindow = 1 }))
	}
	for key := range connections {
		x := ends[key%hosts]
		c := x.connect(ends[(key+1)%hosts], uint32(key), 8, planes)
		x.bulk(n, c, uint32(key))
	}
	n.Run(settle, nil)
	before := make([]uint64, connections)
	placed := func(key int) uint64 {
		if p := ends[(key+1)%hosts].placed; key < len(p) {
			return p[key]
		}
		return 0
	}
	for key := range before {
		before[key] = placed(key)
	}
	n.Run(settle+d, nil)
	shares := make([]float64, connections)
	sum := uint64(0)
	for key := range shares {
		shares[key] = float64(placed(key) - before[key])
		sum += placed(key) - before[key]
	}
	row.MetaRoCE, row.Jain = rate(sum, d), Jain(shares)
	row.GoBackN = f.planesGoBackN(planes, hosts, connections, settle, d)
	return row
}

func (f Fabric) planesGoBackN(planes, hosts, connections int, settle, d time.Duration) float64 {
	n := f.network(5, planes, 0)
	var nodes []*simulation.GoBackN
	for i := range hosts {
		nodes = append(nodes, f.goBackN(n, i))
	}
	for key := range connections {
		g := nodes[key%hosts]
		g.Window = 16 // many connections share a host
		g.Open(uint32(key), uint8(key/hosts%planes), uint16(key), nodes[(key+1)%hosts].Address)
	}
	for _, h := range n.Hosts {
		n.Wake(h)
	}
	total := func() uint64 {
		sum := uint64(0)
		for key := range connections {
			sum += nodes[(key+1)%hosts].Delivered(uint32(key))
		}
		return sum
	}
	n.Run(settle, nil)
	before := total()
	n.Run(settle+d, nil)
	return rate(total()-before, d)
}
