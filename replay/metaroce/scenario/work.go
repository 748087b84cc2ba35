package scenario

import (
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// PostOne posts one request to a connection and tells how many packets it takes.
func (w *World) PostOne(r *rand.Rand, sender int, stream uint16, back bool, want *[2]int) int {
	from, to := w.Connections[sender], w.Accepted[sender]
	host := sender
	if back {
		from, to, host = to, from, len(w.Nodes)-1
	}
	mtu := from.MTU()
	if mtu == 0 {
		return 1
	}
	size := 0
	switch r.IntN(5) {
	case 0:
		size = r.IntN(64)
	case 1:
		size = mtu * r.IntN(4)
	case 2:
		size = r.IntN(100 * mtu)
	default:
		size = r.IntN(12 * mtu)
	}
	q := metaroce.WorkRequest{RemoteAddress: 1<<33 + uint64(8*r.IntN(1000)), RKey: 1, HasImmediate: r.IntN(4) == 0, Solicited: r.IntN(5) == 0}
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		q.Operation, q.Data = metaroce.OperationWrite, make([]byte, size)
	case 4, 5:
		q.Operation, q.Data = metaroce.OperationSend, make([]byte, size)
		s, err := to.Stream(stream)
		if err != nil {
			return 1
		}
		if r.IntN(6) != 0 {
			if s.PostReceive(1, make([]byte, max(size, w.Room))) != nil {
				return 1
			}
		} else {
			w.Later = append(w.Later, func() { _ = s.PostReceive(1, make([]byte, max(size, w.Room))) })
		}
		want[0]++
	case 6:
		q.Operation, q.Data = metaroce.OperationRead, make([]byte, size)
	default:
		q.Operation, q.RKey, q.RemoteAddress, q.SwapOrAdd = metaroce.OperationFetchAndAdd, 2, 1<<33+uint64(8*r.IntN(8)), 1
	}
	want[0]++
	s, err := from.Stream(stream)
	if err != nil || s.Post(q) != nil {
		return 1
	}
	w.Net.Wake(w.Hosts[host])
	if len(w.Later) > 0 && r.IntN(3) == 0 {
		w.Run(time.Duration(r.IntN(400_000)), nil)
		for _, f := range w.Later {
			f()
		}
		w.Later = nil
	}
	return 1 + size/mtu
}

// Pace posts requests of the first sender, so far apart, over three streams, and lets them end when there is more than one.
func (w *World) Pace(n int, apart time.Duration, o metaroce.Operation, size int) {
	for i := range n {
		s, err := w.Connections[0].Stream(uint16(i % 3))
		if err != nil {
			return
		}
		if o == metaroce.OperationSend {
			if to, err := w.Accepted[0].Stream(uint16(i % 3)); err == nil {
				_ = to.PostReceive(1, make([]byte, size))
			}
		}
		_ = s.Post(metaroce.WorkRequest{Operation: o, Data: make([]byte, size), RemoteAddress: 1 << 33, RKey: 1})
		w.Net.Wake(w.Hosts[0])
		w.Run(apart, nil)
	}
	if n > 1 {
		w.Run(60*time.Millisecond, nil)
	}
}

// Back posts work on the receiver's side.
func (w *World) Back(n int) {
	for range n {
		if s, err := w.Accepted[0].Stream(1); err == nil {
			_ = s.Post(metaroce.WorkRequest{Operation: metaroce.OperationWrite, Data: make([]byte, 500), RemoteAddress: 1 << 33, RKey: 1})
		}
	}
	w.Net.Wake(w.Hosts[1])
}
