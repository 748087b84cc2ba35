package replay

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rocelens/rocelens/dissector"
)

const nic = 99 // last byte of the address of the sender of CNPs

// cnp is one of the sender's CNPs.
func cnp(destination byte, qp uint32, at time.Duration) *dissector.Packet {
	var p dissector.Packet
	p.Meta.HasTime, p.Meta.Time = true, int64(at)+1
	p.Network.Source[15], p.Network.Destination[15] = nic, destination
	p.BTH.DestinationQP = qp
	return &p
}

// notify lets a NIC that limits its CNPs see marks on packets of four QPs of each destination.
func notify(destinations int, interval, marks time.Duration, missed float64, limit func(destination byte, qp uint32) uint32) *notifiers {
	r := rand.New(rand.NewPCG(1, uint64(interval)))
	n := newNotifiers()
	sent := map[uint32]time.Duration{}
	for at := time.Second; at < 2*time.Second; at += time.Duration(r.ExpFloat64() * float64(marks)) {
		destination, qp := byte(r.IntN(destinations)+1), uint32(r.IntN(4))
		key := limit(destination, qp)
		if before, ok := sent[key]; ok && at-before < interval {
			continue
		}
		sent[key] = at
		if r.Float64() < missed {
			continue
		}
		n.observe(cnp(destination, qp, at+time.Duration(r.IntN(300))))
	}
	return &n
}

func perQP(destination byte, qp uint32) uint32         { return uint32(destination)<<8 | qp }
func perDestination(destination byte, _ uint32) uint32 { return uint32(destination) }
func perPort(byte, uint32) uint32                      { return 0 }

func TestWhatTheIntervalOfCNPsCountsFor(t *testing.T) {
	var source dissector.Address
	source[15] = nic
	for _, test := range []struct {
		name         string
		destinations int
		marks        time.Duration // between two
		limit        func(byte, uint32) uint32
		want         string
	}{
		{"a QP, of several destinations", 4, time.Microsecond, perQP, "per QP"},
		{"a QP, of one destination", 1, time.Microsecond, perQP, "per QP"},
		{"a destination", 4, time.Microsecond, perDestination, "per destination address"},
		{"a destination, the only one", 1, time.Microsecond, perDestination, "per destination address or per port"},
		{"the port", 4, time.Microsecond, perPort, "per port"},
		{"the port, with one destination", 1, time.Microsecond, perPort, "per destination address or per port"},
		{"marks are rarer than any limit", 4, 5 * time.Millisecond, perQP, ""},
		{"marks are rarer than the port's limit", 4, 5 * time.Millisecond, perPort, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, missed := range []float64{0, 0.001, 0.01, 0.1} {
				n := notify(test.destinations, 50*time.Microsecond, test.marks, missed, test.limit)
				assert.Equal(t, test.want, n.scope(source), "%v of the CNPs missed", missed)
				if test.want != "" {
					assert.InDelta(t, 50, n.interval(source).Microseconds(), 2)
				}
			}
		})
	}
}

// QPs that take turns do not tell whether they share a limit or are each held to one of their own.
func TestQPsInTurnDoNotTellTheLimit(t *testing.T) {
	var source dissector.Address
	source[15] = nic
	n := newNotifiers()
	for i := range 1000 {
		n.observe(cnp(1, uint32(i%4), time.Duration(i)*10*time.Microsecond))
	}
	assert.Empty(t, n.scope(source))
	assert.Equal(t, 40*time.Microsecond, n.interval(source))
	assert.Empty(t, n.scope(dissector.Address{}), "of who sends none")
}

// However many send CNPs to however many, memory is bounded.
func TestNotifiersAreBounded(t *testing.T) {
	n := newNotifiers()
	for i := range 100_000 {
		p := cnp(byte(i), uint32(i), time.Duration(i))
		p.Network.Source[10], p.Network.Source[11] = byte(i>>8), byte(i)
		p.Network.Destination[10] = byte(i >> 8)
		n.observe(p)
	}
	assert.LessOrEqual(t, len(n.stations), maxNotifiers)
	assert.LessOrEqual(t, len(n.latest), maxNotified)
	for _, s := range n.stations {
		assert.LessOrEqual(t, len(s.to), maxDestinations)
	}
}
