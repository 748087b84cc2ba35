package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
)

// TestTrafficIsRoCE: every packet is whole, in its connection's order, and has a right ICRC.
func TestTrafficIsRoCE(t *testing.T) {
	traffic := newTraffic(3, 100)
	for psn := range uint32(1000) {
		traffic.psn = psn * 16777 // all bytes of it
		traffic.next()
		for i, frame := range traffic.frames {
			var p dissector.Packet
			require.NoError(t, dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(frame))}, &p))
			require.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(&p))
			assert.Equal(t, psn*16777, p.BTH.PSN)
			assert.EqualValues(t, i+1, p.BTH.DestinationQP)
		}
	}
}
