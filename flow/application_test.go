package flow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
)

// manage adds a datagram of the connection manager.
func (s *script) manage(back bool, message mad.Message, data []byte) {
	h := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, AttributeID: uint16(message)}
	s.add(back, infiniband.UDSendOnly, 0, qp(infiniband.GeneralServicesQP), func(f *build.Frame) {
		f.DETH = infiniband.DETH{QueueKey: infiniband.GSIQueueKey, SourceQP: infiniband.GeneralServicesQP}
		f.Payload = append(h.AppendTo(nil), data...)
	})
}

// A connection is labelled with its application when REQ and REP name its port, and with nothing otherwise.
func TestApplicationIsKnownFromTheConnectionManagerOnly(t *testing.T) {
	const nvme = mad.ServiceID(0x0106_1144)
	request := mad.REQ{LocalID: 7, ServiceID: nvme, LocalQPN: 0x22, StartingPSN: 100, PathMTU: 3}
	reply := mad.REP{LocalID: 8, RemoteID: 7, LocalQPN: 0x11, StartingPSN: 500}
	for name, c := range map[string]struct {
		messages func(s *script)
		service  flow.Count
		want     mad.Application
	}{
		"REQ and REP": {func(s *script) {
			s.manage(false, mad.MessageREQ, request.AppendTo(nil))
			s.manage(true, mad.MessageREP, reply.AppendTo(nil))
		}, flow.Count{N: uint64(nvme), Known: true}, mad.ApplicationNVMe},
		"a port of nobody's": {func(s *script) {
			other := request
			other.ServiceID = 0x0106_1d2f
			s.manage(false, mad.MessageREQ, other.AppendTo(nil))
			s.manage(true, mad.MessageREP, reply.AppendTo(nil))
		}, flow.Count{N: 0x0106_1d2f, Known: true}, mad.ApplicationUnknown},
		"REQ alone": {func(s *script) {
			s.manage(false, mad.MessageREQ, request.AppendTo(nil))
		}, flow.Count{}, mad.ApplicationUnknown},
		"a refusal": {func(s *script) {
			s.manage(false, mad.MessageREQ, request.AppendTo(nil))
			s.manage(true, mad.MessageREJ, mad.REJ{RemoteID: 7, Reason: mad.ReasonConsumer}.AppendTo(nil))
		}, flow.Count{}, mad.ApplicationUnknown},
		"neither": {func(*script) {}, flow.Count{}, mad.ApplicationUnknown},
	} {
		s := newScript(t)
		c.messages(s)
		s.add(false, infiniband.RCSendOnly, 100, qp(0x11))
		s.add(true, infiniband.RCAcknowledge, 100, qp(0x22))
		connected := 0
		for _, r := range s.track().records {
			if r.Key.Service != infiniband.ServiceRC {
				assert.False(t, r.ServiceID.Known, "%s: datagrams belong to no connection", name)
				continue
			}
			connected++
			assert.Equal(t, c.service, r.ServiceID, name)
			assert.Equal(t, c.want, r.Application, name)
		}
		require.Equal(t, 2, connected, name)
	}
}
