package blocks

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/replay/finding"
)

// propertyMaps is a Map(LowCardinality(String), String) column. Two properties of one name, one of each end, become one.
type propertyMaps struct {
	data []map[string]string
}

func (c *propertyMaps) Append(list []finding.Property) {
	c.data = append(c.data, finding.Together(list))
}
func (c *propertyMaps) Rows() int { return len(c.data) }
func (c *propertyMaps) Reset()    { c.data = c.data[:0] }

func (c *propertyMaps) AppendFrom(other column) {
	if o, ok := other.(*propertyMaps); ok {
		c.data = append(c.data, o.data...)
	}
}

func (c *propertyMaps) Input() proto.ColInput {
	out := proto.NewMap(proto.ColumnOf[string](new(proto.ColStr).LowCardinality()), proto.ColumnOf[string](new(proto.ColStr)))
	for _, m := range c.data {
		out.Append(m)
	}
	return out
}
