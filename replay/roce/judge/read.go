package judge

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// read is a READ or atomic request: what is answered by data, and of what only so many may be under way.
type read struct {
	start, end position // end is behind the last PSN of the answer
	number     uint64
	last       uint64 // number of the latest copy
	address    uint64
	length     uint32
	known      bool // the RETH was captured
	sure       bool // end is certain
	begins     bool // so is start: what stands before it was seen, and so it is not the rest of an earlier request
	atomic     bool
	done       bool // its last answer was seen
	copies     uint8
	crowd      uint64 // number of a later request with which there were too many
	original   uint64 // what an atomic found
	answered   uint64 // number of the packet that said so; of a READ: of the latest answer
}

// maxReads is how many are remembered; an end may have 255 under way, few have more than 16.
const maxReads = 32

type reads struct {
	list   [maxReads]read
	newest int // index of the latest
	count  uint64
}

func (r *reads) init() { *r = reads{} }

func (r *reads) add() *read {
	r.newest = (r.newest + 1) % maxReads
	r.count++
	r.list[r.newest] = read{}
	return &r.list[r.newest]
}

// find is the request whose answer has the PSN.
func (r *reads) find(p position) *read {
	for i := range min(r.count, maxReads) {
		q := &r.list[(r.newest+maxReads-int(i))%maxReads]
		if q.start <= p && p < q.end {
			return q
		}
	}
	return nil
}

// waiting counts requests of which the last answer was not seen, and finds the oldest of them.
func (r *reads) waiting() (n int, oldest *read) {
	for i := range min(r.count, maxReads) {
		q := &r.list[(r.newest+maxReads-int(i))%maxReads]
		if !q.done {
			n++
			oldest = q
		}
	}
	return n, oldest
}

// ask notes a READ or an atomic, and returns how many PSNs it takes.
func (d *dialogue) ask(p position, e *event) position {
	r := d.reads.add()
	*r = read{start: p, end: p + 1, number: e.number, last: e.number, copies: 1, sure: true, atomic: e.opcode.IsAtomic()}
	_, _, r.begins, _ = d.before(p)
	d.depth(e)
	if r.atomic {
		return 1
	}
	if !e.has(infiniband.HasRETH) {
		r.sure, d.open = false, true
		return 1
	}
	r.known, r.address, r.length = true, e.packet.RETH.VirtualAddress, e.packet.RETH.DMALength
	switch {
	case d.mtu != 0:
		r.end = p + spanOf(r.length, d.mtu)
	case r.length > 256:
		r.sure, d.open = false, true
	}
	return r.end - p
}

// depth counts what is under way when another READ or atomic is sent.
func (d *dialogue) depth(e *event) {
	a := d.agreed
	if a == nil || !a.ReadDepthKnown {
		return
	}
	n, oldest := d.reads.waiting()
	if n <= int(a.ReadDepth) {
		d.c.conforms(finding.RoCEReadDepth)
		return
	}
	if oldest.crowd == 0 {
		oldest.crowd = e.number
	}
}

// crowded says that too many were under way, once the answer to the oldest has come: then all were.
func (d *dialogue) crowded(r *read, e *event) {
	if r.crowd == 0 || r.copies > 1 || r.number > r.crowd {
		return
	}
	depth := d.agreed.ReadDepth
	d.c.find(d.lane, finding.RoCEReadDepth, finding.Diverges, e, packets(r.number, r.crowd, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("at most %d under way", depth), fmt.Sprintf("%d or more", int(depth)+1)
		f.Sentence = fmt.Sprintf("When packet %d asked for another READ or atomic, more than %d were under way: the answer to packet %d came with packet %d.",
			r.crowd, depth, r.number, e.number)
	})
}

// askAgain takes a READ request whose PSN was passed.
func (d *dialogue) askAgain(r *read, p position, e *event) {
	r.copies += min(1, 255-r.copies)
	r.last = e.number
	r.done = false
	if r.atomic || !r.known || !r.sure || d.mtu == 0 || !e.has(infiniband.HasRETH) {
		return
	}
	if p+spanOf(e.packet.RETH.DMALength, d.mtu) == r.end {
		d.c.conforms(finding.RoCERetransmissionDiffers)
		return
	}
	d.c.find(d.lane, finding.RoCERetransmissionDiffers, finding.Diverges, e, packets(r.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("the rest of the %d bytes asked for", r.length), fmt.Sprintf("%d bytes from the %dth packet on", e.packet.RETH.DMALength, p-r.start+1)
		f.Sentence = fmt.Sprintf("Packet %d asks again for a part of the READ of packet %d, but not for what was left of it.", e.number, r.number)
	})
}

// inside looks at a request whose PSN was given to the answer of a READ.
func (d *dialogue) inside(r *read, p position, e *event) {
	if p == r.start || !r.sure || d.mtu == 0 {
		return
	}
	d.c.find(d.lane, finding.RoCEReadSpan, finding.Diverges, e, packets(r.number, e.number), func(f *finding.Finding) {
		f.Expected = fmt.Sprintf("PSN %d or later", uint64(r.end)&0xffffff)
		f.Seen = fmt.Sprintf("%s with PSN %d", e.opcode, e.psn)
		f.Sentence = fmt.Sprintf("The READ of packet %d asks for %d bytes and so takes %d PSNs; packet %d, %s, uses one of them.",
			r.number, r.length, r.end-r.start, e.number, e.opcode)
	})
}

