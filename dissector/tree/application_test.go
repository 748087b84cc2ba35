package tree_test

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/dissector/tree"
)

// talk makes the frames of connections between two hosts.
type talk struct {
	t      testing.TB
	frames []framefile.Frame
	psn    uint32
}

func (c *talk) send(fromClient bool, opcode infiniband.Opcode, qp uint32, payload []byte) {
	c.t.Helper()
	c.psn++
	f := build.Frame{
		DestinationMAC: [6]byte{2, 5: 2}, SourceMAC: [6]byte{2, 5: 1}, SourcePort: 50000,
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"),
		BTH: infiniband.BTH{Opcode: opcode, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: qp, PSN: c.psn, AckRequest: true}, Payload: payload,
	}
	if qp == infiniband.GeneralServicesQP {
		f.DETH, f.BTH.AckRequest = infiniband.DETH{QueueKey: infiniband.GSIQueueKey, SourceQP: qp}, false
	}
	if !fromClient {
		f.Source, f.Destination, f.SourceMAC, f.DestinationMAC = f.Destination, f.Source, f.DestinationMAC, f.SourceMAC
	}
	data, err := f.AppendTo(nil)
	require.NoError(c.t, err)
	n := len(c.frames)
	c.frames = append(c.frames, framefile.Frame{Data: data, Meta: dissector.Meta{
		Number: uint64(n + 1), OriginalLength: uint32(len(data)), LinkType: dissector.LinkTypeEthernet, Time: captured/1000*1000 + int64(n)*1000, HasTime: true,
	}})
}

func (c *talk) manage(fromClient bool, message mad.Message, data []byte) {
	h := mad.Header{BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, TransactionID: 7, AttributeID: uint16(message)}
	c.send(fromClient, infiniband.UDSendOnly, infiniband.GeneralServicesQP, append(h.AppendTo(nil), data...))
}

// connect sets a connection up: the client's queue pair is qp, the server's the next.
func (c *talk) connect(port uint16, qp uint32) {
	ip := mad.IPCM{IPVersion: 4, SourcePort: 40000, Source: [16]byte{12: 10, 15: 1}, Destination: [16]byte{12: 10, 15: 2}}
	c.manage(true, mad.MessageREQ, mad.REQ{
		LocalID: qp, ServiceID: mad.ServiceID(0x0106_0000 | uint64(port)), LocalQPN: qp, StartingPSN: 1, PathMTU: 3, PrivateData: ip.AppendTo(nil),
		PrimaryPath: mad.Path{LocalGID: mad.GID(netip.MustParseAddr("10.0.0.1").As16()), RemoteGID: mad.GID(netip.MustParseAddr("10.0.0.2").As16())},
	}.AppendTo(nil))
	c.manage(false, mad.MessageREP, mad.REP{LocalID: qp + 1, RemoteID: qp, LocalQPN: qp + 1, StartingPSN: 1}.AppendTo(nil))
	c.manage(true, mad.MessageRTU, mad.RTU{LocalID: qp, RemoteID: qp + 1}.AppendTo(nil))
}

