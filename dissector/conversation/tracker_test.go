package conversation

import (
	"errors"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/mad"
)

var client, server = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

// wire hands frames to a tracker.
type wire struct {
	t       *testing.T
	tracker *Tracker
	p       dissector.Packet
}

func newWire(t *testing.T) *wire {
	t.Helper()
	return &wire{t: t, tracker: New()}
}

func (w *wire) observe(data []byte) error {
	err := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}, &w.p)
	return w.tracker.Observe(&w.p, err)
}

func (w *wire) send(from, to netip.Addr, opcode infiniband.Opcode, qp uint32, payload []byte) mad.Application {
	w.t.Helper()
	f := build.Frame{
		Source: from, Destination: to, SourcePort: 50000, Payload: payload,
		BTH:  infiniband.BTH{Opcode: opcode, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: qp},
		DETH: infiniband.DETH{QueueKey: infiniband.GSIQueueKey, SourceQP: infiniband.GeneralServicesQP},
	}
	data, err := f.AppendTo(nil)
	require.NoError(w.t, err)
	require.NoError(w.t, w.observe(data))
	return w.p.Meta.Application
}

func (w *wire) manage(from, to netip.Addr, message mad.Message, data []byte) {
	w.t.Helper()
	h := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, AttributeID: uint16(message)}
	w.send(from, to, infiniband.UDSendOnly, infiniband.GeneralServicesQP, append(h.AppendTo(nil), data...))
}

func (w *wire) request(id uint32, port mad.ServiceID) {
	w.manage(client, server, mad.MessageREQ, mad.REQ{LocalID: id, ServiceID: 0x0106_0000 | port, LocalQPN: 0x11}.AppendTo(nil))
}

func (w *wire) reply(id uint32) {
	w.manage(server, client, mad.MessageREP, mad.REP{LocalID: id + 1, RemoteID: id, LocalQPN: 0x22}.AppendTo(nil))
}

// both are what packets to the server and to the client are said to carry.
func (w *wire) both() [2]mad.Application {
	return [2]mad.Application{
		w.send(client, server, infiniband.RCSendOnly, 0x22, make([]byte, 16)), w.send(server, client, infiniband.RCWriteOnly, 0x11, make([]byte, 16)),
	}
}

func TestConnectionsCarryWhatTheirPortsAreFor(t *testing.T) {
	for port, want := range map[mad.ServiceID]mad.Application{
		4420: mad.ApplicationNVMe, 8009: mad.ApplicationNVMe, 3260: mad.ApplicationISER, 20049: mad.ApplicationNFS, 445: mad.ApplicationSMB, 5201: mad.ApplicationUnknown,
	} {
		w := newWire(t)
		assert.Equal(t, [2]mad.Application{}, w.both(), "before the start")
		w.request(7, port)
		assert.Equal(t, [2]mad.Application{}, w.both(), "asked for")
		w.reply(7)
		assert.Equal(t, [2]mad.Application{want, want}, w.both(), "port %d", port)
		assert.Equal(t, mad.ApplicationUnknown, w.send(client, server, infiniband.RCSendOnly, 0x23, nil), "another queue pair")
		assert.Equal(t, mad.ApplicationUnknown, w.send(server, client, infiniband.RCSendOnly, 0x22, nil), "the number on the other side")
		w.manage(client, server, mad.MessageDREQ, mad.DREQ{LocalID: 7, RemoteID: 8, RemoteQPN: 0x22}.AppendTo(nil))
		assert.Equal(t, [2]mad.Application{}, w.both(), "taken down")
	}
}

func TestQueuePairsThatAreUsedAgainCarrySomethingElse(t *testing.T) {
	w := newWire(t)
	w.request(7, 445)
	w.reply(7)
	w.request(9, 4420)
	w.reply(9)
	assert.Equal(t, [2]mad.Application{mad.ApplicationNVMe, mad.ApplicationNVMe}, w.both())
	w.request(11, 5201)
	w.reply(11)
	assert.Equal(t, [2]mad.Application{}, w.both())
}

func TestRefusalsAndAnswersToNothingAreNoConnections(t *testing.T) {
	w := newWire(t)
	w.request(7, 445)
	w.manage(server, client, mad.MessageREJ, mad.REJ{RemoteID: 7, Reason: mad.ReasonConsumer}.AppendTo(nil))
	w.reply(7)
	assert.Equal(t, [2]mad.Application{}, w.both(), "refused")
	w.reply(8)
	assert.Equal(t, [2]mad.Application{}, w.both(), "nobody asked")
}

func TestTheOldestIsForgotten(t *testing.T) {
	r := recent[int, int]{limit: 3}
	for i := range 5 {
		r.put(i, 10*i)
	}
	r.put(4, 41)
	_, old := r.get(1)
	v, known := r.get(4)
	assert.Len(t, r.values, 3)
	assert.False(t, old)
	assert.True(t, known)
	assert.Equal(t, 41, v)
	w := newWire(t)
	for id := range uint32(maxRequests + 10) {
		w.request(id, 445)
	}
	assert.Len(t, w.tracker.requests.values, maxRequests)
}

