package roce

// queue is a first-in first-out ring that grows and keeps its memory.
type queue[T any] struct {
	items []T // a power of two
	head  int
	count int
}

func (q *queue[T]) len() int { return q.count }

// at is the i-th item from the front, 0 the front itself.
func (q *queue[T]) at(i int) *T { return &q.items[(q.head+i)&(len(q.items)-1)] }

// tail is the item pushed last, or nil.
func (q *queue[T]) tail() *T {
	if q.count == 0 {
		return nil
	}
	return q.at(q.count - 1)
}

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
