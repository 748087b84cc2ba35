package roce

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// keep holds a packet that stands behind a gap, for a selective receiver. The IBTA drops it; NICs that repeat
// selectively place it at once, which nobody can tell from the wire.
func (q *QP) keep(sequence uint64, p *dissector.Packet) {
	if len(q.reorder) >= q.config.ReorderLimit || sequence-q.expected > uint64(q.config.ReorderLimit) {
		return
	}
	if _, known := q.reorder[sequence]; known {
		return
	}
	if q.reorder == nil {
		q.reorder = map[uint64][]byte{}
	}
	q.statistics.Reordered++
	q.reorder[sequence] = append([]byte(nil), p.Data...)
}

// resume takes the packets that followed the gap, and asks for the next one that is missing.
func (q *QP) resume(now time.Duration) {
	for len(q.reorder) > 0 {
		sequence := q.expected
		frame, ok := q.reorder[sequence]
		if !ok {
			break
		}
		delete(q.reorder, sequence)
		p := &q.endpoint.in
		if dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, p) != nil {
			return // it was decoded before
		}
		if q.execute(now, p) != VerdictAccepted {
			return
		}
	}
	for sequence := range q.reorder {
		if sequence < q.expected {
			delete(q.reorder, sequence)
		}
	}
	if len(q.reorder) > 0 {
		q.sequenceNAK()
	}
}
