package roce

import (
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// cnpPacer has the times of the next CNPs of a port and of destinations.
type cnpPacer struct {
	port        time.Duration
	destination map[netip.Addr]time.Duration
}

// congested is a packet of the QP marked CE: the sender is told, but not more often than the interval allows (annex
// A17.9.3).
func (q *QP) congested(now time.Duration) {
	e := q.endpoint
	next := q.cnpAt
	switch e.config.CNPScope {
	case CNPPerQP:
	case CNPPerDestination:
		next = e.cnp.destination[q.config.Remote]
	case CNPPerPort:
		next = e.cnp.port
	}
	if now < next {
		return
	}
	next = now + e.config.CNPInterval
	switch e.config.CNPScope {
	case CNPPerQP:
		q.cnpAt = next
	case CNPPerDestination:
		if e.cnp.destination == nil {
			e.cnp.destination = map[netip.Addr]time.Duration{}
		}
		e.cnp.destination[q.config.Remote] = next
	case CNPPerPort:
		e.cnp.port = next
	}
	q.cnpOwed = true
}

// buildCNP makes a congestion notification packet: BECN set, PSN 0, 16 bytes of zeros.
func (q *QP) buildCNP() {
	q.cnpOwed = false
	q.statistics.CNPsSent++
	f := q.endpoint.packet(q, infiniband.CNP, 0)
	f.BTH.BECN = true
	f.DSCP = q.endpoint.config.CNPDSCP
}
