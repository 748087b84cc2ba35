package dissector_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/internal/metagen"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// metaFrames are packets of every type of the profile mr0, and of every kind of fault.
func metaFrames(tb testing.TB) [][]byte {
	tb.Helper()
	var frames [][]byte
	r := rand.New(rand.NewPCG(11, 12))
	for _, typ := range metagen.Types() {
		p, payload := metagen.Packet(r, typ)
		f := dataFrame(0, 0)
		f.MetaRoCE, f.Payload = &p, payload
		frames = append(frames, mustBuild(tb, f), mustBuild(tb, six(f)))
	}
	for _, tt := range metaFaults {
		frames = append(frames, tt.frame(tb, nil))
	}
	return frames
}

// metaFault is a packet that contradicts its profile.
type metaFault struct {
	rule    string // of metaroce-mr0.md, "Packets"
	packet  mr0.Packet
	payload int
	change  func(datagram []byte) []byte // up to the ICRC, which is right for what it answers
	reason  dissector.Reason
	offset  int    // of what is wrong, from the start of the UDP payload
	text    string // what the profile's description says of it
}

func (f *metaFault) frame(tb testing.TB, around func(*build.Frame)) []byte {
	tb.Helper()
	p := f.packet
	frame := dataFrame(0, f.payload)
	frame.MetaRoCE = &p
	if f.change != nil {
		frame.MetaRoCE = &metagen.Broken{Sendable: &p, Change: f.change}
	}
	if around != nil {
		around(&frame)
	}
	return mustBuild(tb, frame)
}

func writePacket(flags mr0.Flags, offset, length uint32) mr0.Packet {
	return mr0.Packet{CH: mr0.CH{Type: mr0.TypeWrite, Flags: flags}, DH: mr0.DH{MessageOffset: offset, MessageLength: length}}
}

func connPacket(change func(*mr0.CONN)) mr0.Packet {
	p := mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq}, CONN: mr0.CONN{PathCount: 128, PlaneCount: 255, MTU: 8192, MaxWindow: 256}}
	change(&p.CONN)
	return p
}

func with(p mr0.Packet, change func(*mr0.Packet)) mr0.Packet {
	change(&p)
	return p
}

func setByte(at int, value byte) func([]byte) []byte {
	return func(d []byte) []byte {
		d[at] = value
		return d
	}
}

func shorter(n int) func([]byte) []byte { return func(d []byte) []byte { return d[:len(d)-n] } }

func longer(n int) func([]byte) []byte {
	return func(d []byte) []byte { return append(d, make([]byte, n)...) }
}

