package main

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/flow"
)

// flowSort names what flows are ordered by.
type flowSort string

// sortKeys give the number to sort by, largest first. Unknown counts as less than nothing.
var sortKeys = map[flowSort]func(*flow.Record) float64{
	"bytes":         func(r *flow.Record) float64 { return float64(r.Bytes) },
	"packets":       func(r *flow.Record) float64 { return float64(r.Packets) },
	"messages":      func(r *flow.Record) float64 { return countKey(r.Messages) },
	"rate":          rateKey,
	"retransmitted": func(r *flow.Record) float64 { return countKey(r.Retransmitted) },
	"out-of-order":  func(r *flow.Record) float64 { return countKey(r.OutOfOrder) },
	"missing":       func(r *flow.Record) float64 { return countKey(r.MissingPSNs) },
	"naks":          func(r *flow.Record) float64 { return float64(document.Naks(r)) },
	"rnr":           func(r *flow.Record) float64 { return float64(r.RNRNaks) },
	"cnps":          func(r *flow.Record) float64 { return float64(r.CNPs) },
	"ce":            func(r *flow.Record) float64 { return countKey(r.CEMarked) },
	"icrc":          func(r *flow.Record) float64 { return float64(r.ICRCBad) },
	"time":          func(r *flow.Record) float64 { return -float64(r.FirstNumber) },
}

// flowSortNames is the list for the command line.
func flowSortNames() string {
	names := make([]string, 0, len(sortKeys))
	for name := range sortKeys {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

func countKey(c flow.Count) float64 {
	if !c.Known {
		return -1
	}
	return float64(c.N)
}

func rateKey(r *flow.Record) float64 {
	v, ok := document.Rate(r)
	if !ok {
		return -1
	}
	return v
}

// topFlows keeps the flows that come first by an order, at most limit of them; 0 is no limit.
type topFlows struct {
	sort  flowSort
	limit int
	seen  uint64
	kept  []flow.Record // a heap whose root comes last
}

// Flow takes a record.
func (t *topFlows) Flow(r *flow.Record) error {
	t.seen++
	if t.limit > 0 && len(t.kept) == t.limit {
		if t.compare(r, &t.kept[0]) < 0 {
			t.kept[0] = r.Clone()
			heap.Fix(t, 0)
		}
		return nil
	}
	t.kept = append(t.kept, r.Clone())
	heap.Fix(t, len(t.kept)-1)
	return nil
}

// sorted are the kept flows in their order. The heap is gone afterwards.
func (t *topFlows) sorted() []flow.Record {
	slices.SortFunc(t.kept, func(x, y flow.Record) int { return t.compare(&x, &y) })
	return t.kept
}

// compare is negative when x comes before y. Equal flows keep the order of their first packets, so that
// output never depends on anything else.
func (t *topFlows) compare(x, y *flow.Record) int {
	key := sortKeys[t.sort]
	return cmp.Or(cmp.Compare(key(y), key(x)), cmp.Compare(x.FirstNumber, y.FirstNumber), cmp.Compare(x.ID, y.ID))
}

// Len is part of heap.Interface.
func (t *topFlows) Len() int { return len(t.kept) }

// Less is part of heap.Interface.
func (t *topFlows) Less(i, j int) bool { return t.compare(&t.kept[i], &t.kept[j]) > 0 }

// Swap is part of heap.Interface.
func (t *topFlows) Swap(i, j int) { t.kept[i], t.kept[j] = t.kept[j], t.kept[i] }

// Push is part of heap.Interface; elements are appended by Flow.
func (t *topFlows) Push(any) {}

// Pop is part of heap.Interface; nothing is taken out.
func (t *topFlows) Pop() any { return nil }
