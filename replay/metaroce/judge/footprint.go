package judge

import (
	"unsafe"

	"github.com/rocelens/rocelens/replay/finding"
)

// Footprint is the memory that the connection takes, in bytes.
func (c *Connection) Footprint() int {
	n := int(unsafe.Sizeof(*c))
	for i := range c.lanes {
		l := &c.lanes[i]
		n += len(l.messages.sets)*int(unsafe.Sizeof([4]message{})) + len(l.streams.all)*int(unsafe.Sizeof(stream{}))
		for _, p := range l.paths {
			if p != nil {
				n += int(unsafe.Sizeof(*p)) + len(p.slots)*int(unsafe.Sizeof(slot{}))
			}
		}
	}
	return n
}

// Renew hands out findings again of rules that have had as many as one report takes.
func (c *Connection) Renew() { c.full = [finding.MetaRoCERuleCount]uint8{} }
