package flow

import (
	"errors"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Tracker keeps the flows of one capture, or of one share of its connections (see [Affinity]). Packets must
// come in the order in which they were captured; time stamps may be absent or go backwards.
type Tracker struct {
	config Config
	emit   func(*Record)
	record Record // handed to emit, reused

	table  table
	flows  slab
	latest *flow  // of the latest packet, when its key is a simple one
	stamp  uint64 // packets observed
	length uint16 // payload of the packet at hand
	totals Totals
	pairs  uint64
	order  eviction
	closed uint64 // pairs whose records were emitted

	cutting bool   // Cut was called: records tell what is new
	expired bool   // flows were forgotten since they were silent
	cut     uint64 // packets observed by the latest Cut
	awake   roster // flows of which something may have been counted since

	offers   []offer
	cm       manager
	meta     metaTracker
	warmed   uint64    // makes the loads of Warm count
	original *sighting // of the latest mirror copy, nil when it is forgotten

	revisions     [maxRevisions]Revision
	revisionStart int
	revisionCount int
}

// NewTracker makes a tracker that hands each record to emit, when its flow is evicted or at Flush. The
// record is valid during the call only.
func NewTracker(c Config, emit func(*Record)) *Tracker {
	return &Tracker{
		config: c.withDefaults(),
		emit:   emit,
		table:  newTable(),
		offers: make([]offer, pairSlots),
		cm:     newManager(),
	}
}

// Observe takes the next packet, as Decode left it, with the error that Decode returned and the verdict on
// its ICRC. It keeps nothing of p. In steady state, when no new flow appears, it allocates nothing.
func (t *Tracker) Observe(p *dissector.Packet, err error, icrc dissector.ICRCState) Observation {
	t.stamp++
	bytes := wireBytes(p)
	t.totals.Packets++
	t.totals.Bytes += bytes
	var o Observation
	if err != nil || !p.IsRDMA() {
		t.observeUnusual(p, err, icrc, bytes, &o)
	} else {
		t.countRDMA(icrc, bytes)
		f := t.flowOf(p)
		f.touch(p, icrc, bytes)
		o.Flow = ID(f.hash)
		t.length = p.PayloadLength
		if c := classes[p.BTH.Opcode]; c&classMiddle == 0 || !t.follow(f, p, c, &o) {
			t.track(f, p, c, icrc, &o)
		}
		if icrc == dissector.ICRCBad {
			f.damaged(p, o.Flags)
		}
	}
	if t.revisionCount != 0 {
		o.Revised, _ = t.Revised()
	}
	return o
}

// Skip counts a packet of RDMA in the totals, and follows nothing: the totals of what was seen stay whole when only a part of
// all connections can be followed. That must be the same part for all packets between two flushes.
func (t *Tracker) Skip(p *dissector.Packet) {
	bytes := wireBytes(p)
	t.totals.Packets++
	t.totals.Bytes += bytes
	t.countRDMA(dissector.ICRCNotChecked, bytes)
}

// countRDMA adds a packet that has a base transport header to the totals.
func (t *Tracker) countRDMA(icrc dissector.ICRCState, bytes uint64) {
	t.totals.RDMAPackets++
	t.totals.RDMABytes += bytes
	switch icrc {
	case dissector.ICRCBad:
		t.totals.ICRCErrors++
	case dissector.ICRCUndetermined:
		t.totals.ICRCUndetermined++
	case dissector.ICRCNotChecked, dissector.ICRCGood:
	}
}

// observeUnusual takes packets that Decode complained about, and those that are not RDMA.
func (t *Tracker) observeUnusual(p *dissector.Packet, err error, icrc dissector.ICRCState, bytes uint64, o *Observation) {
	if p.Protocol == dissector.ProtocolMetaRoCE && err == nil {
		t.observeMeta(p, nil, icrc, bytes, o)
		return
	}
	truncated, malformed := errors.Is(err, dissector.ErrTruncated), errors.Is(err, dissector.ErrMalformed)
	switch {
	case truncated:
		t.totals.Truncated++
	case malformed:
		t.totals.Malformed++
	case p.Protocol == dissector.ProtocolPause:
		t.totals.PauseFrames++
	case errors.Is(err, dissector.ErrUnsupported):
		t.totals.Unsupported++
	case !p.IsRDMA():
		t.totals.NotRDMA++
	}
	if !p.IsRDMA() {
		if Tracks(p) {
			t.observeMeta(p, err, icrc, bytes, o)
		}
		return
	}
	t.countRDMA(icrc, bytes)
	if malformed {
		// Garbage makes no flow, but it is held against one that is there.
		var k Key
		keyOf(p, &k)
		f, _ := t.lookUp(&k)
		if f == nil {
			if isMarked(p) {
				t.totals.CEMarked++
			}
			return
		}
		f.mark(t, p)
		f.touch(p, icrc, bytes)
		t.see(f, p)
		f.troubled().malformed++
		o.Flow = ID(f.hash)
		return
	}
	f := t.flowOf(p)
	f.touch(p, icrc, bytes)
	o.Flow = ID(f.hash)
	if truncated {
		f.truncated++
		t.length = cutPayload(p)
		t.track(f, p, classes[p.BTH.Opcode], icrc, o)
		return
	}
	f.operations.Other++
	f.mark(t, p)
	if icrc == dissector.ICRCBad {
		f.damaged(p, o.Flags)
	}
}

// cutPayload is how long the payload was of a packet that was cut within its headers.
func cutPayload(p *dissector.Packet) uint16 {
	headers, ok := p.BTH.Opcode.Headers()
	if !ok || p.ICRCOffset == 0 {
		return 0
	}
	for i := int(p.LayerCount) - 1; i >= 0; i-- {
		if p.Layers[i].Type == dissector.LayerBTH {
			start := int(p.Layers[i].Offset) + headers.Length() + int(p.BTH.PadCount)
			return uint16(max(0, int(p.ICRCOffset)-start))
		}
	}
	return 0
}

// wireBytes is the packet's length on the wire. A capture that says less than it holds is not believed.
func wireBytes(p *dissector.Packet) uint64 {
	n := uint64(p.Meta.OriginalLength)
	if n >= uint64(len(p.Data)) {
		return n
	}
	if p.ICRCOffset != 0 {
		return uint64(p.ICRCOffset) + infiniband.ICRCLength + uint64(p.Meta.FCSLength)
	}
	return uint64(len(p.Data))
}

// track follows what the packet means to its flow.
func (t *Tracker) track(f *flow, p *dissector.Packet, c class, icrc dissector.ICRCState, o *Observation) {
	f.payload += uint64(t.length)
	switch {
	case p.BTH.Opcode.IsCNP():
		t.notify(f, p, o)
	case f.service == infiniband.ServiceUD && c&classRequest != 0:
		t.datagram(f, p, o)
	case !f.ordered():
		t.untracked(f, p, c)
	case icrc == dissector.ICRCBad && !f.credible(p, c):
		f.duplicatePayload += uint64(t.length) // it will be sent again
	case c&classRequest != 0:
		t.request(f, p, c, o)
	case c&classAck != 0:
		t.acknowledge(f, p, o)
	case c&classResponse != 0:
		t.respond(f, p, c, o)
	default:
		f.operations.Other++
	}
	found := o.Flags & (FlagMirrorCopy | FlagRetransmitted | FlagDuplicate)
	if found == FlagMirrorCopy {
		t.discount(f, icrc)
		return
	}
	if found == FlagRetransmitted {
		f.latest().note(p, sightFilled)
	}
	f.mark(t, p)
}

// credible tells whether the PSN of a packet with a wrong ICRC can be believed: where those of other packets are
// right, it may be what was damaged, so only one that is due or was passed can.
func (f *flow) credible(p *dissector.Packet, c class) bool {
	s := &f.answers
	if c&classRequest != 0 {
		s = &f.requests
	}
	at := s.extend(p.BTH.PSN)
	return f.usual == dissector.ICRCBad || s.watch&watchStart != 0 || (at <= s.next && s.next-at <= maxBack)
}

// notify counts a congestion notification.
func (t *Tracker) notify(f *flow, p *dissector.Packet, o *Observation) {
	if t.isCopy(f, p, circumstances{answer: sightAnswer, distinct: true, once: true}) {
		t.copied(f, p, o)
		return
	}
	f.remember(p, sightAnswer)
	f.cnps++
	t.totals.CNPs++
}

// datagram counts a UD SEND, each of which is a message.
func (t *Tracker) datagram(f *flow, p *dissector.Packet, o *Observation) {
	if t.isCopy(f, p, circumstances{}) {
		t.copied(f, p, o)
		return
	}
	f.remember(p, 0)
	f.noteID(p.Network.ID)
	f.requestPSNs.extend(p.BTH.PSN)
	f.operations.Datagram++
	f.messages.count++
	t.totals.Messages++
	o.Message = uint32(f.messages.count)
	t.manage(p)
}

// untracked counts packets of services whose PSNs do not follow one sequence: RD, which ConnectX's dynamic
// connections use in their own way.
func (t *Tracker) untracked(f *flow, p *dissector.Packet, c class) {
	ops := &f.operations
	switch {
	case c&classAck != 0:
		ops.Ack++
		if p.Has&infiniband.HasAETH != 0 {
			t.countAck(f, p.AETH.Syndrome)
		}
	case c&classReadResponse != 0:
		ops.ReadResponse++
	case c&classAtomicResponse != 0:
		ops.AtomicResponse++
	case c&classStarts == 0:
		if c&classRequest == 0 {
			ops.Other++
		}
	case c&classSend != 0:
		ops.Send++
	case c&classWrite != 0:
		ops.Write++
	case c&classRead != 0:
		ops.ReadRequest++
	case c&classAtomic != 0:
		ops.Atomic++
	default:
		ops.Other++
	}
}

// damaged takes note of a wrong ICRC.
func (f *flow) damaged(p *dissector.Packet, flags Flags) {
	if flags&FlagMirrorCopy == 0 {
		f.latest().note(p, sightBad)
	}
	f.findPort(p)
}

// findPort looks for the UDP source port that would make a wrong ICRC right, on the first few packets.
func (f *flow) findPort(p *dissector.Packet) {
	const tries = 4
	if f.rewritten != 0 || f.portTries >= tries {
		return
	}
	f.portTries++
	if port, ok := dissector.FindRewrittenPort(p); ok {
		f.rewritten = uint32(port) + 1
	}
}
