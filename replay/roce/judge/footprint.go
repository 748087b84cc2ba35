package judge

import (
	"unsafe"

	"github.com/rocelens/rocelens/replay/finding"
)

// Footprint is the memory that the connection takes, in bytes.
func (c *Connection) Footprint() int {
	n := int(unsafe.Sizeof(*c))
	for i := range c.dialogues {
		n += len(c.dialogues[i].ring.slots) * int(unsafe.Sizeof(slot{}))
	}
	return n
}

// Renew hands out findings again of rules that have had as many as one report takes.
func (c *Connection) Renew() { c.emitted = [finding.RoCERuleCount]uint8{} }
