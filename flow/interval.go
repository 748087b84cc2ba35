package flow

// Moment is a point in the sequence of packets that a [Tracker] has observed.
type Moment uint64

// Cut ends an interval: it emits a record of each flow of which something was counted since the cut before, in the order
// in which that began, and keeps all that is known of the flows, so that a packet and its retransmission on both sides of
// the cut are counted as what they are. From the first cut on, a record tells
//
//   - what was counted since the record of the flow before: all numbers of packets, bytes, operations, PSNs and
//     acknowledgments add up, over the records of a flow, to those of the record that a tracker without cuts emits. Where
//     something is taken back that an earlier record told (a PSN that was missing comes after all), the number is negative;
//     see [Count.Signed];
//   - minima, maxima, means, latencies, first and last packets: of the interval. Without a packet of the flow itself, be it
//     that its packets were acknowledged, times and numbers of packets are unknown and 0;
//   - all else (addresses, pairing, PSNs, ports, MTU, handshake, what receivers counted, smoothed round trips): as it is
//     known by then.
//
// Only paths and streams of which something was counted are told. Flush and the eviction of a flow emit a record only when
// something is left to tell.
func (t *Tracker) Cut() Moment {
	if !t.cutting {
		t.cutting = true
		for _, e := range t.order.heap {
			t.awake.add(e.flow)
		}
		for _, f := range t.metaFlows() {
			t.meta.awake.add(f.number)
		}
	}
	for _, number := range t.awake.numbers {
		if f := t.flows.at(number); f.hash != 0 {
			t.fill(f)
			t.tell(&f.told)
			f.rnrTimerMax = 0
		}
	}
	for _, number := range t.meta.awake.numbers {
		if f := t.meta.flows[number]; f != nil && !f.gone {
			t.fillMeta(f)
			t.tell(&f.told)
			f.startInterval()
		}
	}
	t.awake.clear()
	t.meta.awake.clear()
	t.cut = t.stamp
	return Moment(t.stamp)
}

// Expire forgets connections of which no packet came since a cut. Their flows begin anew when another comes.
func (t *Tracker) Expire(since Moment) {
	for {
		number, stamp, ok := t.order.oldest(t.connectionSeen)
		if !ok || stamp > uint64(since) {
			break
		}
		t.expired = true
		t.order.remove()
		t.forgetFlow(t.flows.at(number))
	}
	for {
		number, stamp, ok := t.meta.order.oldest(t.meta.connectionSeen)
		if !ok || stamp > uint64(since) {
			break
		}
		t.meta.order.remove()
		t.forgetMeta(number)
	}
	if t.flows.live() == 0 && len(t.flows.chunks) > 1 { // what a rush of flows had needed
		t.flows = slab{}
		t.awake.clear()
		clear(t.offers)
	}
}

// connectionSeen is when a flow or the other direction of its connection was seen last.
func (t *Tracker) connectionSeen(number uint32) uint64 {
	f := t.flows.at(number)
	if f.reverse != 0 {
		return max(f.stamp, t.flows.at(f.reverse-1).stamp)
	}
	return f.stamp
}

func (t *metaTracker) connectionSeen(number uint32) uint64 {
	f := t.flows[number]
	if f.reverse != nil {
		return max(f.stamp, f.reverse.stamp)
	}
	return f.stamp
}

// resume takes the first packet of a flow since the latest cut.
func (t *Tracker) resume(f *flow, number uint64, time int64) {
	f.firstNumber, f.firstTime = number, time
	t.awake.add(f.number)
}

// resumeMeta is resume for MetaRoCE.
func (t *Tracker) resumeMeta(f *metaFlow, number uint64) {
	f.firstNumber, f.hasTime = number, false
	t.meta.awake.add(f.number)
}

// stir notes that something is counted of a flow without a packet of its own.
func (t *Tracker) stir(f *flow) {
	if f.stamp <= t.cut {
		t.awake.add(f.number)
	}
}

// startInterval begins anew with what is told of each interval by itself.
func (f *metaFlow) startInterval() {
	f.rnrTimerMax = 0
	f.hint.startInterval()
	for _, s := range f.paths {
		if s != nil {
			s.startInterval()
		}
	}
	for _, s := range f.streams {
		s.firstNumber, s.hasTime = 0, false
		if s.latency != nil && s.latency.count != 0 {
			*s.latency = histogram{}
		}
	}
}

func (h *hints) startInterval() {
	h.min, h.max, h.unlimited = h.last, h.last, 0
}

func (s *metaPath) startInterval() {
	s.firstNumber, s.hasTime = 0, false
	s.hint.startInterval()
	s.rtt.samples = 0
	s.flights, s.flightSum, s.flightMax = 0, 0, min(s.flight(), s.flightMax)
	for i := range s.ports[:s.portCount] {
		s.ports[i].Packets = 0
	}
	if !s.failed() {
		s.firstProbe, s.lastProbe, s.firstProbeTime = Count{}, Count{}, Count{}
	}
}

// usedPorts are the ports that had packets in the interval.
func (t *Tracker) usedPorts(ports []PortUse) []PortUse {
	from := len(t.meta.ports)
	for _, p := range ports {
		if p.Packets > 0 {
			t.meta.ports = append(t.meta.ports, p)
		}
	}
	return t.meta.ports[from:len(t.meta.ports):len(t.meta.ports)]
}

