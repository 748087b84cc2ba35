package scenario

import "github.com/rocelens/rocelens/replay/roce"

// memory is a host's, and counts what is written to each region.
type memory struct {
	roce.Regions
	mtu    map[uint32]int // by key
	placed map[uint32]int // bytes by key
}

func newMemory() *memory {
	return &memory{Regions: roce.Regions{}, mtu: map[uint32]int{}, placed: map[uint32]int{}}
}

// Slice is part of a region.
func (m *memory) Slice(rkey uint32, address uint64, length int, access roce.Access) ([]byte, error) {
	b, err := m.Regions.Slice(rkey, address, length, access)
	// More than a packet holds is the check of the whole range, before the first byte.
	if err == nil && access == roce.AccessWrite && length <= m.mtu[rkey] {
		m.placed[rkey] += length
	}
	return b, err
}
