package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/finding"
)

// NICs differ in what the interval between CNPs counts for: one QP, one destination address, or the whole port (Lumina,
// SIGCOMM 2023). It shows in the shortest gaps between the CNPs of one sender: those between CNPs of two QPs
// are as long as those of one QP where both share a limit, and far shorter where they do not.

// notifiers follows the senders of CNPs, up to a limit.
type notifiers struct {
	stations map[dissector.Address]*notifier
	latest   map[end]int64 // by QP that is told
}

const (
	maxNotifiers    = 1 << 10
	maxNotified     = 1 << 14 // QPs that are told, of all senders
	maxDestinations = 1 << 8  // of one sender
)

func newNotifiers() notifiers {
	return notifiers{stations: map[dissector.Address]*notifier{}, latest: map[end]int64{}}
}

// notifier is one sender of CNPs.
type notifier struct {
	last  told
	to    map[dissector.Address]told
	same  gaps // between CNPs to one QP
	qps   gaps // between CNPs to two QPs of one destination
	ports gaps // between CNPs to two destinations
}

// told is a CNP.
type told struct {
	end  end
	time int64
}

// observe takes a CNP.
func (n *notifiers) observe(p *dissector.Packet) {
	if !p.Meta.HasTime {
		return
	}
	source, destination := p.Ends()
	s := n.stations[source]
	if s == nil {
		if len(n.stations) >= maxNotifiers {
			return
		}
		s = &notifier{to: map[dissector.Address]told{}}
		n.stations[source] = s
	}
	now := told{end{source, destination, p.BTH.DestinationQP}, p.Meta.Time}
	if s.last.time != 0 && s.last.end.destination != destination {
		s.ports.add(now.time - s.last.time)
	}
	s.last = now
	if before, ok := s.to[destination]; ok || len(s.to) < maxDestinations {
		if ok && before.end.qp != now.end.qp {
			s.qps.add(now.time - before.time)
		}
		s.to[destination] = now
	}
	if len(n.latest) >= maxNotified {
		clear(n.latest)
	}
	if before, ok := n.latest[now.end]; ok {
		s.same.add(now.time - before)
	}
	n.latest[now.end] = now.time
}

// scope is what the interval of a sender of CNPs counts for: a phrase, or "" when the CNPs do not tell.
func (n *notifiers) scope(source dissector.Address) string {
	s := n.stations[source]
	if s == nil {
		return ""
	}
	destination, port := s.qps.against(&s.same), s.ports.against(&s.same)
	switch {
	case port == shared:
		return "per port"
	case destination == apart:
		return "per QP"
	case destination == shared && port == apart:
		return "per destination address"
	case destination == shared:
		return "per destination address or per port"
	case port == apart:
		return "per destination address or per QP"
	}
	return ""
}

// interval is the shortest gap between CNPs that one limit holds apart, 0 when it is not known.
func (n *notifiers) interval(source dissector.Address) time.Duration {
	if s := n.stations[source]; s != nil && s.same.sharp() {
		return time.Duration(s.same.shortest[edge])
	}
	return 0
}

// gaps keeps the shortest of many gaps, in ns.
type gaps struct {
	n        int // of shortest, in order
	shortest [16]int64
}

// edge is the gap that counts as the shortest one: a few are shorter by the jitter of clocks.
const edge = 3

func (g *gaps) add(ns int64) {
	if ns < 0 {
		return // captured out of order
	}
	i, _ := slices.BinarySearch(g.shortest[:g.n], ns)
	if i == len(g.shortest) {
		return
	}
	g.n = min(g.n+1, len(g.shortest))
	copy(g.shortest[i+1:g.n], g.shortest[i:])
	g.shortest[i] = ns
}

// sharp tells whether a limit holds gaps apart: then many are as long as the shortest.
func (g *gaps) sharp() bool {
	return g.n == len(g.shortest) && g.shortest[edge] > int64(time.Microsecond) &&
		g.shortest[len(g.shortest)-1] <= g.shortest[edge]+g.shortest[edge]/5
}

type sharing uint8

const (
	unknown sharing = iota
	shared
	apart
)

// against compares gaps between CNPs to two places with those between CNPs to one QP. Two QPs that take turns, each with a
// limit of its own, may be half an interval apart; several that take turns under one limit are always that limit apart,
// and a QP of them several: what is held apart, though by less than the interval of a QP, tells nothing.
func (g *gaps) against(same *gaps) sharing {
	switch {
	case g.n < len(g.shortest) || !same.sharp():
		return unknown
	case g.shortest[edge]*10 >= same.shortest[edge]*8 && g.sharp():
		return shared
	case g.shortest[edge]*10 <= same.shortest[edge]*3 && !g.sharp():
		return apart
	}
	return unknown
}

// describe adds what the interval of the CNPs counts for to what their sender's connections are like.
func (n *notifiers) describe(c *finding.Connection) {
	if c.MetaRoCE {
		return
	}
	for i := range c.Directions {
		sender := c.Directions[i].Sender.Address
		scope := n.scope(sender)
		if scope == "" {
			continue
		}
		c.Properties = append(c.Properties, finding.Property{
			Name:  "cnp_interval_scope",
			Value: fmt.Sprintf("%s: %s, every %s at most", sender, scope, n.interval(sender).Round(100*time.Nanosecond)),
		})
	}
}
