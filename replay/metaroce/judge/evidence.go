package judge

import (
	"fmt"
	"math"

	"github.com/rocelens/rocelens/replay/finding"
)

// clue is a rule that rests on the absence of packets, or on how often something happens.
type clue uint8

const (
	clueFirstFlagged clue = iota
	clueRetransmissionUnfounded
	clueAcknowledgedResent
	clueLostAgainEarly
	clueGapNotResent
	clueFailedPathKept
	clueProbePort
	clueProbeInterval
	clueMSNSkipped
	clueAckUnsent
	clueAckNumber
	clueCECount
	clueEchoUnsent
	clueAckTrigger
	clueAckEvery
	clueAckDelay
	clueAckRequested
	clueAckGap
	clueAckDuplicate
	clueAckCEChange
	clueAckMessageEnd
	clueHintExceeded
	clueHintAnnounced
	clueCEIgnored
	clueRetryEarly
	clueAfterFatalNAK
	clueWindow
	clueSACKWindow
	clueAnswerPort
	clueCount
)

// side is who is held responsible: who sends the data, or who answers.
type side uint8

const (
	sender side = iota
	receiver
)

// source is what makes a case suspicious innocently.
type source uint8

const (
	missedData   source = iota // a sequenced packet that the capture missed
	absentData                 // one that it missed, or that was lost before it
	missedACK                  // an ACK that the capture missed, or that was lost before it
	eitherOf                   // any of these
	missedSeldom               // a sequenced packet that it missed, or what a conforming implementation does now and then
	lostBehind                 // an answer that was lost behind the vantage point
	seldom                     // something that a conforming implementation does now and then
	often                      // something that it may do quite often
)

type clueText struct {
	rule     finding.Rule
	side     side
	source   source
	expected string
	seen     string // with two numbers: suspicious cases, and all
}

