package store

import "github.com/ClickHouse/ch-go/proto"

// texts is a String column.
type texts struct{ data []string }

func (c *texts) append(text string) { c.data = append(c.data, text) }
func (c *texts) rows() int          { return len(c.data) }
func (c *texts) reset()             { c.data = c.data[:0] }

func (c *texts) appendFrom(other column) {
	if o, ok := other.(*texts); ok {
		c.data = append(c.data, o.data...)
	}
}

func (c *texts) input() proto.ColInput {
	var out proto.ColStr
	for _, text := range c.data {
		out.Append(text)
	}
	return &out
}
