package simulation

import "time"

// event is a frame that leaves a link, or a host that wants to be woken.
type event struct {
	at    time.Duration
	order uint64 // of two at the same time the one that was planned first comes first
	frame *transit
	host  int
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// events is a heap.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	q := *h
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q[parent].before(&e) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = e
}

func (h *events) pop() event {
	q := *h
	top := q[0]
	last := q[len(q)-1]
	q[len(q)-1] = event{}
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1].before(&q[child]) {
			child++
		}
		if last.before(&q[child]) {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = last
	return top
}
