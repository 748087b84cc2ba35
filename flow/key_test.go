package flow_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Senders that leave the destination QP 0 are told apart by their addresses, and by the service.
func TestDestinationQPZeroJoinsNobody(t *testing.T) {
	s := newScript(t)
	from := func(address string) option {
		return func(f *build.Frame) { f.Source = netip.MustParseAddr(address) }
	}
	for psn := range uint32(3) {
		s.add(false, infiniband.RCWriteMiddle, 100+psn, qp(0), from("10.0.0.3"))
		s.add(false, infiniband.RCWriteMiddle, 900+psn, qp(0), from("10.0.0.4"))
		s.add(false, infiniband.UCWriteMiddle, 500+psn, qp(0), from("10.0.0.4"))
	}
	records := s.track().records
	require.Len(t, records, 3)
	for _, r := range records {
		assert.EqualValues(t, 3, r.Packets)
		assert.Zero(t, r.PSNGaps.N)
		assert.Zero(t, r.OutOfOrder.N)
	}
}
