package flow

import (
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Without the connection manager nothing on the wire names the sender's QPN of a connected service. The PSNs
// do: an answer carries the PSN of the request that it answers, and few other flows between the two
// addresses are at the same one of 16 million PSNs. Requests of flows without a partner are put on offer by
// their PSN; an answer that finds exactly one offer is a vote for it.

// offer is a recent request that an answer may name.
type offer struct {
	key  uint64 // hash of addresses, service and PSN
	flow uint32 // number plus one; ambiguous when several flows made it
	tag  uint32 // of the flow's hash, since numbers are used again
}

const ambiguous = ^uint32(0)

func offerKey(addresses uint64, f *flow, psn uint32) uint64 {
	return mix(addresses^mixC, uint64(psn)|uint64(f.key.Service)<<32|1<<60)
}

// offer puts a request up.
func (t *Tracker) offer(f *flow, psn uint32) {
	f.spent++
	key := offerKey(f.addresses[0], f, psn)
	e := &t.offers[key%pairSlots]
	if e.key == key && e.flow != f.number+1 {
		e.flow = ambiguous
		return
	}
	*e = offer{key: key, flow: f.number + 1, tag: uint32(f.hash)}
}

// offered is the only flow that offered the PSN to f's answers; nil when there is none or are several.
func (t *Tracker) offered(f *flow, psn uint32) *flow {
	key := offerKey(f.addresses[1], f, psn)
	e := t.offers[key%pairSlots]
	if e.key != key || e.flow == ambiguous || e.flow == 0 {
		return nil
	}
	g := t.flows.at(e.flow - 1)
	if uint32(g.hash) != e.tag || !opposite(f, g) {
		return nil
	}
	return g
}

// opposite tells whether two flows could be the two directions of one connection. They need not be of one
// protocol: hosts that disagree on the GID to use answer RoCEv1 with RoCEv2.
func opposite(f, g *flow) bool {
	return f != g && f.key.Source == g.key.Destination && f.key.Destination == g.key.Source &&
		f.key.Service == g.key.Service
}

// vote takes an answer of a flow without a partner. A NAK names the first PSN that is missing, which nobody
// may have seen, so the one before it counts.
func (t *Tracker) vote(f *flow, p *dissector.Packet, positive bool) {
	psn := p.BTH.PSN
	g := (*flow)(nil)
	if !positive {
		g = t.offered(f, infiniband.PSNAdd(psn, -1))
	}
	if g == nil {
		g = t.offered(f, psn)
	}
	if g == nil {
		return
	}
	taken := g.reverse != 0 && g.reverse != f.number+1
	switch {
	case taken || (f.guess == g.number+1 && !f.plausibleMSN(psn, p.AETH.MSN)):
		t.doubt(f)
		return
	case f.guess == 0:
		if g.back != 0 && g.back != f.number+1 {
			t.doubt(f)
			return
		}
		f.guess, g.back, f.votes = g.number+1, f.number+1, 1
	case f.guess != g.number+1:
		t.doubt(f)
		return
	case psn != f.votePSN && f.votes < 255:
		f.votes++
	}
	f.votePSN, f.voteMSN = psn, p.AETH.MSN
	if f.votes >= pairVotes+4*min(f.conflicts, maxConflicts) && (g.guess == 0 || g.guess == f.number+1) {
		t.link(f, g, PairingInferred)
	}
}

const maxConflicts = 8 // more do not make a vote weaker

// plausibleMSN holds when the message count rose with the PSNs: never back, and never by more than them.
func (f *flow) plausibleMSN(psn, msn uint32) bool {
	psns, messages := infiniband.PSNDiff(psn, f.votePSN), infiniband.PSNDiff(msn, f.voteMSN)
	return psns <= 0 || (messages >= 0 && messages <= psns)
}

// doubt drops a guess.
func (t *Tracker) doubt(f *flow) {
	f.conflicts += min(1, 255-f.conflicts)
	t.dropGuess(f)
}

func (t *Tracker) dropGuess(f *flow) {
	if f.guess != 0 {
		if g := t.flows.at(f.guess - 1); g.back == f.number+1 {
			g.back = 0
		}
	}
	f.guess, f.votes = 0, 0
}

// partner is the other direction of the connection, for certain or as far as is known; nil when it is not.
func (t *Tracker) partner(f *flow) *flow {
	switch {
	case f.reverse != 0:
		return t.flows.at(f.reverse - 1)
	case f.guess != 0:
		return t.flows.at(f.guess - 1)
	case f.back != 0:
		return t.flows.at(f.back - 1)
	}
	return nil
}

// link pairs two flows. What the connection manager says stands above what was inferred.
func (t *Tracker) link(f, g *flow, how Pairing) {
	if f.reverse == g.number+1 {
		f.pairing, g.pairing = max(f.pairing, how), max(g.pairing, how)
		return
	}
	t.unlink(f)
	t.unlink(g)
	f.reverse, g.reverse = g.number+1, f.number+1
	f.reverseID, g.reverseID = ID(g.hash), ID(f.hash)
	f.sourceQP, g.sourceQP = g.key.DestinationQP+1, f.key.DestinationQP+1
	f.pairing, g.pairing = how, how
	t.pairs++
}

// hear notes whether a partner found in time has said something that could have been a NAK.
func (t *Tracker) hear(f *flow) {
	if f.reverse != 0 {
		g := t.flows.at(f.reverse - 1)
		f.heard = f.heard || g.requestPSNs.valid || g.answerPSNs.valid
	}
}

// pairDatagrams pairs a new flow of datagrams with the one between the same QPs in the opposite direction: the
// DETHs of both name all four.
func (t *Tracker) pairDatagrams(f *flow) {
	if f.pairing != PairingDatagram {
		return
	}
	k := Key{
		Source: f.key.Destination, Destination: f.key.Source,
		DestinationQP: f.key.SourceQP, SourceQP: f.key.DestinationQP,
		Service: f.key.Service, Protocol: f.key.Protocol,
	}
	if g, _ := t.lookUp(&k); g != nil && g != f && g.pairing == PairingDatagram {
		t.link(f, g, PairingDatagram)
	}
}

func (t *Tracker) unlink(f *flow) {
	if f.reverse == 0 {
		return
	}
	g := t.flows.at(f.reverse - 1)
	f.reverse, g.reverse = 0, 0
	f.reverseID, g.reverseID = 0, 0
	f.pairing, g.pairing = PairingNone, PairingNone
	f.sourceQP, g.sourceQP = 0, 0
	t.pairs--
}

// part clears what points to a flow that is going. Its partner keeps what it learnt.
func (t *Tracker) part(f *flow) {
	if f.reverse != 0 {
		t.flows.at(f.reverse - 1).reverse = 0
	}
	if f.back != 0 {
		b := t.flows.at(f.back - 1)
		b.guess, b.votes = 0, 0
	}
	t.dropGuess(f)
}

// pairLate pairs, once all was seen, flows that had too few answers for pairing on the way: those where the
// answers of one fit the requests of just one other, which no third one's fit.
func (t *Tracker) pairLate(all []*flow) {
	groups := make(map[uint64][]*flow)
	for _, f := range all {
		if f.reliable() && f.reverse == 0 && f.reverseID == 0 {
			groups[f.addresses[0]] = append(groups[f.addresses[0]], f)
		}
	}
	for _, f := range all { // not over the map: the same input must give the same pairs
		if askers := groups[f.addresses[0]]; len(askers) > 0 && askers[0] == f {
			t.pairGroup(askers, groups[f.addresses[1]])
		}
	}
}

// pairNotified pairs, once all was seen, a flow of CNPs alone with the flow whose marks they answer: when no other
// flow between the two addresses could be meant, and no other CNPs could mean it.
func (t *Tracker) pairNotified(all []*flow) {
	if t.totals.EvictedFlows != 0 || t.expired {
		return // one that is gone could be meant
	}
	type group struct {
		notified, notifying *flow
		several             bool
	}
	groups := make(map[uint64]group)
	for _, f := range all {
		if !sharesQP(f.service) || f.reverseID != 0 {
			continue
		}
		// A group is known by the direction of the data.
		cnp := f.service == infiniband.ServiceCNP
		at := f.addresses[0]
		if cnp {
			at = f.addresses[1]
		}
		g := groups[at]
		if cnp {
			g.several = g.several || g.notifying != nil
			g.notifying = f
		} else {
			g.several = g.several || g.notified != nil
			g.notified = f
		}
		groups[at] = g
	}
	for _, f := range all { // not over the map: the same input must give the same pairs
		if g := groups[f.addresses[0]]; g.notified == f && g.notifying != nil && !g.several && f.marked != 0 &&
			g.notifying.cnps != 0 && f.key.Protocol == g.notifying.key.Protocol {
			t.link(f, g.notifying, PairingInferred)
		}
	}
}

// pairGroup pairs the flows of one source and destination with those of the opposite.
func (t *Tracker) pairGroup(requesters, responders []*flow) {
	responders = slices.DeleteFunc(slices.Clone(responders), func(f *flow) bool { return !f.answerPSNs.valid })
	if len(requesters) > maxGroup || len(responders) > maxGroup || len(requesters)*len(responders) > maxGroup*256 {
		return
	}
	fits := make(map[*flow]*flow) // of a requester, the only responder; nil for several
	choice := make(map[*flow]*flow)
	for _, f := range responders {
		count := 0
		for _, g := range requesters {
			if g.reverse != 0 || !opposite(f, g) || !answersFit(f, g) {
				continue
			}
			count++
			choice[f] = g
			if _, twice := fits[g]; twice {
				fits[g] = nil
			} else {
				fits[g] = f
			}
		}
		if count != 1 {
			delete(choice, f)
		}
	}
	for _, f := range responders {
		if g := choice[f]; g != nil && fits[g] == f && f.reverse == 0 && g.reverse == 0 {
			t.link(f, g, PairingInferred)
		}
	}
}

// answersFit tells whether all that f answered lies among what g requested.
func answersFit(f, g *flow) bool {
	if !g.requests.started() || !g.requestPSNs.valid {
		return false
	}
	s, answers := &g.requests, &f.answerPSNs
	first, last, end := s.extend(answers.first), s.extend(answers.last), s.next
	if r := &g.read; s.watch&watchRead != 0 && r.known && validMTU(f.mtu) { // the responses tell how many there are
		end = max(end, r.start+position(spanOf(r.length, f.mtu)))
	}
	return first+1 >= s.first && first <= last && last <= end
}
