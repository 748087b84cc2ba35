package compliance

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// attempt is one run of a scenario. Its methods end it by panicking with an outcome, which [runOnce] recovers, so that
// scenarios read as what they do.
type attempt struct {
	lab         *lab
	connections map[uint32]*conn
	packets     []*packet // sent and received, in order
	violations  map[violation]*offence
	requests    int // handshakes begun
	repeated    int // whose request had to be repeated
	signs       []string
	busy        bool // one of both hosts was too busy to be held against times
	witnessing  *conn
	answering   bool          // is taking a packet
	rtt         time.Duration // of a handshake that was answered at first, the shortest
}

// outcome ends an attempt.
type outcome struct {
	verdict  Verdict
	expected string
	seen     string
	err      error // the suite itself could not go on
	again    bool  // undetermined by bad luck
}

func newAttempt(l *lab) *attempt {
	l.late = 0
	return &attempt{lab: l, connections: map[uint32]*conn{}, violations: map[violation]*offence{}}
}

// runOnce runs a scenario once.
func runOnce(l *lab, s *Scenario) (x *attempt, o outcome) {
	x = newAttempt(l)
	defer x.hangUp()
	o = x.guard(func() { s.run(x) })
	if o.verdict == Fail {
		if again := x.guard(x.audit); again.err != nil {
			o.err = again.err
		}
	}
	return x, o
}

// guard runs a part of an attempt and returns how it ended.
func (x *attempt) guard(fn func()) (o outcome) {
	defer func() {
		x.answering = false
		switch r := recover().(type) {
		case nil:
		case outcome:
			o = r
		default:
			panic(r)
		}
	}()
	fn()
	return outcome{verdict: Pass}
}

// fail ends the attempt: the target does not do what it must. The packets prove it.
func (x *attempt) fail(expected, seen string, proof ...*packet) {
	for _, p := range proof {
		if p != nil {
			p.note("fails: expected " + expected + "; seen: " + seen)
		}
	}
	panic(outcome{verdict: Fail, expected: expected, seen: seen})
}

// undetermined ends the attempt without a verdict about the target.
func (x *attempt) undetermined(format string, args ...any) {
	panic(outcome{verdict: Undetermined, seen: fmt.Sprintf(format, args...)})
}

// again ends an attempt that bad luck has spoilt.
func (x *attempt) again(why string) {
	panic(outcome{verdict: Undetermined, seen: why, again: true})
}

func (x *attempt) must(err error) {
	if err != nil {
		panic(outcome{verdict: Undetermined, err: err})
	}
}

// note adds to the comment that the packet bears in the capture.
func (p *packet) note(text string) {
	if p.comment != "" {
		p.comment += "; "
	}
	p.comment += text
}

// timeout is how long an answer is waited for.
func (x *attempt) timeout() time.Duration { return x.lab.config.Timeout }

// sign notes that the network, or one of the hosts, has lost something.
func (x *attempt) sign(format string, args ...any) {
	if len(x.signs) < 8 {
		x.signs = append(x.signs, fmt.Sprintf(format, args...))
	}
}

// delay notes that one of both hosts took so long for what takes no time: it was busy with something else.
func (x *attempt) delay(d time.Duration, what string) {
	if d > x.timeout()/5 {
		x.busy = true
		x.sign("%s took %v", what, d.Round(time.Millisecond))
	}
}

// send sends a packet. Its source port is that of the sender's number.
func (x *attempt) send(o *outgoing) *packet {
	if !x.answering { // else what is answered first must go out first
		x.drain()
	}
	s, err := x.lab.sender(o.sender)
	x.must(err)
	to := x.lab.config.Target
	data, err := o.build(s.local, to)
	x.must(err)
	p := &packet{sent: true, source: s.local, destination: to, ecn: o.ecn, data: data}
	left := x.lab.now()
	x.must(s.send(to, data, o.ecn))
	p.left, p.at = left, x.lab.now()
	p.malformed = mr0.DecodeCaptured(data, len(data), &p.Packet) != nil
	return x.keep(p)
}

func (x *attempt) keep(p *packet) *packet {
	p.index = len(x.packets)
	x.packets = append(x.packets, p)
	return p
}

// drain takes what has come, without waiting.
func (x *attempt) drain() {
	for x.take(0) != nil { //nolint:revive // all is done in the condition
	}
}

// take waits for one datagram of the target, and lets its connection look at it. It is nil when none came.
func (x *attempt) take(deadline time.Duration) *packet {
	in, ok, err := x.lab.receive(deadline)
	x.must(err)
	if !ok {
		return nil
	}
	p := &packet{at: x.lab.moment(&in), source: in.source, destination: x.lab.inbox.local, ecn: in.ecn, data: in.data}
	err = mr0.DecodeCaptured(p.data, len(p.data), &p.Packet)
	p.malformed = err != nil && p.Fault.Reason.InDoubt()
	c := x.connections[p.CH.DestConnID]
	if c == nil && !p.malformed {
		return p // of an attempt before
	}
	x.keep(p)
	if err != nil {
		x.violate(violationMalformed, "packets that the profile's decoder takes", p.text(), p)
	}
	if !mr0.VerifyICRC(p.data, p.source, p.destination) {
		x.violate(violationICRC, "the ICRC over addresses, ports, length and payload", "another ICRC on "+p.text(), p)
	}
	if c != nil && !p.malformed {
		x.watch(c, p)
		x.answering = true
		c.arrived(p)
		x.answering = false
	}
	return p
}