var clues = [clueCount]clueText{
	clueFirstFlagged:            {finding.MetaRoCEFirstFlagged, sender, lostBehind, "no RTX on bytes that were never sent before", "%d of %d packets with bytes beyond all before had RTX set"},
	clueRetransmissionUnfounded: {finding.MetaRoCERetransmissionUnfounded, sender, eitherOf, "an ACK that shows the packet missing, a NAK or a timeout before it is sent again", "%d of %d retransmissions that came before any timer had no ACK that shows the packet missing"},
	clueAcknowledgedResent:      {finding.MetaRoCEAcknowledgedResent, sender, eitherOf, "no retransmission of what was acknowledged", "%d of %d retransmissions were of packets that an ACK had covered before"},
	clueLostAgainEarly:          {finding.MetaRoCELostAgainEarly, sender, eitherOf, "an ACK that echoes a later timestamp before a retransmission is repeated", "%d of %d repeated retransmissions came without one"},
	clueGapNotResent:            {finding.MetaRoCEGapNotResent, sender, absentData, "the missing packet again, at once", "%d of %d gaps that three ACKs had shown were left open for longer than a few round trips"},
	clueFailedPathKept:          {finding.MetaRoCEFailedPathKept, sender, missedACK, "after path_failed_after timeouts the bytes on other paths, and a PROBE from a new port", "%d of %d runs of timeouts went on for longer"},
	clueProbePort:               {finding.MetaRoCEProbePort, sender, absentData, "PROBEs from another source port than the failed path had", "%d of %d first PROBEs of a path left from its old port"},
	clueProbeInterval:           {finding.MetaRoCEProbeInterval, sender, missedACK, "rto_max between PROBEs of a failed path", "%d of %d PROBEs followed the one before sooner"},
	clueMSNSkipped:              {finding.MetaRoCEMSNSkipped, sender, absentData, "every msn of a stream", "%d of %d message numbers never appeared"},
	clueAckUnsent:               {finding.MetaRoCEAckUnsent, receiver, missedData, "ACKs of packets that have arrived", "%d of %d packets were acknowledged before they were first sent"},
	clueAckNumber:               {finding.MetaRoCEAckNumber, receiver, often, "ACK numbers that rise by 1", "%d of %d ACKs were by the same step of more than 1 above the one before"},
	clueCECount:                 {finding.MetaRoCECECount, receiver, missedData, "ce_count to grow by the marked packets that arrived", "%d of %d ACKs counted fewer than the capture shows"},
	clueEchoUnsent:              {finding.MetaRoCEEchoUnsent, receiver, missedData, "the timestamp of a packet that arrived", "%d of %d ACKs echoed one that no packet of the path bore"},
	clueAckTrigger:              {finding.MetaRoCEAckTrigger, receiver, missedSeldom, "the trigger that happened", "%d of %d ACKs named another"},
	clueAckEvery:                {finding.MetaRoCEAckEvery, receiver, seldom, "an ACK every ack_every packets", "%d of %d ACKs covered more than four times as many new packets"},
	clueAckDelay:                {finding.MetaRoCEAckDelay, receiver, seldom, "ack_delay up to ack_timer", "%d of %d ACKs waited for more than four times that"},
	clueAckRequested:            {finding.MetaRoCEAckRequested, receiver, missedData, "an ACK at once for a packet with AR", "%d of %d packets with AR waited for a timer or for others"},
	clueAckGap:                  {finding.MetaRoCEAckGap, receiver, seldom, "an ACK at once for a new gap", "%d of %d ACKs that show a new gap had waited"},
	clueAckDuplicate:            {finding.MetaRoCEAckDuplicate, receiver, missedACK, "an ACK at once for a duplicate", "%d of %d ACKs that had waited count duplicates"},
	clueAckCEChange:             {finding.MetaRoCEAckCEChange, receiver, seldom, "an ACK at once when the marking changes", "%d of %d ACKs with marked and unmarked packets had waited"},
	clueAckMessageEnd:           {finding.MetaRoCEAckMessageEnd, receiver, missedData, "an ACK at once for the end of a message", "%d of %d last packets waited for a timer or for others"},
	clueHintExceeded:            {finding.MetaRoCEHintExceeded, sender, seldom, "a rate of at most (1 + hint_tolerance) × rate_hint", "in %d of %d spans of many round trips the rate was a quarter and more above that"},
	clueHintAnnounced:           {finding.MetaRoCEHintAnnounced, receiver, seldom, "trigger 7 when the share has changed by more than hint_tolerance", "%d of %d such ACKs told what had been told"},
	clueCEIgnored:               {finding.MetaRoCECEIgnored, sender, often, "a window that is halved each round trip in which ce_count grows", "in %d of %d rounds more packets were in flight than the cuts before allow"},
	clueRetryEarly:              {finding.MetaRoCERetryEarly, sender, lostBehind, "the refused packet again, after retry_after", "%d of %d came earlier"},
	clueAfterFatalNAK:           {finding.MetaRoCEAfterFatalNAK, sender, lostBehind, "the end of the connection", "new packets followed %d of %d NAKs that end it"},
	clueWindow:                  {finding.MetaRoCEWindow, sender, seldom, "at most max_window packets in flight on a path", "between %d of %d pairs of ACKs that follow each other there were more"},
	clueSACKWindow:              {finding.MetaRoCESACKWindow, sender, seldom, "no psn beyond cumulative_psn + 256", "between %d of %d pairs of ACKs that follow each other there were some"},
	clueAnswerPort:              {finding.MetaRoCEAnswerPort, receiver, seldom, "answers from the port of the own path path_id mod path_count", "%d of %d left from another"},
}

// suspicion is the evidence of one clue against one sender.
type suspicion struct {
	finding.Evidence
	proof     [finding.MaxProof]uint64
	held      uint8
	convicted bool
	path      int16
	mark      uint64 // of the latest suspicious case: those with the same have one cause
	at        int64  // when it was, ns
	number    uint64 // its packet
}

