package mad_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

func gid(text string) mad.GID { return mad.GID(netip.MustParseAddr(text).As16()) }

// everyMessage has each message once, each field with a value of its own.
func everyMessage() []struct {
	message mad.Message
	data    []byte
} {
	path := mad.Path{
		LocalLID: 0x1112, RemoteLID: 0x1314, LocalGID: gid("::ffff:10.0.0.1"), RemoteGID: gid("::ffff:10.0.0.2"),
		FlowLabel: 0x54321, Reserved: 0x2a, PacketRate: 10, TrafficClass: 0x68, HopLimit: 63, ServiceLevel: 3,
		SubnetLocal: true, ReservedSL: 5, AckTimeout: 18, ReservedAck: 2,
	}
	six := path
	six.LocalGID, six.RemoteGID = gid("fe80::1"), gid("fe80::2")
	ip := mad.IPCM{IPVersion: 4, SourcePort: 50001, Source: [16]byte{12: 10, 15: 1}, Destination: [16]byte{12: 10, 15: 2}}
	ip6 := mad.IPCM{MinorVersion: 1, IPVersion: 6, SourcePort: 50002, Source: gid("2001:db8::1"), Destination: gid("2001:db8::2")}
	words := []byte("private data")
	additional := [mad.AdditionalLength]byte{1, 2, 3, 4}
	return []struct {
		message mad.Message
		data    []byte
	}{
		{mad.MessageREQ, mad.REQ{
			LocalID: 0xa1a2a3a4, Reserved4: 0xb1, ServiceID: 0x01061144, LocalCAGUID: 0x0102030405060708, Reserved24: 0xb2,
			LocalQueueKey: 0x0a0b0c0d, LocalQPN: 0x112233, ResponderResources: 16, LocalEEContext: 0x223344, InitiatorDepth: 15,
			RemoteEEContext: 0x334455, RemoteResponseTimeout: 20, TransportService: mad.TransportRC, EndToEndFlowControl: true,
			StartingPSN: 0xabcdef, LocalResponseTimeout: 19, RetryCount: 6, PartitionKey: 0x8001, PathMTU: 5, RDCExists: true,
			RNRRetryCount: 7, MaxCMRetries: 15, SharedReceiveQueue: true, ExtendedTransport: 2, PrimaryPath: path, AlternatePath: six,
			PrivateData: append(ip.AppendTo(nil), words...),
		}.AppendTo(nil)},
		{mad.MessageREQ, mad.REQ{
			LocalID: 1, ServiceID: 0x01060cbc, LocalQPN: 2, TransportService: mad.TransportExtended, ExtendedTransport: 1, PathMTU: 1,
			PrimaryPath: six, PrivateData: ip6.AppendTo(nil),
		}.AppendTo(nil)},
		{mad.MessageREQ, mad.REQ{LocalID: 2, ServiceID: 0x1000000000000001, LocalQPN: 3, PathMTU: 3, PrivateData: words}.AppendTo(nil)},
		{mad.MessageMRA, mad.MRA{LocalID: 3, RemoteID: 4, Answered: 2, Reserved8: 0x15, ServiceTimeout: 21, Reserved9: 3, PrivateData: words}.AppendTo(nil)},
		{mad.MessageREJ, mad.REJ{
			LocalID: 3, RemoteID: 4, Rejected: 1, Reserved8: 0x15, AdditionalLength: 4, Reserved9: true, Reason: 26,
			Additional: additional, PrivateData: words,
		}.AppendTo(nil)},
		{mad.MessageREP, mad.REP{
			LocalID: 3, RemoteID: 4, LocalQueueKey: 5, LocalQPN: 0x445566, Reserved15: 1, LocalEEContext: 0x556677, Reserved19: 2,
			StartingPSN: 0x667788, Reserved23: 3, ResponderResources: 14, InitiatorDepth: 13, TargetAckDelay: 15, FailoverAccepted: 2,
			EndToEndFlowControl: true, RNRRetryCount: 5, SharedReceiveQueue: true, Reserved27: 9, LocalCAGUID: 0x1112131415161718,
			PrivateData: words,
		}.AppendTo(nil)},
		{mad.MessageRTU, mad.RTU{LocalID: 3, RemoteID: 4, PrivateData: words}.AppendTo(nil)},
		{mad.MessageDREQ, mad.DREQ{LocalID: 3, RemoteID: 4, RemoteQPN: 0x778899, Reserved11: 6, PrivateData: words}.AppendTo(nil)},
		{mad.MessageDREP, mad.DREP{LocalID: 3, RemoteID: 4, PrivateData: words}.AppendTo(nil)},
		{mad.MessageSIDRREQ, mad.SIDRREQ{
			RequestID: 9, PartitionKey: 0xffff, Reserved6: 7, ServiceID: 0x01114e51, PrivateData: append(ip.AppendTo(nil), words...),
		}.AppendTo(nil)},
		{mad.MessageSIDRREP, mad.SIDRREP{
			RequestID: 9, Status: 1, AdditionalLength: 4, Reserved6: 7, QPN: 0x8899aa, Reserved11: 8, ServiceID: 0x01114e51,
			QueueKey: 0x01234567, Additional: additional, PrivateData: words,
		}.AppendTo(nil)},
		{mad.MessageLAP, mad.LAP{
			LocalID: 3, RemoteID: 4, Reserved8: 5, RemoteQPN: 0x99aabb, RemoteResponseTimeout: 17, Reserved15: 6, Reserved16: 7,
			AlternatePath: path, PrivateData: words,
		}.AppendTo(nil)},
		{mad.MessageAPR, mad.APR{
			LocalID: 3, RemoteID: 4, AdditionalLength: 4, Status: 8, Reserved10: 9, Additional: additional, PrivateData: words,
		}.AppendTo(nil)},
	}
}

