package conversation

// recent is a map that forgets its oldest keys when it is full.
type recent[K comparable, V any] struct {
	values map[K]V
	order  []K // in which keys came, from next on and round
	next   int
	limit  int
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

func (r *recent[K, V]) put(key K, value V) {
	if r.values == nil {
		r.values = map[K]V{}
	}
	if _, known := r.values[key]; !known {
		if len(r.order) < r.limit {
			r.order = append(r.order, key)
		} else {
			delete(r.values, r.order[r.next])
			r.order[r.next] = key
			r.next = (r.next + 1) % r.limit
		}
	}
	r.values[key] = value
}

// remove forgets a key. Its place in the order stays until it is its turn.
func (r *recent[K, V]) remove(key K) { delete(r.values, key) }
