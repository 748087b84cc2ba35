package rocelayer_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/rocelayer"
)

// of makes a packet of an opcode whose headers have no zero field.
func of(tb testing.TB, opcode infiniband.Opcode, v1 bool) []byte {
	tb.Helper()
	f := build.Frame{
		RoCEv1: v1, Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 49152,
		BTH: infiniband.BTH{
			Opcode: opcode, SolicitedEvent: true, MigrationRequest: true, PartitionKey: 0xffff, DestinationQP: 0x123456,
			AckRequest: true, PSN: 0xfedcba,
		},
		RDETH: infiniband.RDETH{EEContext: 1}, DETH: infiniband.DETH{QueueKey: 2, SourceQP: 3}, XRCETH: infiniband.XRCETH{SRQ: 4},
		RETH:      infiniband.RETH{VirtualAddress: 5, RemoteKey: 6, DMALength: 7},
		AtomicETH: infiniband.AtomicETH{VirtualAddress: 8, RemoteKey: 9, SwapOrAdd: 10, Compare: 11},
		AETH:      infiniband.AETH{Syndrome: 12, MSN: 13}, AtomicAckETH: infiniband.AtomicAckETH{OriginalData: 14},
		ImmDt: infiniband.ImmDt{Data: 15}, IETH: infiniband.IETH{RemoteKey: 16}, FETH: infiniband.FETH{Selectivity: 1, Placement: 2},
	}
	if opcode.CarriesPayload() {
		f.Payload = []byte("seventeen bytes !")
	}
	data, err := f.AppendTo(nil)
	require.NoError(tb, err)
	return data
}

type parser struct {
	*gopacket.DecodingLayerParser
	grh     rocelayer.GRH
	roce    rocelayer.RoCE
	payload gopacket.Payload
	types   []gopacket.LayerType
}

func newParser() *parser {
	p := &parser{}
	p.DecodingLayerParser = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet,
		&layers.Ethernet{}, &layers.IPv4{}, &layers.UDP{}, &p.grh, &p.roce, &p.payload)
	return p
}

// The layers say what the dissector says, for every opcode over both encapsulations.
func TestLayersAgreeWithTheDissector(t *testing.T) {
	p := newParser()
	for _, v1 := range []bool{false, true} {
		for i := range 256 {
			opcode := infiniband.Opcode(i)
			data := of(t, opcode, v1)
			var want dissector.Packet
			wantErr := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}, &want)
			err := p.DecodeLayers(data, &p.types)
			if wantErr != nil {
				require.ErrorIs(t, err, dissector.ErrUnsupported, "%v", opcode)
				require.ErrorIs(t, wantErr, dissector.ErrUnsupported, "%v", opcode)
				assert.Zero(t, p.roce, "%v leaves nothing behind", opcode)
				continue
			}
			require.NoError(t, err, "%v", opcode)
			require.False(t, p.Truncated)
			assert.Contains(t, p.types, rocelayer.LayerTypeRoCE)
			got := rocelayer.RoCE{
				BaseLayer: p.roce.BaseLayer, ICRC: p.roce.ICRC,
				Has: want.Has, BTH: want.BTH, RDETH: want.RDETH, DETH: want.DETH, XRCETH: want.XRCETH, RETH: want.RETH, AtomicETH: want.AtomicETH,
				AETH: want.AETH, AtomicAckETH: want.AtomicAckETH, ImmDt: want.ImmDt, IETH: want.IETH, FETH: want.FETH,
			}
			require.Equal(t, got, p.roce, "%v", opcode)
			assert.Equal(t, want.Payload(), p.roce.LayerPayload(), "%v", opcode)
			start, protocol := int(want.PayloadOffset)-want.Has.Length()-28, dissector.ProtocolRoCEv2
			if v1 {
				start, protocol = 14, dissector.ProtocolRoCEv1
				assert.Contains(t, p.types, rocelayer.LayerTypeGRH)
				assert.Equal(t, want.Network.Source, dissector.Address(p.grh.Source.As16()))
				assert.Equal(t, want.Network.TTL, p.grh.HopLimit)
				assert.Equal(t, want.Network.TotalLength, uint32(p.grh.PayloadLength)+40)
			}
			icrc, ok := dissector.ComputeICRC(protocol, data[start:want.ICRCOffset])
			require.True(t, ok)
			assert.Equal(t, icrc, p.roce.ICRC, "%v", opcode)
		}
	}
}

func TestPacketsHaveTheLayers(t *testing.T) {
	packet := gopacket.NewPacket(of(t, infiniband.RCSendOnly, true), layers.LayerTypeEthernet, gopacket.Default)
	require.Nil(t, packet.ErrorLayer())
	var names []string
	for _, l := range packet.Layers() {
		names = append(names, l.LayerType().String())
	}
	assert.Equal(t, []string{"Ethernet", "GRH", "RoCE", "Payload"}, names)
	assert.Equal(t, "seventeen bytes !", string(packet.ApplicationLayer().Payload()))

	ack := gopacket.NewPacket(of(t, infiniband.RCAcknowledge, false), layers.LayerTypeEthernet, gopacket.Default)
	require.Nil(t, ack.ErrorLayer())
	assert.Equal(t, infiniband.HasBTH|infiniband.HasAETH, ack.Layer(rocelayer.LayerTypeRoCE).(*rocelayer.RoCE).Has)
}