// segment is a TCP segment between client and server.
func segment(fromClient bool, flags byte, payload string) []byte {
	from, to, ports := client, server, []byte{0x9c, 0x40, 0x10, 0x72}
	if !fromClient {
		from, to, ports = server, client, []byte{0x10, 0x72, 0x9c, 0x40}
	}
	tcp := append(append(append([]byte{}, ports...), 0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 4, 0, 0, 0, 0, 0), payload...)
	return build.Ethernet(nil, [6]byte{2, 5: 1}, [6]byte{2, 5: 2}, 0x0800, build.IP{Source: from, Destination: to}.AppendIP(nil, 6, tcp))
}

const (
	ack, syn = 0x10, 0x02
	req      = "MPA ID Req Frame\x00\x01\x00\x00"
	rep      = "MPA ID Rep Frame\x00\x01\x00\x00"
	refusal  = "MPA ID Rep Frame\x20\x01\x00\x00"
	fpdu     = "\x00\x12\x41\x43payload and checksum"
)

func TestConnectionsOfIWARPStayIWARP(t *testing.T) {
	type step struct {
		fromClient bool
		flags      byte
		payload    string
		iwarp      bool
	}
	for name, steps := range map[string][]step{
		"request, reply, data both ways": {{true, ack, req, true}, {false, ack, rep, true}, {true, ack, fpdu, true}, {false, ack, fpdu, true}, {true, ack, "", false}},
		"no request":                     {{false, ack, rep, true}, {true, ack, fpdu, false}},
		"no reply":                       {{true, ack, req, true}, {true, ack, fpdu, false}},
		"a reply to itself":              {{true, ack, req, true}, {true, ack, rep, true}, {true, ack, fpdu, false}},
		"refused":                        {{true, ack, req, true}, {false, ack, refusal, true}, {false, ack, "HTTP/1.1 400", false}},
		"the ports again":                {{true, ack, req, true}, {false, ack, rep, true}, {true, syn, "", false}, {true, ack, "GET / HTTP/1.1", false}},
		"nothing":                        {{true, ack, fpdu, false}},
	} {
		w := newWire(t)
		for i, s := range steps {
			err := w.observe(segment(s.fromClient, s.flags, s.payload))
			if s.iwarp {
				require.ErrorIs(t, err, dissector.ErrUnsupported, "%s, step %d", name, i)
				assert.Equal(t, dissector.ProtocolIWARP, w.p.Protocol, "%s, step %d", name, i)
				assert.Equal(t, dissector.Fault{Layer: dissector.LayerPayload, Reason: dissector.ReasonIWARP, Offset: 54}, w.p.Fault, "%s, step %d", name, i)
			} else {
				require.ErrorIs(t, err, dissector.ErrNotRDMA, "%s, step %d", name, i)
				assert.Equal(t, dissector.ProtocolOther, w.p.Protocol, "%s, step %d", name, i)
			}
		}
	}
}

// The public captures of iWARP are told apart from other TCP as Wireshark does: by frames of MPA and FPDUs.
func TestPublicCapturesOfIWARP(t *testing.T) {
	dir := framefile.Shared(t, filepath.Join("..", ".."))
	for name, want := range map[string]int{
		"iwarp_connect_C00_M00.pcap": 2, "iwarp_connect_C11_M11.pcap": 2, "iwarp_rdma_write.pcap": 6,
		"iwarp_rdma_read_write_long_run.pcap": 65, "iwarp_send_recv_snd_recv.pcap": 4,
	} {
		w, count := newWire(t), 0
		for _, f := range framefile.Read(t, filepath.Join(dir, "wireshark-wiki-samples", name)) {
			if err := w.observe(f.Data); errors.Is(err, dissector.ErrUnsupported) && w.p.Protocol == dissector.ProtocolIWARP {
				count++
			}
		}
		assert.Equal(t, want, count, name)
	}
}

// Whatever frames come in whatever order, nothing falls, and what is answered is one of the four errors or none.
func FuzzObserve(f *testing.F) {
	f.Add(segment(true, ack, req), segment(false, ack, rep), segment(true, ack, fpdu))
	for _, file := range []string{"applications.pcap", "cm-messages.pcap"} {
		frames := framefile.Read(f, filepath.Join("..", "testdata", file))
		for i := range len(frames) - 2 {
			f.Add(frames[i].Data, frames[i+1].Data, frames[i+2].Data)
		}
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		w := newWire(t)
		for _, data := range [][]byte{a, b, c, a} {
			before := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}, &w.p)
			after := w.tracker.Observe(&w.p, before)
			iwarp := errors.Is(before, dissector.ErrNotRDMA) && errors.Is(after, dissector.ErrUnsupported)
			if !errors.Is(after, before) && !iwarp {
				t.Fatalf("%v became %v", before, after)
			}
		}
	})
}
