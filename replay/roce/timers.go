package roce

// timerHeap has the queue pairs that wait for a time, the earliest first.
type timerHeap []*QP

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].deadline < h[j].deadline }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timerIndex, h[j].timerIndex = i, j
}

// Push is for container/heap.
func (h *timerHeap) Push(x any) {
	q, _ := x.(*QP)
	q.timerIndex = len(*h)
	*h = append(*h, q)
}

// Pop is for container/heap.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	q.timerIndex = -1
	return q
}
