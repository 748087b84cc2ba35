package xdp

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/cilium/ebpf"
)

// table is the memory of the slots, which the kernel writes; see bpf/table.h.
type table struct {
	memory *ebpf.Memory
}

const (
	ways        = 8
	slotSize    = int64(unsafe.Sizeof(programHot{}))
	withoutSlot = 1 << 63 // keys from here on are no slots' numbers
)

// bucketsFor is how many buckets hold so many entries, a power of two.
func bucketsFor(entries int) uint32 { return 1 << max(1, bits.Len32(uint32(max(entries-1, 0)/ways))) }

func openTable(m *ebpf.Map) (table, error) {
	memory, err := m.Memory()
	if err != nil {
		return table{}, fmt.Errorf("map the kernel's table: %w", err)
	}
	return table{memory}, nil
}

// read fills in what the slot of an entry has, once nothing counts in it.
func (t table) read(key uint64, e *programEntry) error {
	if key >= withoutSlot {
		return nil
	}
	_, err := t.memory.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(&e.Hot)), slotSize), int64(key)*slotSize) //nolint:gosec // bpf2go made the layout the kernel's
	return err
}

// free gives the slots of entries away. Their keys are to be deleted next: until then nobody takes them.
func (t table) free(keys []uint64) error {
	const whose = int64(unsafe.Offsetof(programHot{}.Whose))
	var none [8]byte
	for _, k := range keys {
		if k >= withoutSlot {
			continue
		}
		if _, err := t.memory.WriteAt(none[:], int64(k)*slotSize+whose); err != nil {
			return err
		}
	}
	return nil
}
