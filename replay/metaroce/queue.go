package metaroce

// queue is a first-in first-out ring that grows and keeps its memory.
type queue[T any] struct {
	items []T // a power of two
	head  int
	count int
}

func (q *queue[T]) len() int { return q.count }

// at is the i-th item from the front, 0 the front itself.
func (q *queue[T]) at(i int) *T { return &q.items[(q.head+i)&(len(q.items)-1)] }

func (q *queue[T]) push(v T) {
	if q.count == len(q.items) {
		grown := make([]T, max(4, 2*len(q.items)))
		for i := range q.count {
			grown[i] = *q.at(i)
		}
		q.items, q.head = grown, 0
	}
	q.count++
	*q.at(q.count - 1) = v
}

func (q *queue[T]) pop() T {
	front := q.at(0)
	v := *front
	var zero T
	*front = zero
	q.head = (q.head + 1) & (len(q.items) - 1)
	q.count--
	return v
}

// keep drops the items that fail the test, in place.
func (q *queue[T]) keep(test func(T) bool) {
	for range q.count {
		if v := q.pop(); test(v) {
			q.push(v)
		}
	}
}

// pathSet is a set of path ids, 0 to 127.
type pathSet [2]uint64

func (s *pathSet) add(i uint8)    { s[i>>6] |= 1 << (i & 63) }
func (s *pathSet) remove(i uint8) { s[i>>6] &^= 1 << (i & 63) }
func (s *pathSet) empty() bool    { return s[0]|s[1] == 0 }