// weigh adds a case about the data of a lane and its answers. Suspicious cases of one path with the same mark have one
// cause and count once, as do those that lie close together; the mark 0 is none. proof are packets that show it.
func (c *Connection) weigh(d *lane, k clue, path int, e *event, suspicious bool, mark uint64, proof ...uint64) {
	s := &d.suspicions[k]
	rule := clues[k].rule
	if !suspicious {
		s.Add(false)
		c.conforms(rule)
		return
	}
	if s.mark == mark && mark != 0 && s.path == int16(path) || s.number != 0 && clues[k].source < lostBehind && c.together(d, s, e) {
		return
	}
	s.mark, s.path, s.at, s.number = mark, int16(path), e.time, e.number
	s.Add(true)
	if int(s.held)+len(proof) > len(s.proof) { // the latest cases make the point as well
		s.held = 0
	}
	s.held += uint8(copy(s.proof[s.held:], proof))
	switch {
	case s.convicted:
		c.tallies[index(rule)].Add(finding.Diverges)
	case s.Convicts(c.chance(d, clues[k].source)):
		c.convict(d, k, e, finding.Diverges)
	}
}

// together tells whether a case follows the latest suspicious one so closely that one pause of the capture, or one
// outage on the way, may have made both: within a round trip.
func (c *Connection) together(d *lane, s *suspicion, e *event) bool {
	if !e.timed {
		return e.number-s.number < 64
	}
	roundTrip, ok := c.roundTripAtMost(d)
	if !ok {
		roundTrip = 100_000
	}
	return e.time-s.at < min(max(roundTrip, 50_000), 1_000_000)
}

// convict reports the evidence, and counts all of its cases.
func (c *Connection) convict(d *lane, k clue, e *event, v finding.Verdict) {
	s := &d.suspicions[k]
	s.convicted = v == finding.Diverges
	text := &clues[k]
	offender := d
	if text.side == receiver {
		offender = &c.lanes[1-d.index]
	}
	t := &c.tallies[index(text.rule)]
	n := &t.Undetermined
	if s.convicted {
		n = &t.Diverges
	}
	*n += min(s.Suspicious, math.MaxUint32-*n)
	f := c.tell(text.rule, v, offender, int(s.path), e)
	if f == nil {
		return
	}
	for _, number := range s.proof[:s.held] {
		prove(f, number)
	}
	f.Expected = text.expected
	f.Seen = fmt.Sprintf(text.seen, s.Suspicious, s.Cases)
	f.Sentence = f.Seen + ": chance does not explain that."
	if !s.convicted {
		f.Sentence = f.Seen + ": " + text.rule.Describe().Undetermined + "."
	}
	c.out(f)
}

// conclude decides what evidence is left at the end.
func (c *Connection) conclude() {
	for i := range c.lanes {
		d := &c.lanes[i]
		for k := range d.suspicions {
			s := &d.suspicions[k]
			if s.Suspicious == 0 || s.convicted {
				continue
			}
			if c.usual(d, clue(k)) {
				c.tallies[index(clues[k].rule)].Conforms += s.Suspicious
				continue
			}
			verdict := s.Verdict(c.chance(d, clues[k].source))
			c.convict(d, clue(k), nil, verdict)
		}
	}
}

// usual tells whether there are no more suspicious cases than a conforming implementation shows, or the losses that
// the ACKs tell of make.
func (c *Connection) usual(d *lane, k clue) bool {
	expected := 0.0
	switch from := clues[k].source; from {
	case seldom, often:
		expected = c.chance(d, from)
	case lostBehind:
		expected = 2 * d.lossAtMost()
	case missedData, absentData, missedACK, eitherOf, missedSeldom:
	}
	s := &d.suspicions[k]
	return float64(s.Suspicious) <= expected*float64(s.Cases)
}

// chance is an upper bound of how probable a case is suspicious innocently.
func (c *Connection) chance(d *lane, s source) float64 {
	switch s {
	case missedData:
		return max(0.01, d.missedAtMost())
	case absentData:
		return max(0.05, d.absentAtMost())
	case missedACK:
		return max(0.02, d.acksAbsentAtMost())
	case eitherOf:
		return max(0.01, d.acksAbsentAtMost()+d.missedAtMost())
	case missedSeldom:
		return max(0.05, d.missedAtMost())
	case lostBehind:
		return max(0.3, 2*d.absentAtMost())
	case seldom:
		return 0.05
	case often:
	}
	return 0.25
}
