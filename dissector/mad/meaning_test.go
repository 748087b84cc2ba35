package mad_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rocelens/rocelens/dissector/mad"
)

func TestServiceIDs(t *testing.T) {
	for id, want := range map[mad.ServiceID]string{
		0x0000_0000_0106_1144: "TCP port 4420 (NVMe-oF)",
		0x0000_0000_0106_1f49: "TCP port 8009 (NVMe-oF)",
		0x0000_0000_0106_0cbc: "TCP port 3260 (iSER)",
		0x0000_0000_0106_4e51: "TCP port 20049 (NFS/RDMA)",
		0x0000_0000_0106_01bd: "TCP port 445 (SMB Direct)",
		0x0000_0000_0106_1d2f: "TCP port 7471",
		0x0000_0000_0111_1144: "UDP port 4420",
		0x0000_0000_0184_1144: "protocol 132 port 4420",
		0x0000_0000_0206_1144: "0x0000000002061144",
		0x1000_0000_0106_1144: "0x1000000001061144", // the port of another service's ID means nothing
		0:                     "0x0000000000000000",
	} {
		assert.Equal(t, want, id.String())
	}
}

func TestIPCMIsThereOnlyForItsService(t *testing.T) {
	data := mad.IPCM{IPVersion: 4, SourcePort: 9, Source: [16]byte{12: 10, 15: 1}, Destination: [16]byte{12: 10, 15: 2}}.AppendTo(nil)
	m := mad.REQ{ServiceID: 0x0106_1144, PrivateData: data}
	c, ok := m.IPCM()
	assert.True(t, ok)
	source, destination, ok := c.Addresses()
	assert.True(t, ok)
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}, []netip.Addr{source, destination})

	for name, m := range map[string]mad.REQ{
		"another service":  {ServiceID: 0x0206_1144, PrivateData: data},
		"cut private data": {ServiceID: 0x0106_1144, PrivateData: data[:35]},
		"unknown version":  {ServiceID: 0x0106_1144, PrivateData: mad.IPCM{MajorVersion: 1, IPVersion: 4}.AppendTo(nil)},
		"no IP version":    {ServiceID: 0x0106_1144, PrivateData: make([]byte, 92)},
	} {
		c, ok := m.IPCM()
		assert.False(t, ok, name)
		assert.Zero(t, c, name)
	}
	datagram := mad.SIDRREQ{ServiceID: 0x0111_1144, PrivateData: data}
	_, ok = datagram.IPCM()
	assert.True(t, ok)
	six := mad.IPCM{IPVersion: 6, Source: netip.MustParseAddr("2001:db8::1").As16()}
	source, _, ok = six.Addresses()
	assert.True(t, ok)
	assert.Equal(t, "2001:db8::1", source.String())
}

func TestMessageNeedsItsClassVersionAndMethod(t *testing.T) {
	right := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, AttributeID: 0x10}
	assert.Equal(t, mad.MessageREQ, right.Message())
	for _, change := range []func(*mad.Header){
		func(h *mad.Header) { h.Class = mad.ClassPerformance },
		func(h *mad.Header) { h.ClassVersion = 1 },
		func(h *mad.Header) { h.Method = 0x81 },
		func(h *mad.Header) { h.AttributeID = 0x0f },
		func(h *mad.Header) { h.AttributeID = 0x1b },
		func(h *mad.Header) { h.AttributeID = 1 },
	} {
		h := right
		change(&h)
		assert.Equal(t, mad.MessageNone, h.Message(), "%+v", h)
	}
	var names []string
	for id := uint16(0x0f); id <= 0x1b; id++ {
		names = append(names, mad.Message(id).String())
	}
	assert.Equal(t, []string{"none", "REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR", "none"}, names)
}

func TestMeaningsOfNumbers(t *testing.T) {
	assert.Equal(t, 4096*time.Nanosecond, mad.Timeout(0).Duration())
	assert.Equal(t, "4.294967296s", mad.Timeout(20).String())
	assert.Equal(t, 8796093022208*time.Nanosecond, mad.Timeout(31).Duration())
	assert.Equal(t, []string{"reserved", "256 bytes", "512 bytes", "1024 bytes", "2048 bytes", "4096 bytes", "reserved"},
		[]string{
			mad.MTU(0).String(), mad.MTU(1).String(), mad.MTU(2).String(), mad.MTU(3).String(), mad.MTU(4).String(),
			mad.MTU(5).String(), mad.MTU(6).String(),
		})
	assert.Equal(t, "RC UC RD extended", fmt.Sprint(mad.TransportRC, mad.TransportUC, mad.TransportRD, mad.TransportExtended))
	assert.Equal(t, "consumer reject", mad.ReasonConsumer.String())
	assert.Equal(t, "invalid service ID", mad.ReasonInvalidServiceID.String())
	assert.Equal(t, "stale connection", mad.ReasonStaleConnection.String())
	assert.Equal(t, "timeout", mad.ReasonTimeout.String())
	for _, r := range []mad.Reason{0, 34, 36, math.MaxUint16} {
		assert.Equal(t, "reserved", r.String())
	}
	assert.Equal(t, "alternate path loaded", mad.APRStatus(0).String())
	assert.Equal(t, "SL rejected", mad.APRStatus(13).String())
	assert.Equal(t, "reserved", mad.APRStatus(14).String())
	assert.Equal(t, "QPN is valid", mad.SIDRStatus(0).String())
	assert.Equal(t, "reserved", mad.SIDRStatus(6).String())
	assert.Equal(t, "REQ REP other", fmt.Sprint(mad.Rejected(0), mad.Rejected(1), mad.Rejected(2)))
	assert.Equal(t, "communication management", mad.ClassCommunication.String())
	assert.Empty(t, mad.Class(0x20).String())
	assert.Equal(t, "10.0.0.1", mad.GID(netip.MustParseAddr("::ffff:10.0.0.1").As16()).String())
}
