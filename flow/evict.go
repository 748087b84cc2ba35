package flow

// eviction finds the flow that was seen least recently. It is a heap by the time of the last packet, but
// times are brought up to date only when a flow comes to the top: they only grow, so a top that is up to
// date is the least of all, and packets of known flows cost nothing here.
type eviction struct {
	heap []lastSeen
}

type lastSeen struct {
	stamp uint64
	flow  uint32
}

// add appends a new flow. It is the most recent, so the heap stays one.
func (e *eviction) add(flow uint32, stamp uint64) { e.heap = append(e.heap, lastSeen{stamp, flow}) }

// pop takes out the flow that was seen least recently, given when each was seen last.
func (e *eviction) pop(seen func(flow uint32) uint64) uint32 {
	flow, _, _ := e.oldest(seen)
	e.remove()
	return flow
}

// oldest brings the flow that was seen least recently to the top, and tells when that was; false when there is none.
func (e *eviction) oldest(seen func(flow uint32) uint64) (flow uint32, stamp uint64, ok bool) {
	for len(e.heap) > 0 {
		top := &e.heap[0]
		now := seen(top.flow)
		if now == top.stamp {
			return top.flow, now, true
		}
		top.stamp = now
		e.sink()
	}
	return 0, 0, false
}

// remove takes out the top.
func (e *eviction) remove() {
	last := len(e.heap) - 1
	e.heap[0] = e.heap[last]
	e.heap = e.heap[:last]
	e.sink()
}

// sink moves the top down to its place.
func (e *eviction) sink() {
	h := e.heap
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].stamp < h[least].stamp {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// evict emits and forgets the flow that was seen least recently.
func (t *Tracker) evict() {
	f := t.flows.at(t.order.pop(func(i uint32) uint64 { return t.flows.at(i).stamp }))
	t.totals.EvictedFlows++
	t.forgetFlow(f)
}

// forgetFlow emits the flow, which is no longer in the order of eviction, and lets go of it.
func (t *Tracker) forgetFlow(f *flow) {
	t.hear(f)
	t.finish(f)
	t.part(f)
	t.table.remove(&t.flows, f.hash, f.number)
	t.flows.give(f.number)
	t.latest = nil
}