// The capture of every message, from which the packet tree and the filters are tested, is made here.
func TestCaptureOfEveryMessage(t *testing.T) {
	const magic, snaplen, ethernet = 0xa1b2c3d4, 262144, 1
	var file bytes.Buffer
	write := func(v ...uint32) { require.NoError(t, binary.Write(&file, binary.LittleEndian, v)) }
	write(magic, 4<<16|2, 0, 0, snaplen, ethernet)
	for i, m := range everyMessage() {
		h := mad.Header{
			BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, TransactionID: 0x1111_0000 + uint64(i),
			AttributeID: uint16(m.message),
		}
		f := build.Frame{
			DestinationMAC: [6]byte{2, 0, 0, 0, 0, 2}, SourceMAC: [6]byte{2, 0, 0, 0, 0, 1},
			Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 49152,
			BTH: infiniband.BTH{
				Opcode: infiniband.UDSendOnly, PartitionKey: infiniband.DefaultPartitionKey,
				DestinationQP: infiniband.GeneralServicesQP, PSN: uint32(i),
			},
			DETH:    infiniband.DETH{QueueKey: infiniband.GSIQueueKey, SourceQP: infiniband.GeneralServicesQP},
			Payload: append(h.AppendTo(nil), m.data...),
		}
		frame, err := f.AppendTo(nil)
		require.NoError(t, err)
		var p dissector.Packet
		meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(frame))}
		require.NoError(t, dissector.Decode(frame, meta, &p))
		got, _, wire := decode(t, p.Payload())
		require.Equal(t, h, got)
		require.Equal(t, p.Payload(), wire)
		write(1_700_000_000, uint32(i)*1000, uint32(len(frame)), uint32(len(frame)))
		file.Write(frame)
	}
	path := filepath.Join("..", "testdata", "cm-messages.pcap")
	if *update {
		require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to write it")
	require.True(t, bytes.Equal(want, file.Bytes()), "the capture is not what is made here")
}
