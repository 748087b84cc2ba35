package doctor

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// The packet is well formed, and nothing in it can make anybody answer.
func TestProofFrameDoesNoHarm(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 7}
	var p dissector.Packet
	require.NoError(t, dissector.Decode(proofFrame(mac, 0x123456), dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p))
	assert.Equal(t, dissector.ProtocolRoCEv2, p.Protocol)
	assert.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(&p))
	assert.Equal(t, infiniband.RCAcknowledge, p.BTH.Opcode)
	assert.EqualValues(t, 0x123456, p.BTH.PSN)
	assert.False(t, p.BTH.AckRequest)
	assert.EqualValues(t, 1, p.Network.TTL)
	assert.Equal(t, "192.0.2.2", p.Network.Destination.String())
	assert.Equal(t, p.Ethernet.Source, p.Ethernet.Destination)
	assert.Zero(t, checksum(p.Data[ethernetLength:]), "the header's checksum is right")
}

func TestAttributesOfAnyBytes(t *testing.T) {
	two := append(attribute(7, []byte("abc")), attribute(9, []byte{1})...)
	assert.Equal(t, []byte("abc"), find(two, 7))
	assert.Equal(t, []byte{1}, find(two, 9))
	assert.Nil(t, find(two, 8))
	for i := range two {
		assert.NotPanics(t, func() { find(two[:i], 9) })
	}
	assert.Nil(t, find([]byte{0, 0, 9, 0}, 9), "a length below that of its header")
}
