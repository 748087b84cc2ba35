package softmetaroce

import "time"

// held is a datagram that is sent later.
type held struct {
	at       time.Duration
	order    uint64
	socket   *socket
	outgoing outgoing
}

// heldHeap orders by time, then by arrival.
type heldHeap []held

func (h heldHeap) Len() int { return len(h) }
func (h heldHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h heldHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a datagram for the heap package.
func (h *heldHeap) Push(x any) {
	if v, ok := x.(held); ok {
		*h = append(*h, v)
	}
}

// Pop removes the last one for the heap package.
func (h *heldHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = held{}
	*h = old[:len(old)-1]
	return last
}
