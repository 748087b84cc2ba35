package judge

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/replay/finding"
)

// close gives the verdicts that had to wait for the end.
func (d *dialogue) close() {
	n := &d.notices
	if n.waiting && d.c.lanes[d.lane].lastTime-n.markTime > answerWithin {
		last := event{number: d.c.lanes[d.lane].lastSign, time: d.c.lanes[d.lane].lastTime, hasTime: true}
		d.markUnanswered(&last)
	}
	d.neverHeard()
}

// report fills one direction.
func (c *Connection) report(out *finding.Direction, i int) {
	l, d := &c.lanes[i], &c.dialogues[i]
	*out = finding.Direction{
		Sender: l.sender, Packets: l.packets, Losses: d.losses,
		ToReceiver: d.there.roundTrip(), ToSender: d.back.roundTrip(),
	}
	if l.hasTime && d.sent > 0 {
		out.Waits = finding.Waits{Known: true, Lasting: l.lastTime - l.firstTime, Timer: d.timeouts.wait(), RNR: d.rnrWaits.wait()}
	}
	if d.sampled != 0 && d.ackSeen {
		out.Missed, out.MissedKnown = float64(d.missed)/float64(d.sampled), true
	}
}

// far is how many times longer one side of the round trip must be than the other to say where the capture was made.
const far = 4

// vantage estimates where the capture was made from how the round trip divides: what passes near the requester takes
// long to be answered, what passes near the responder is answered at once.
func (d *dialogue) vantage() finding.Vantage {
	if d.there.n == 0 || d.back.n == 0 {
		return finding.VantageUnknown
	}
	switch there, back := d.there.min, d.back.min; {
	case there > far*back:
		return finding.VantageNearRequester
	case back > far*there:
		return finding.VantageNearResponder
	}
	return finding.VantageMiddle
}

// properties are traits that no rule forbids.
func (c *Connection) properties(first int) []finding.Property {
	var out []finding.Property
	for _, i := range []int{first, 1 - first} {
		d := &c.dialogues[i]
		who := c.lanes[i].sender.Address.String()
		add := func(name, value string) {
			out = append(out, finding.Property{Name: name, Value: who + ": " + value})
		}
		switch {
		case d.selective > d.goBack && d.selective > 1:
			add("retransmission", fmt.Sprintf("selective repeat (%d of %d times after a NAK)", d.selective, d.selective+d.goBack))
		case d.goBack > d.selective:
			add("retransmission", fmt.Sprintf("go-back-N (%d of %d times after a NAK)", d.goBack, d.selective+d.goBack))
		}
		if d.timeouts.n != 0 {
			t := d.timeouts.roundTrip()
			add("retransmission_timeout", fmt.Sprintf("%s to %s, %d times", time.Duration(t.Minimum), time.Duration(t.Max), t.Samples))
		}
		if waits := d.backoff.String(); waits != "" {
			add("retransmission_backoff", waits)
		}
		if t := d.notices.interval.roundTrip(); t.Known {
			add("cnp_interval", fmt.Sprintf("at least %s between the CNPs that it got, %d times", time.Duration(t.Minimum), t.Samples))
		}
	}
	return out
}