func words(values ...uint32) (b []byte) {
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func little(values ...any) (b []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	return b
}

// applications has each application that a connection can be known to carry, with each form of its header.
func applications(tb testing.TB) []framefile.Frame {
	tb.Helper()
	const nfs, smb, iser, nvme, nobody = 0x20, 0x30, 0x40, 0x50, 0x60
	c := &talk{t: tb}

	c.connect(20049, nfs)
	call := words(0x11223344, 0, 2, 100003, 4, 0, 0, 0, 0, 0) // NULL of NFSv4
	c.send(true, infiniband.RCSendOnly, nfs+1, append(words(0x11223344, 1, 32, 0, 0, 0, 0), call...))
	c.send(false, infiniband.RCSendOnly, nfs, append(words(0x11223344, 1, 32, 0, 0, 0, 0), words(0x11223344, 1, 0, 0, 0, 0)...))
	c.send(true, infiniband.RCSendOnly, nfs+1, words(0x11223345, 1, 32, 1,
		1, 0, 0xa1, 4096, 0, 0x1000, 1, 128, 0xa2, 8192, 1, 0x2000, 0, // read list
		1, 2, 0xb1, 1024, 0, 0x3000, 0xb2, 2048, 0, 0x4000, 0, // write list
		1, 1, 0xc1, 512, 0, 0x5000)) // reply chunk
	c.send(true, infiniband.RCSendOnly, nfs+1, words(0x11223346, 1, 32, 3))
	c.send(false, infiniband.RCSendOnly, nfs, words(0x11223347, 1, 32, 4, 1, 1, 1))
	c.send(false, infiniband.RCSendOnly, nfs, words(0x11223348, 1, 32, 4, 2))

	c.connect(445, smb)
	c.send(true, infiniband.RCSendOnly, smb+1, little(uint16(0x100), uint16(0x100), uint16(0), uint16(255), uint32(1364), uint32(8192), uint32(1<<20)))
	c.send(false, infiniband.RCSendOnly, smb, little(uint16(0x100), uint16(0x100), uint16(0x100), uint16(0), uint16(255), uint16(128), uint32(0),
		uint32(1<<20), uint32(1364), uint32(8192), uint32(1<<20)))
	c.send(true, infiniband.RCSendOnly, smb+1, little(uint16(255), uint16(3), uint16(1), uint16(0), uint32(0), uint32(0), uint32(0)))
	c.send(false, infiniband.RCSendOnlyInvalidate, smb, append(little(uint16(255), uint16(1), uint16(0), uint16(0), uint32(100), uint32(24), uint32(8), uint32(0)), "\xfeSMB@\x00\x00\x00"...))

	c.connect(3260, iser)
	header := append([]byte{0x1c, 0, 0, 0}, words(0x77, 0, 0x8000, 0x78, 0, 0x9000)...)
	c.send(true, infiniband.RCSendOnly, iser+1, append(header, append([]byte{0x41, 0x80, 0, 0, 0, 0, 0, 0}, make([]byte, 40)...)...))
	c.send(false, infiniband.RCSendOnly, iser, append([]byte{0x10, 27: 0}, append([]byte{0x21, 0x80, 0, 0, 0, 0, 0, 0}, make([]byte, 40)...)...))

	c.connect(4420, nvme)
	sgl := little(uint64(0x7f00_0000_1000), uint32(4096), uint32(0x40<<24|0x1234)) // keyed; its length has three bytes
	connect := append([]byte{0x7f, 0x40, 1, 0, 1, 23: 0}, append(sgl, little(uint16(0), uint16(0), uint16(31), uint16(0), uint32(0), uint64(0), uint32(0))...)...)
	c.send(true, infiniband.RCSendOnly, nvme+1, connect)
	c.send(false, infiniband.RCSendOnly, nvme, little(uint32(1), uint32(0), uint16(1), uint16(0), uint16(1), uint16(0)))
	read := append([]byte{0x02, 0x40, 2, 0, 1, 0, 0, 0, 23: 0}, append(sgl, little(uint32(8), uint32(0), uint32(7), uint32(0), uint32(0), uint32(0))...)...)
	c.send(true, infiniband.RCSendOnly, nvme+1, read)
	c.send(false, infiniband.RCWriteOnly, nvme, make([]byte, 64))
	c.send(false, infiniband.RCSendOnlyInvalidate, nvme, little(uint32(0), uint32(0), uint16(2), uint16(0), uint16(2), uint16(0x4004)))

	c.connect(5201, nobody) // looks like NFS, and is not said to be
	c.send(true, infiniband.RCSendOnly, nobody+1, words(0x11223346, 1, 32, 3))
	return c.frames
}

// applicationsFile keeps the frames beside the other captures, so that all tests of captures have them.
var applicationsFile = filepath.Join("..", "testdata", "applications.pcap")

func TestApplicationsCapture(t *testing.T) {
	want, err := os.ReadFile(writePcap(t, applications(t)))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(applicationsFile, want, 0o600))
	}
	got, err := os.ReadFile(applicationsFile)
	require.NoError(t, err, "run with -update to write it")
	require.Equal(t, want, got)
}

// Which header a payload starts with follows from the connection alone: the same bytes are read in one of NFS, and left
// alone where the port of the connection is nobody's or its start was not captured.
func TestApplicationsAreReadWhereTheConnectionIsKnown(t *testing.T) {
	frames := applications(t)
	first := func(tracked bool) map[string]int {
		tracker := conversation.New()
		found := map[string]int{}
		var p dissector.Packet
		for _, f := range frames {
			err := dissector.Decode(f.Data, f.Meta, &p)
			if tracked {
				err = tracker.Observe(&p, err)
			}
			require.NoError(t, err)
			root := tree.Build(&p, err)
			checkTree(t, f.Data, root)
			root.Walk(func(n *tree.Node) bool {
				switch n.Field {
				case "rpcordma", "smb_direct.negotiate_request", "smb_direct.negotiate_response", "smb_direct.data_message", "iser", "nvme":
					found[n.Field]++
				}
				return true
			})
		}
		return found
	}
	require.Equal(t, map[string]int{
		"rpcordma": 6, "smb_direct.negotiate_request": 1, "smb_direct.negotiate_response": 1, "smb_direct.data_message": 2, "iser": 2, "nvme": 4,
	}, first(true))
	require.Empty(t, first(false))
}
