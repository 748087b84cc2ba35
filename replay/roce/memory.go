package roce

import "errors"

// Access is what a peer wants to do with memory.
type Access uint8

// Kinds of access, bits of a set.
const (
	AccessRead Access = 1 << iota
	AccessWrite
	AccessAtomic
)

// Memory is what peers may reach by address and key (IBTA volume 1, section 10.6).
type Memory interface {
	// Slice is length bytes from address on, when the key grants that access to all of them. The endpoint reads or
	// writes them before it returns to its caller and keeps no reference. It is asked again for each packet.
	// [ErrAccess] is answered by a NAK "remote access error", any other error by "remote operational error".
	Slice(rkey uint32, address uint64, length int, access Access) ([]byte, error)
}

// ErrAccess says that a key or range is unknown or does not grant the access.
var ErrAccess = errors.New("no access to this memory")

// Region is registered memory.
type Region struct {
	Address uint64 // of its first byte, as peers know it
	Bytes   []byte
	Access  Access
}

// Regions are regions by their keys: the usual [Memory].
type Regions map[uint32]Region

// Slice is part of a region, or [ErrAccess].
func (r Regions) Slice(rkey uint32, address uint64, length int, access Access) ([]byte, error) {
	region, ok := r[rkey]
	if !ok || region.Access&access != access || address < region.Address {
		return nil, ErrAccess
	}
	from, size := address-region.Address, uint64(len(region.Bytes))
	if from > size || uint64(length) > size-from {
		return nil, ErrAccess
	}
	return region.Bytes[from : from+uint64(length) : from+uint64(length)], nil
}

// noMemory refuses everything.
type noMemory struct{}

func (noMemory) Slice(uint32, uint64, int, Access) ([]byte, error) { return nil, ErrAccess }