var metaFaults = []metaFault{
	{"version is not 0", metaWrite(), 256, setByte(0, 0x14), dissector.ReasonMetaRoCEVersion, 0, "CH.version at byte 0: version is not the profile's"},
	{"the type is reserved", metaACK(), 0, setByte(0, 0x0d), dissector.ReasonMetaRoCEType, 0, "CH.type at byte 0: reserved type"},
	{"the last type is reserved", metaACK(), 0, setByte(0, 0x0f), dissector.ReasonMetaRoCEType, 0, "CH.type at byte 0: reserved type"},
	{"the common header does not fit", metaACK(), 0, shorter(61), dissector.ReasonMetaRoCEHeaders, 0, "CH at byte 0: headers do not fit into the UDP length"},
	{"nothing is there but the ICRC", metaACK(), 0, shorter(76), dissector.ReasonMetaRoCEHeaders, 0, "CH at byte 0: headers do not fit into the UDP length"},
	{"the second header does not fit", metaACK(), 0, shorter(1), dissector.ReasonMetaRoCEHeaders, 16, "ACKH at byte 16: headers do not fit into the UDP length"},
	{"the third header does not fit", metaWrite(), 0, shorter(1), dissector.ReasonMetaRoCEHeaders, 36, "WETH at byte 36: headers do not fit into the UDP length"},
	{
		"the immediate does not fit",
		writePacket(mr0.FlagFirst|mr0.FlagLast|mr0.FlagIMM, 0, 0),
		0, shorter(4), dissector.ReasonMetaRoCEHeaders, 48, "IMMH at byte 48: headers do not fit into the UDP length",
	},
	{"payload_length is more than there is", metaWrite(), 256, shorter(1), dissector.ReasonMetaRoCEPayloadLength, 2, "CH.payload_length at byte 2: payload length differs from what is there"},
	{"payload_length is less than there is", metaWrite(), 256, longer(1), dissector.ReasonMetaRoCEPayloadLength, 2, "CH.payload_length at byte 2: payload length differs from what is there"},
	{"something is behind the headers of an ACK", metaACK(), 0, longer(3), dissector.ReasonMetaRoCEPayloadLength, 2, "CH.payload_length at byte 2: payload length differs from what is there"},
	{
		"payload is behind the headers of an ACK", metaACK(), 0, func(d []byte) []byte {
			binary.BigEndian.PutUint16(d[2:], 3)
			return longer(3)(d)
		}, dissector.ReasonMetaRoCEPayload, 2, "CH.payload_length at byte 2: payload behind a type that has none",
	},
	{"FIRST is missing", writePacket(0, 0, 1000), 256, nil, dissector.ReasonMetaRoCEFirst, 1, "CH.flags at byte 1: FIRST disagrees with the message offset"},
	{"FIRST is too much", writePacket(mr0.FlagFirst, 1, 1000), 256, nil, dissector.ReasonMetaRoCEFirst, 1, "CH.flags at byte 1: FIRST disagrees with the message offset"},
	{"LAST is missing", writePacket(0, 744, 1000), 256, nil, dissector.ReasonMetaRoCELast, 1, "CH.flags at byte 1: LAST disagrees with the message length"},
	{"LAST is too much", writePacket(mr0.FlagLast, 743, 1000), 256, nil, dissector.ReasonMetaRoCELast, 1, "CH.flags at byte 1: LAST disagrees with the message length"},
	{"the payload passes the message's end", writePacket(0, 745, 1000), 256, nil, dissector.ReasonMetaRoCEOffset, 28, "DH.message_offset at byte 28: message offset passes the message length"},
	{"the offset passes the message's end", writePacket(0, 1<<32-1, 1000), 0, nil, dissector.ReasonMetaRoCEOffset, 28, "DH.message_offset at byte 28: message offset passes the message length"},
	{"IMM stands on another than the last packet", writePacket(mr0.FlagFirst|mr0.FlagIMM, 0, 1000), 256, nil, dissector.ReasonMetaRoCEFlag, 1, "CH.flags at byte 1: flag on a packet that may not bear its header"},
	{
		"IMM stands on a type that may not bear it",
		with(metaACK(), func(p *mr0.Packet) { p.CH.Flags |= mr0.FlagIMM | mr0.FlagLast }),
		0, nil, dissector.ReasonMetaRoCEFlag, 1, "CH.flags at byte 1: flag on a packet that may not bear its header",
	},
	{
		"an unsequenced type has a path out of range", with(metaACK(), func(p *mr0.Packet) { p.CH.PathID = 128 }),
		0, nil, dissector.ReasonMetaRoCERange, 8, "CH.path_id at byte 8: out of range",
	},
	{"no path", connPacket(func(h *mr0.CONN) { h.PathCount = 0 }), 0, nil, dissector.ReasonMetaRoCERange, 20, "CONN.path_count at byte 20: out of range"},
	{"129 paths", connPacket(func(h *mr0.CONN) { h.PathCount = 129 }), 0, nil, dissector.ReasonMetaRoCERange, 20, "CONN.path_count at byte 20: out of range"},
	{"no plane", connPacket(func(h *mr0.CONN) { h.PlaneCount = 0 }), 0, nil, dissector.ReasonMetaRoCERange, 21, "CONN.plane_count at byte 21: out of range"},
	{"an MTU between two", connPacket(func(h *mr0.CONN) { h.MTU = 1500 }), 0, nil, dissector.ReasonMetaRoCERange, 22, "CONN.mtu at byte 22: out of range"},
	{"a window of 257", connPacket(func(h *mr0.CONN) { h.MaxWindow = 257 }), 0, nil, dissector.ReasonMetaRoCERange, 34, "CONN.max_window at byte 34: out of range"},
}