// roster is numbers of flows, each once.
type roster struct {
	numbers []uint32
	on      []uint64 // a bit a number
}

func (r *roster) add(number uint32) {
	for int(number/64) >= len(r.on) {
		r.on = append(r.on, 0)
	}
	if bit := uint64(1) << (number % 64); r.on[number/64]&bit == 0 {
		r.on[number/64] |= bit
		r.numbers = append(r.numbers, number)
	}
}

func (r *roster) clear() {
	for _, number := range r.numbers {
		r.on[number/64] = 0
	}
	r.numbers = r.numbers[:0]
}

// told is what the records of a flow have told so far.
type told struct {
	counts [flowCounts]uint64
	naks   *[32]uint64 // allocated with the first
}

const (
	flowCounts   = 37
	pathCounts   = 20
	streamCounts = 12
)

// tell emits the record at hand, after a cut only what is new in it.
func (t *Tracker) tell(before **told) {
	if t.cutting {
		if *before == nil {
			*before = new(told)
		}
		if !t.record.since(*before) {
			return
		}
	}
	t.emit(&t.record)
}

// difference takes off numbers what was told, in the order in which it is given them.
type difference struct {
	told []uint64
	any  bool // something is left
}

func (d *difference) plain(numbers ...*uint64) {
	for _, n := range numbers {
		whole := *n
		*n -= d.told[0]
		d.told[0] = whole
		d.told = d.told[1:]
		d.any = d.any || *n != 0
	}
}

// counts leaves out what is unknown: a later record tells it, once it is known.
func (d *difference) counts(counts ...*Count) {
	for _, c := range counts {
		if c.Known {
			d.plain(&c.N)
		} else {
			d.told = d.told[1:]
		}
	}
}

// since takes off what was told. It reports whether there is anything else.
func (r *Record) since(before *told) bool {
	d := difference{told: before.counts[:]}
	d.plain(
		&r.Packets, &r.Bytes, &r.PayloadBytes, &r.MirrorCopies, &r.Acks, &r.RNRNaks, &r.CNPs,
		&r.ICRCGood, &r.ICRCBad, &r.ICRCUndetermined, &r.Truncated, &r.Malformed,
		&r.Operations.Send, &r.Operations.Write, &r.Operations.ReadRequest, &r.Operations.Atomic, &r.Operations.ReadResponse,
		&r.Operations.AtomicResponse, &r.Operations.Ack, &r.Operations.Datagram, &r.Operations.Other,
	)
	d.counts(
		&r.GoodputBytes, &r.Messages, &r.PSNGaps, &r.MissingPSNs, &r.MissingAcknowledged, &r.Retransmitted, &r.RetransmittedNAK,
		&r.RetransmittedRNR, &r.RetransmittedTimeout, &r.OutOfOrder, &r.Duplicates, &r.CEMarked, &r.ECTMarked,
	)
	if x := r.MetaRoCE; x != nil {
		d.plain(&x.Requests, &x.Probes, &x.UntrackedStreams)
	}
	if r.Naks != [32]uint64{} {
		if before.naks == nil {
			before.naks = new([32]uint64)
		}
		d.told = before.naks[:]
		for i := range r.Naks {
			d.plain(&r.Naks[i])
		}
	}
	if r.Packets == 0 {
		r.HasTime, r.FirstTime, r.LastTime, r.FirstNumber, r.LastNumber = false, 0, 0, 0, 0
	}
	return d.any || r.MetaRoCE != nil && len(r.MetaRoCE.Paths)+len(r.MetaRoCE.Streams) > 0
}

// since is the same for a path.
func (p *PathRecord) since(before *[pathCounts]uint64) bool {
	d := difference{told: before[:]}
	d.plain(
		&p.PlaneChanges, &p.RePaths, &p.Packets, &p.Bytes, &p.PayloadBytes, &p.PSNGaps, &p.MissingPSNs, &p.Retransmitted,
		&p.RetransmittedSeen, &p.RetransmittedMoved, &p.OutOfOrder, &p.Duplicates, &p.Probes, &p.CEMarked, &p.ECTMarked, &p.Naks,
	)
	d.counts(&p.MissingAcknowledged, &p.RetransmittedGap, &p.RetransmittedRNR, &p.Acks)
	if p.Packets == 0 {
		p.HasTime, p.FirstTime, p.LastTime, p.FirstNumber, p.LastNumber = false, 0, 0, 0, 0
	}
	return d.any
}

// since is the same for a stream.
func (s *StreamRecord) since(before *[streamCounts]uint64) bool {
	d := difference{told: before[:]}
	d.plain(
		&s.Messages, &s.Writes, &s.Sends, &s.Reads, &s.Atomics, &s.Packets, &s.PayloadBytes, &s.GoodputBytes, &s.ResponseBytes,
		&s.Retransmitted, &s.Naks,
	)
	d.counts(&s.Complete)
	if s.Packets == 0 {
		s.HasTime, s.FirstTime, s.LastTime, s.FirstNumber, s.LastNumber = false, 0, 0, 0, 0
	}
	return d.any
}
