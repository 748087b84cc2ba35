package wire

import (
	"time"

	"github.com/ClickHouse/ch-go/proto"
)

const timeType = "DateTime64(9, 'UTC')"

// Constant is a column of equal values.
func Constant[S ~[]E, E any, P interface {
	*S
	proto.Column
}](rows int, value E) P {
	column := make(S, rows)
	for i := range column {
		column[i] = value
	}
	return &column
}

// ConstantTime is a column of equal times.
func ConstantTime(rows int, at time.Time) proto.ColInput {
	return proto.Alias(Constant[proto.ColInt64](rows, at.UnixNano()), timeType)
}

// ConstantName is a column of equal names, which stands in the dictionary once.
func ConstantName(rows int, name string) proto.ColInput {
	var dictionary proto.ColStr
	dictionary.Append(name)
	return &proto.ColLowCardinalityRaw{Index: &dictionary, Key: proto.KeyUInt8, Keys8: make(proto.ColUInt8, rows)}
}
