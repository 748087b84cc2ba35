package blocks

import "github.com/ClickHouse/ch-go/proto"

// texts is a String column.
type texts struct{ data []string }

func (c *texts) Append(text string) { c.data = append(c.data, text) }
func (c *texts) Rows() int          { return len(c.data) }
func (c *texts) Reset()             { c.data = c.data[:0] }

func (c *texts) AppendFrom(other column) {
	if o, ok := other.(*texts); ok {
		c.data = append(c.data, o.data...)
	}
}

func (c *texts) Input() proto.ColInput {
	var out proto.ColStr
	for _, text := range c.data {
		out.Append(text)
	}
	return &out
}