// surroundings are the ways in which a packet is sent in these tests.
var surroundings = []string{"IPv4", "IPv6", "VLAN", "VXLAN", "VXLAN, IPv6"}

// surround builds a frame in its surroundings.
func surround(tb testing.TB, where string, f build.Frame) []byte {
	tb.Helper()
	if strings.HasSuffix(where, "IPv6") {
		f = six(f)
	}
	if where == "VLAN" {
		f.VLANs = []uint16{0x6064}
	}
	data := mustBuild(tb, f)
	if strings.HasPrefix(where, "VXLAN") {
		data = overEthernet(0x0800, build.VXLAN(nil, build.IP{Source: ipB, Destination: ipA}, 50000, 7, data))
	}
	return data
}

// inSurroundings builds a fault's frame, with some bits of the ICRC wrong.
func (f *metaFault) inSurroundings(tb testing.TB, where string, icrcFlip uint32) []byte {
	tb.Helper()
	var data []byte
	f.frame(tb, func(frame *build.Frame) {
		frame.ICRCFlip = icrcFlip
		data = surround(tb, where, *frame)
	})
	return data
}

// Each rule by which the profile calls a packet malformed, over everything that RoCEv2 is decoded in, is told with its
// reason and place. When version, type or lengths are wrong, the ICRC must vouch for the packet; otherwise it is another
// program's. What else is wrong is so with a wrong ICRC, too.
func TestMalformedMetaRoCE(t *testing.T) {
	met := map[dissector.Reason]bool{}
	for i := range metaFaults {
		tt := &metaFaults[i]
		met[tt.reason] = true
		for _, where := range surroundings {
			name := tt.rule + ", " + where
			var p dissector.Packet
			data := tt.inSurroundings(t, where, 0)
			err := dissector.Decode(data, metaOf(data), &p)
			require.ErrorIs(t, err, dissector.ErrMalformed, name)
			assert.Equal(t, dissector.ProtocolMetaRoCE, p.Protocol, name)
			udp := p.Layers[udpLayer(&p)].End()
			assert.Equal(t, dissector.Fault{Layer: dissector.LayerMetaRoCE, Reason: tt.reason, Offset: uint16(udp + tt.offset)}, p.Fault, name)
			fault := p.MetaRoCE.Fault()
			assert.Equal(t, tt.text, mr0.Profile.Explain(fault), name)
			assert.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(&p), name)
			checkInvariants(t, &p, err)

			data = tt.inSurroundings(t, where, 1<<31)
			err = dissector.Decode(data, metaOf(data), &p)
			checkInvariants(t, &p, err)
			if fault.Reason.InDoubt() {
				require.ErrorIs(t, err, dissector.ErrNotRDMA, name)
				assert.Equal(t, dissector.ProtocolOther, p.Protocol, name)
				assert.Equal(t, dissector.ReasonNotMetaRoCE, p.Fault.Reason, name)
				assert.Equal(t, dissector.MetaRoCE{}, p.MetaRoCE, name)
				continue
			}
			require.ErrorIs(t, err, dissector.ErrMalformed, name)
			assert.Equal(t, tt.reason, p.Fault.Reason, name)
			assert.Equal(t, dissector.ICRCBad, dissector.VerifyICRC(&p), name)
		}
	}
	for reason := dissector.ReasonMetaRoCEVersion; reason <= dissector.ReasonMetaRoCERange; reason++ {
		assert.True(t, met[reason], reason)
	}
	for reason, inDoubt := range map[metaroce.Reason]bool{
		metaroce.ReasonVersion: true, metaroce.ReasonType: true, metaroce.ReasonHeaders: true, metaroce.ReasonPayloadLength: true, metaroce.ReasonPayload: true,
		metaroce.ReasonFlag: false, metaroce.ReasonFirst: false, metaroce.ReasonLast: false, metaroce.ReasonOffset: false, metaroce.ReasonRange: false,
	} {
		assert.Equal(t, inDoubt, reason.InDoubt(), reason)
	}
}

func udpLayer(p *dissector.Packet) (last int) {
	for i, l := range p.Layers[:p.LayerCount] {
		if l.Type == dissector.LayerUDP {
			last = i
		}
	}
	return last
}