// readResponse takes a packet of an answer to a READ.
func (d *dialogue) readResponse(q position, e *event) {
	r := d.reads.find(q)
	if r == nil {
		d.strangeResponse(q, e)
		return
	}
	if e.has(infiniband.HasAETH) {
		d.cover(r.start-1, e, false)
	}
	if r.atomic || !r.known || !r.sure || d.mtu == 0 {
		return
	}
	d.c.conforms(finding.RoCEReadResponsePSN)
	d.place(r, q, e)
	r.answered = e.number
	if q == r.end-1 {
		r.done = true
		d.crowded(r, e)
	}
}

// measured tells whether the length of an answer's packet follows from the READ: [dialogue.place] judges it.
func (d *dialogue) measured(q position) bool {
	r := d.reads.find(q)
	return r != nil && !r.atomic && r.known && r.sure
}

// settle takes the MTU that a packet tells, and computes the span of the READ whose answer does.
func (d *dialogue) settle(mtu uint32, number uint64) {
	d.mtu, d.mtuFrom = mtu, number
	if r := &d.reads.list[d.reads.newest]; d.reads.count != 0 && r.known && !r.sure && r.start+1 == d.next {
		r.end, r.sure = r.start+spanOf(r.length, mtu), true
		d.next, d.open = r.end, false
	}
}

// strangeResponse takes an answer to no READ that was seen.
func (d *dialogue) strangeResponse(q position, e *event) {
	s := d.ring.find(q)
	if s == nil || s.copies == 0 || (!s.opcode.IsSend() && !s.opcode.IsWrite()) {
		return
	}
	d.c.find(d.answers(), finding.RoCEReadResponsePSN, finding.Diverges, e, packets(s.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "an ACK", e.opcode.String()
		f.Sentence = fmt.Sprintf("Packet %d, %s, answers PSN %d, which packet %d used for %s.", e.number, e.opcode, e.psn, s.number, s.opcode)
	})
}

// place holds a packet of an answer against its place. A READ that was asked for again, from somewhere in its
// middle, is answered by a message that begins there.
func (d *dialogue) place(r *read, q position, e *event) {
	first, last := q == r.start, q == r.end-1
	o := e.opcode
	ok, begins := true, false
	switch {
	case o.IsOnly():
		ok, begins = last, !first
	case o.IsFirst():
		ok, begins = !last, !first
	case o.IsMiddle():
		ok = !last && (!first || !r.begins)
	case o.IsLast():
		ok = last && (!first || !r.begins)
	}
	verdict := finding.Diverges
	if ok && begins && r.copies == 1 { // as after a second request for the rest, which may have been missed
		ok = false
		d.evidence.readSequence.Add(true)
		missed, _ := d.doubt()
		verdict = d.evidence.readSequence.Verdict(min(0.5, missed))
	}
	if !ok {
		d.c.find(d.answers(), finding.RoCEReadResponseSequence, verdict, e, packets(r.number, e.number), func(f *finding.Finding) {
			f.Expected, f.Seen = placeName(first, last), o.String()
			f.Sentence = fmt.Sprintf("Packet %d is %s; it is packet %d of the %d that answer the READ of packet %d.", e.number, o, q-r.start+1, r.end-r.start, r.number)
		})
		return
	}
	d.c.conforms(finding.RoCEReadResponseSequence)
	d.evidence.readSequence.Add(false)
	if !e.whole {
		return
	}
	want := d.mtu
	if last {
		want = r.length - uint32(r.end-r.start-1)*d.mtu
	}
	if e.length == want {
		d.c.conforms(finding.RoCEReadResponseLength)
		return
	}
	d.c.find(d.answers(), finding.RoCEReadResponseLength, finding.Diverges, e, packets(r.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("%d bytes", want), fmt.Sprintf("%d bytes", e.length)
		f.Sentence = fmt.Sprintf("Packet %d, %s, carries %d bytes of the READ of packet %d; its place asks for %d.", e.number, o, e.length, r.number, want)
	})
}

func placeName(first, last bool) string {
	switch {
	case first && last:
		return "READ response ONLY"
	case first:
		return "READ response FIRST"
	case last:
		return "READ response LAST"
	}
	return "READ response MIDDLE"
}

// atomicAck takes the answer to an atomic.
func (d *dialogue) atomicAck(q position, e *event) {
	r := d.reads.find(q)
	if r == nil || !r.atomic {
		if s := d.ring.find(q); s != nil && s.copies > 0 && !s.opcode.IsAtomic() {
			d.c.find(d.answers(), finding.RoCEAtomicResponse, finding.Diverges, e, packets(s.number, e.number), func(f *finding.Finding) {
				f.Expected, f.Seen = "an answer to "+s.opcode.String(), e.opcode.String()
				f.Sentence = fmt.Sprintf("Packet %d, %s, answers PSN %d, which packet %d used for %s.", e.number, e.opcode, e.psn, s.number, s.opcode)
			})
		}
		return
	}
	d.c.conforms(finding.RoCEAtomicResponse)
	d.cover(r.start-1, e, false)
	original := e.packet.AtomicAckETH.OriginalData
	switch {
	case r.done && !e.has(infiniband.HasAtomicAckETH):
	case r.answered != 0 && original != r.original:
		d.c.find(d.answers(), finding.RoCEAtomicRepeated, finding.Diverges, e, packets(r.number, r.answered, r.last, e.number), func(f *finding.Finding) {
			f.Expected, f.Seen = fmt.Sprintf("0x%x, as in packet %d", r.original, r.answered), fmt.Sprintf("0x%x", original)
			f.Sentence = fmt.Sprintf("Packets %d and %d answer the atomic of PSN %d with different values: it was done twice.", r.answered, e.number, e.psn)
		})
	case r.answered != 0:
		d.c.conforms(finding.RoCEAtomicRepeated)
	default:
		r.original, r.answered = original, e.number
	}
	r.done = true
	d.crowded(r, e)
}