func TestEveryPrefix(t *testing.T) {
	data := of(t, infiniband.RCWriteOnlyImmediate, true)[14:]
	var grh rocelayer.GRH
	var roce rocelayer.RoCE
	for n := range data {
		feedback := &feedback{}
		require.NoError(t, grh.DecodeFromBytes(data, gopacket.NilDecodeFeedback))
		err := grh.DecodeFromBytes(data[:n], feedback)
		assert.True(t, feedback.truncated, "%d bytes", n)
		if n < 40 {
			require.ErrorIs(t, err, dissector.ErrTruncated)
			require.Zero(t, grh)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, roce.DecodeFromBytes(data[40:], gopacket.NilDecodeFeedback))
		*feedback = struct{ truncated bool }{}
		err = roce.DecodeFromBytes(data[40:n], feedback)
		if n < 40+12+16+4+4 {
			require.ErrorIs(t, err, dissector.ErrTruncated, "%d bytes", n)
			require.True(t, feedback.truncated)
			require.Zero(t, roce)
		}
	}
}

type feedback struct{ truncated bool }

func (f *feedback) SetTruncated() { f.truncated = true }

func TestLayersRefuseWhatIsWrong(t *testing.T) {
	data := of(t, infiniband.RCAcknowledge, true)[14:]
	var grh rocelayer.GRH
	var roce rocelayer.RoCE
	bth := 40
	for name, c := range map[string]struct {
		at, value int
		want      error
	}{
		"pad without payload": {bth + 1, 0x30, dissector.ErrMalformed},
		"version":             {bth + 1, 0x01, dissector.ErrUnsupported},
		"opcode":              {bth, 0x18, dissector.ErrUnsupported},
		"GRH version":         {0, 0x40, dissector.ErrMalformed},
	} {
		wrong := append([]byte{}, data...)
		wrong[c.at] = byte(c.value)
		err := grh.DecodeFromBytes(wrong, gopacket.NilDecodeFeedback)
		if err == nil {
			err = roce.DecodeFromBytes(grh.LayerPayload(), gopacket.NilDecodeFeedback)
			assert.Zero(t, roce, name)
		} else {
			assert.Zero(t, grh, name)
		}
		require.ErrorIs(t, err, c.want, name)
	}
	datagram := of(t, infiniband.RDReadRequest, true)[14+bth:]
	require.NoError(t, roce.DecodeFromBytes(datagram, gopacket.NilDecodeFeedback))
	datagram[12] = 1 // reserved in an RDETH
	require.ErrorIs(t, roce.DecodeFromBytes(datagram, gopacket.NilDecodeFeedback), dissector.ErrUnsupported)
	assert.Zero(t, roce)
	data[6] = 59
	require.NoError(t, grh.DecodeFromBytes(data, gopacket.NilDecodeFeedback))
	assert.Equal(t, gopacket.LayerTypePayload, grh.NextLayerType(), "another next header is not RoCE")
}

func TestParsingDoesNotAllocate(t *testing.T) {
	p := newParser()
	frames := [][]byte{of(t, infiniband.RCWriteOnlyImmediate, false), of(t, infiniband.RCFetchAdd, true), of(t, infiniband.UDSendOnly, false)}
	allocations := testing.AllocsPerRun(100, func() {
		for _, data := range frames {
			if err := p.DecodeLayers(data, &p.types); err != nil {
				t.Fatal(err)
			}
		}
	})
	assert.Zero(t, allocations)
}

func FuzzLayers(f *testing.F) {
	for _, opcode := range []infiniband.Opcode{infiniband.RCWriteOnly, infiniband.CNP, infiniband.UDSendOnly, infiniband.RDReadRequest} {
		f.Add(of(f, opcode, true)[14:])
		f.Add(of(f, opcode, true)[54:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var grh rocelayer.GRH
		var roce, alone rocelayer.RoCE
		if grh.DecodeFromBytes(data, gopacket.NilDecodeFeedback) == nil {
			require.LessOrEqual(t, len(grh.Contents)+len(grh.Payload), len(data))
		}
		first := roce.DecodeFromBytes(grh.LayerPayload(), gopacket.NilDecodeFeedback)
		require.Equal(t, first != nil, roce.Has == 0)
		err := roce.DecodeFromBytes(data, gopacket.NilDecodeFeedback)
		if again := alone.DecodeFromBytes(data, gopacket.NilDecodeFeedback); !errors.Is(err, again) {
			t.Fatalf("%v, then %v", again, err)
		}
		require.Equal(t, alone, roce)
		require.LessOrEqual(t, len(roce.Contents)+len(roce.Payload), len(data))
	})
}
