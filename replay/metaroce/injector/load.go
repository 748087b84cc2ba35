package injector

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

func every(n int) func() bool {
	i := 0
	return func() bool { i++; return i%n == 0 }
}

// mixed is all operations in both directions.
func mixed(g *rig) {
	g.Room = 100 * 512 // a buffer that is too short ends the connection
	want := [2]int{}
	for n := 0; n < 3000; {
		n += g.PostOne(g.r, 0, uint16(g.r.IntN(3)), false, &want)
		if g.r.IntN(3) == 0 {
			n += g.PostOne(g.r, 0, uint16(g.r.IntN(3)), true, &want)
		}
		if g.r.IntN(5) == 0 {
			g.Run(time.Duration(g.r.IntN(60_000)), nil)
		}
	}
	for _, f := range g.Later {
		f()
	}
	g.Run(40*time.Millisecond, func() bool { return g.Done[0]+g.Done[1] >= want[0]+want[1] })
}

// paced is one WRITE of a packet every 20 µs.
func paced(g *rig) { g.Pace(1200, 20*time.Microsecond, metaroce.OperationWrite, 400) }

// bulk is long WRITEs.
func bulk(g *rig) { g.Pace(20, 0, metaroce.OperationWrite, 200*512) }

// long is more of them.
func long(g *rig) { g.Pace(60, 0, metaroce.OperationWrite, 200*512) }

// brisk is WRITEs of a few packets that never stop.
func brisk(g *rig) { g.Pace(500, 10*time.Microsecond, metaroce.OperationWrite, 4*512) }

// atomics are WRITEs and atomics in turn.
func atomics(g *rig) {
	for i := range 200 {
		s, err := g.Connections[0].Stream(1)
		if err != nil {
			return
		}
		q := metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 100), RemoteAddress: 1 << 33, RKey: 1}
		if i%2 == 1 {
			q = metaroce.WorkRequest{Operation: metaroce.OperationFetchAndAdd, RemoteAddress: 1 << 33, RKey: 2, SwapOrAdd: 1}
		}
		_ = s.Post(q)
		g.Net.Wake(g.Hosts[0])
		g.Run(10*time.Microsecond, nil)
	}
	g.Run(10*time.Millisecond, nil)
}

// reads are READs.
func reads(g *rig) { g.Pace(200, 10*time.Microsecond, metaroce.OperationRead, 3*512) }

// unready are SENDs whose buffers come late.
func unready(g *rig) {
	for range 150 {
		s, err := g.Connections[0].Stream(1)
		to, err2 := g.Accepted[0].Stream(1)
		if err != nil || err2 != nil {
			return
		}
		_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: make([]byte, 300)})
		g.Net.Wake(g.Hosts[0])
		g.Run(90*time.Microsecond, nil)
		_ = to.PostReceive(1, make([]byte, 300))
		g.Run(150*time.Microsecond, nil)
	}
}