// What the profile allows at the edges of its rules is not malformed.
func TestMetaRoCEAtTheEdges(t *testing.T) {
	for name, tt := range map[string]struct {
		packet  mr0.Packet
		payload int
	}{
		"message of length 0":            {writePacket(mr0.FlagFirst|mr0.FlagLast, 0, 0), 0},
		"message of the greatest length": {writePacket(mr0.FlagLast, 1<<32-1-256, 1<<32-1), 256},
		"LAST means nothing on READ_REQ": {mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadReq, Flags: mr0.FlagFirst | mr0.FlagLast}, DH: mr0.DH{MessageLength: 99}}, 0},
		"nor does its absence":           {mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadReq, Flags: mr0.FlagFirst}, DH: mr0.DH{MessageLength: 0}}, 0},
		"path 127 is acknowledged":       {with(metaACK(), func(p *mr0.Packet) { p.CH.PathID = 127 }), 0},
		"greatest values of CONN":        {connPacket(func(*mr0.CONN) {}), 0},
		"least values of CONN":           {connPacket(func(h *mr0.CONN) { *h = mr0.CONN{PathCount: 1, PlaneCount: 1, MTU: 256} }), 0},
		"reserved bits are set":          {with(metaWrite(), func(p *mr0.Packet) { p.CH.Flags |= 3; p.DH.Reserved = 0xffff }), 9},
		"immediate":                      {with(writePacket(mr0.FlagLast|mr0.FlagIMM, 5, 14), func(p *mr0.Packet) { p.IMMH.Immediate = 7 }), 9},
	} {
		for _, where := range surroundings {
			data := surround(t, where, metaFrame(tt.packet, tt.payload))
			var p dissector.Packet
			require.NoError(t, dissector.Decode(data, metaOf(data), &p), "%s, %s: %s", name, where, mr0.Profile.Explain(p.MetaRoCE.Fault()))
			assert.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(&p), name)
			assert.Len(t, p.Payload(), tt.payload, name)
		}
	}
}

// The port decides who is asked: a profile's own, or the one that a user has bound it to, as a destination only.
func TestMetaRoCEPorts(t *testing.T) {
	const other = 6000
	decode := func(source, destination uint16, change func(*dissector.Meta)) (dissector.Packet, error) {
		f := metaFrame(metaACK(), 0)
		f.SourcePort, f.DestinationPort = source, destination
		data := mustBuild(t, f)
		meta := metaOf(data)
		if change != nil {
			change(&meta)
		}
		var p, slow dissector.Packet
		err := dissector.Decode(data, meta, &p)
		slowErr := dissector.DecodeWithoutShortcut(data, meta, &slow)
		require.True(t, errors.Is(err, slowErr) && samePacket(&p, &slow))
		return p, err
	}
	bind := func(m *dissector.Meta) { m.MetaRoCEPort = other }

	p, err := decode(50000, mr0.Port, nil)
	require.NoError(t, err)
	assert.Equal(t, dissector.MetaRoCEMR0, p.MetaRoCE.Profile)
	_, err = decode(mr0.Port, 50000, nil)
	require.ErrorIs(t, err, dissector.ErrNotRDMA, "a source port is no destination")
	_, err = decode(50000, other, nil)
	require.ErrorIs(t, err, dissector.ErrNotRDMA)
	p, err = decode(50000, other, bind)
	require.NoError(t, err)
	assert.Equal(t, dissector.MetaRoCEMR0, p.MetaRoCE.Profile)
	_, err = decode(50000, mr0.Port, bind)
	require.ErrorIs(t, err, dissector.ErrNotRDMA, "the profile has moved away")
}

// Whatever travels to the port without being MetaRoCE is counted as such and accused of nothing.
func TestOthersOnTheMetaRoCEPort(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 10_000 {
		payload := make([]byte, r.IntN(200))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		data := datagram(53, mr0.Port, payload)
		var p dissector.Packet
		err := dissector.Decode(data, metaOf(data), &p)
		checkInvariants(t, &p, err)
		require.ErrorIs(t, err, dissector.ErrNotRDMA, "%x", payload)
		require.Equal(t, dissector.ReasonNotMetaRoCE, p.Fault.Reason)
	}
}
