package judge

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// answerWithin is how long a notification point may take for a CNP.
const answerWithin = int64(time.Millisecond)

// notices follows marks and CNPs of one requester, and repeated requests that wait for an answer.
type notices struct {
	marks              uint64
	capable, incapable uint64
	waiting            bool // a mark waits for a CNP
	markTime           int64
	unheard            uint64 // first mark without a CNP while nothing of the way back was seen
	markNumber         uint64
	cnps               uint64
	lastCNP            int64
	interval           trip // between CNPs

	duplicate uint64 // number of a request that was sent again after it was acknowledged; 0: none
}

// carried counts data by what switches may do to it. Answers to READs are data too, for which the requester sends CNPs.
func (n *notices) carried(e *event) {
	if e.marked {
		n.marks++
	}
	switch {
	case !e.ecnKnown:
	case e.capable:
		n.capable++
	default:
		n.incapable++
	}
}

// observeData follows marks and rate.
func (d *dialogue) observeData(p position, e *event) {
	n := &d.notices
	n.carried(e)
	if !e.hasTime {
		return
	}
	if n.waiting && e.time-n.markTime > answerWithin {
		d.markUnanswered(e)
	}
	if e.marked && !n.waiting {
		n.waiting, n.markTime, n.markNumber = true, e.time, e.number
	}
	d.rate(p, e)
}

// markUnanswered takes a mark that no CNP followed in time.
func (d *dialogue) markUnanswered(e *event) {
	n := &d.notices
	n.waiting = false
	ev := &d.evidence.cnpMissing
	ev.Add(true)
	missed, lost := d.doubt()
	verdict := ev.Verdict(min(0.5, missed+2*lost))
	mark, from := n.markNumber, n.markTime
	if !d.c.lanes[d.answers()].seen {
		if n.unheard == 0 {
			n.unheard = mark
		}
		return
	}
	d.c.find(d.answers(), finding.RoCECNPMissing, verdict, e, packets(mark, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "a CNP", fmt.Sprintf("none in %s", time.Duration(e.time-from).Round(time.Microsecond))
		f.Sentence = fmt.Sprintf("Packet %d is marked CE; no CNP came within %s (%d of %d marks).", mark, time.Duration(answerWithin), ev.Suspicious, ev.Cases)
	})
}

// neverHeard says once that marks were not answered in a capture that has nothing of the way back.
func (d *dialogue) neverHeard() {
	n := &d.notices
	if n.unheard == 0 || d.c.lanes[d.answers()].seen {
		return
	}
	d.c.find(d.answers(), finding.RoCECNPMissing, finding.Undetermined, nil, packets(n.unheard), func(f *finding.Finding) {
		f.Expected, f.Seen = "CNPs", "none"
		f.Sentence = fmt.Sprintf("%d packets are marked CE, the first is packet %d, and no CNP was seen; but the capture has no packet of the way back.", n.marks, n.unheard)
	})
}

// notified takes a CNP that the end of a lane sends.
func (c *Connection) notified(i int, e *event) {
	c.cnpFormat(i, e)
	d := &c.dialogues[1-i]
	n := &d.notices
	n.cnps++
	if e.hasTime {
		if n.lastCNP != 0 {
			n.interval.add(e.time - n.lastCNP)
		}
		n.lastCNP = e.time
		d.told(e)
	}
	if n.waiting {
		n.waiting = false
		d.evidence.cnpMissing.Add(false)
		c.conforms(finding.RoCECNPMissing)
	}
	d.unfounded(e)
}

// manyIncapable is from how many packets on data that are not ECN-capable are so on purpose.
const manyIncapable = 16

func (d *dialogue) unfounded(e *event) {
	n := &d.notices
	switch {
	case n.marks != 0:
		d.c.conforms(finding.RoCECNPUnfounded)
		return
	case n.capable == 0 && n.incapable == 0:
		return
	}
	verdict := finding.Undetermined
	if n.capable == 0 && n.incapable >= manyIncapable && n.cnps >= 2 {
		verdict = finding.Diverges
	}
	d.c.find(d.answers(), finding.RoCECNPUnfounded, verdict, e, packets(e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "a CNP for a packet marked CE", "a CNP, and no mark"
		f.Sentence = fmt.Sprintf("CNP %d came although none of the %d packets with data that were seen was marked CE", e.number, n.capable+n.incapable)
		if n.capable == 0 {
			f.Sentence += ", and none of them is ECN-capable, so that no switch can mark them."
		} else {
			f.Sentence += "; they may be marked behind the capture."
		}
	})
}

func (c *Connection) cnpFormat(i int, e *event) {
	p := e.packet
	zero := true
	if off := int(p.Layers[p.LayerCount-1].Offset); e.has(infiniband.HasCNP) {
		for k := range int(p.LayerCount) {
			if l := p.Layers[k]; int(l.Length) == infiniband.CNPLength && l.End() <= len(p.Data) && int(l.Offset) >= off-infiniband.CNPLength {
				for _, b := range p.Data[l.Offset:l.End()] {
					zero = zero && b == 0
				}
			}
		}
	}
	if p.BTH.BECN && zero {
		c.conforms(finding.RoCECNPFormat)
		return
	}
	c.find(i, finding.RoCECNPFormat, finding.Diverges, e, packets(e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "BECN set and 16 bytes of zeros", "BECN not set"
		if p.BTH.BECN {
			f.Seen = "bytes that are not zero"
		}
		f.Sentence = fmt.Sprintf("CNP %d has %s; a reaction point may not take it for one.", e.number, f.Seen)
	})
}

func (d *dialogue) dupPending() bool { return d.notices.duplicate != 0 }

// duplicated notes that an acknowledged request was sent again: the responder has to answer it again.
func (d *dialogue) duplicated(p position, e *event) {
	n := &d.notices
	if n.duplicate == 0 {
		n.duplicate = e.number
		return
	}
	before := n.duplicate
	n.duplicate = e.number
	ev := &d.evidence.duplicate
	ev.Add(true)
	missed, lost := d.doubt()
	d.c.find(d.answers(), finding.RoCEDuplicateUnanswered, ev.Verdict(min(0.5, missed+2*lost)), e, packets(d.ack.number, before, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "an ACK", fmt.Sprintf("none before packet %d", e.number)
		f.Sentence = fmt.Sprintf("Packet %d repeats what was acknowledged, and nothing answered it before packet %d sends PSN %d again (%d of %d times).",
			before, e.number, psnOf(p), ev.Suspicious, ev.Cases)
	})
}