// await waits for a packet of the target behind p that is what is looked for; nil when none came in time.
func (x *attempt) await(behind *packet, within time.Duration, wanted func(p *packet) bool) *packet {
	i := 0
	if behind != nil {
		i = behind.index + 1
	}
	deadline := x.lab.now() + within
	for {
		for ; i < len(x.packets); i++ {
			if p := x.packets[i]; !p.sent && wanted(p) {
				return p
			}
		}
		if x.take(deadline) == nil && x.lab.now() >= deadline {
			return nil
		}
	}
}

// until takes packets until the condition holds; false when it did not in time.
func (x *attempt) until(within time.Duration, done func() bool) bool {
	deadline := x.lab.now() + within
	for !done() {
		if x.take(deadline) == nil && x.lab.now() >= deadline {
			return false
		}
	}
	return true
}

// calm takes packets until none has come for some time, at most for a limit.
func (x *attempt) calm(quiet, limit time.Duration) {
	end := x.lab.now() + limit
	for x.lab.now() < end && x.take(min(end, x.lab.now()+quiet)) != nil { //nolint:revive // all is done in the condition
	}
}

// find is the first packet of the target behind another one that has come and is what is looked for.
func (x *attempt) find(behind *packet, wanted func(p *packet) bool) *packet {
	for _, p := range x.packets[behind.index+1:] {
		if !p.sent && wanted(p) {
			return p
		}
	}
	return nil
}

// violation is what is looked at in every packet of the target, and judged by a scenario of its own.
type violation uint8

const (
	violationMalformed violation = iota
	violationICRC
	violationECN
	violationReserved
	violationPartition
	violationUnusedPSN
	violationAnswerPort
	violationSharedPort
	violationACKNumber
	violationReneged
	violationPath
)

// offence is the first packet that did so.
type offence struct {
	expected, seen string
	packet         *packet
}

func (x *attempt) violate(v violation, expected, seen string, p *packet) {
	if x.violations[v] == nil {
		x.violations[v] = &offence{expected: expected, seen: seen, packet: p}
	}
}

// check fails when a packet of the target did so.
func (x *attempt) check(v violation) {
	if o := x.violations[v]; o != nil {
		x.fail(o.expected, o.seen, o.packet)
	}
}

// watch looks at what holds for every packet.
func (x *attempt) watch(c *conn, p *packet) {
	want := dissector.ECNNotECT
	if p.CH.Type.Sequenced() {
		want = dissector.ECNECT0
	}
	if p.ecn != want && p.ecn != dissector.ECNCE { // which a switch may set
		x.violate(violationECN, fmt.Sprintf("%s sent with ECN %d", p.CH.Type, want), fmt.Sprintf("ECN %d", p.ecn), p)
	}
	if at := reservedBits(p); at != "" {
		x.violate(violationReserved, "reserved fields sent as zero", at+" is not zero in "+p.text(), p)
	}
	if p.CH.PartitionKey != x.lab.config.PartitionKey && !p.is(mr0.TypeConnRej) {
		x.violate(violationPartition, fmt.Sprintf("partition key 0x%04x", x.lab.config.PartitionKey), fmt.Sprintf("0x%04x in %s", p.CH.PartitionKey, p.text()), p)
	}
	if !p.CH.Type.Sequenced() && p.CH.Type != mr0.TypeACK && p.CH.PSN != 0 {
		x.violate(violationUnusedPSN, "psn 0 in packets that take none", fmt.Sprintf("psn %d in %s", p.CH.PSN, p.text()), p)
	}
	c.watch(p)
}

// reservedBits names a reserved field that is not zero.
func reservedBits(p *packet) string {
	switch {
	case p.CH.Flags&^mr0.KnownFlags != 0:
		return "flags"
	case p.Has&mr0.HasCONN != 0 && p.CONN.Reserved != 0:
		return "CONN.reserved"
	case p.Has&mr0.HasREJ != 0 && p.REJ.Reserved != 0:
		return "REJ.reserved"
	case p.Has&mr0.HasDISC != 0 && p.DISC.Reserved != 0:
		return "DISC.reserved"
	case p.Has&mr0.HasDH != 0 && p.DH.Reserved != 0:
		return "DH.reserved"
	case p.Has&mr0.HasSETH != 0 && p.SETH.Reserved != 0:
		return "SETH.reserved"
	case p.Has&mr0.HasACKH != 0 && p.ACKH.Reserved != 0:
		return "ACKH.reserved"
	case p.Has&mr0.HasNAKH != 0 && p.NAKH.Reserved != 0:
		return "NAKH.reserved"
	}
	return ""
}
