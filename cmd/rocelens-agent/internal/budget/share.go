package budget

import (
	"sync/atomic"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// Parts is into how many parts connections are divided, by their two addresses.
const Parts = 64

// Share is which part of all connections is followed. The zero value follows all. It is safe for concurrent use.
type Share struct{ shed atomic.Uint32 }

// Set follows so many parts, 1 to Parts, from now on.
func (s *Share) Set(parts int) { s.shed.Store(uint32(Parts - min(max(parts, 1), Parts))) }

// Parts is how many are followed.
func (s *Share) Parts() int { return Parts - int(s.shed.Load()) }

// Follows tells whether p is to be followed while so many parts are. Both directions of a connection, its paths, its CNPs and
// what sets it up have one answer; what belongs to no connection costs little, and is followed.
func Follows(p *dissector.Packet, parts int) bool {
	if parts >= Parts {
		return true
	}
	affinity := flow.Affinity(p)
	const spread = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio: its product's high bits depend on all bits of the factor
	return affinity == 0 || int(affinity*spread>>58) < parts
}
