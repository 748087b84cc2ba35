package tree_test

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/internal/metagen"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/dissector/tree"
)

// metaCapture are the frames of testdata/metaroce-mr0.pcap: the life of a connection, then what is wrong or unusual.
func metaCapture(t *testing.T) []framefile.Frame {
	t.Helper()
	c := &exchanges{t: t}
	conn := func(id uint32) mr0.CONN {
		return mr0.CONN{
			SourceConnID: id, PathCount: 2, PlaneCount: 1, MTU: 4096, LinkRate: 400_000, InitialPSN: 10, StreamCount: 16, MaxWindow: 256, Nonce: 0x1122334455667788,
		}
	}
	dh := func(timestamp, msn, length uint32) mr0.DH {
		return mr0.DH{Timestamp: timestamp, StreamID: 4, MSN: msn, MessageLength: length}
	}
	const whole = mr0.FlagFirst | mr0.FlagLast
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq}, CONN: conn(clientID)}, 0)
	c.add(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRep}, CONN: conn(serverID)}, 0)
	c.exchange()
	c.add(true, mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeSend, Flags: whole | mr0.FlagIMM | mr0.FlagSE | mr0.FlagAR, PSN: 15}, DH: dh(2000, 1, 5),
		SETH: mr0.SETH{ReceiveIndex: 3}, IMMH: mr0.IMMH{Immediate: 0xcafe},
	}, 5)
	c.add(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeNAK}, NAKH: mr0.NAKH{Reason: mr0.NAKReasonReceiverNotReady, StreamID: 4, MSN: 1, RefusedPSN: 15, RetryAfter: 5000}}, 0)
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadReq, Flags: mr0.FlagFirst, PSN: 16}, DH: dh(2100, 2, 7), RRETH: mr0.RRETH{VirtualAddress: 0x1000, RKey: 9, ReadID: 1}}, 0)
	c.add(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadResp, Flags: whole, PSN: 10}, DH: dh(900, 2, 7), RSETH: mr0.RSETH{ReadID: 1}}, 7)
	c.add(true, mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeAtomicReq, Flags: whole, PSN: 17}, DH: dh(2200, 3, 0),
		AETH: mr0.AETH{VirtualAddress: 0x2000, RKey: 9, Operation: mr0.AtomicOperationCompareAndSwap, SwapOrAdd: 5, Compare: 4},
	}, 0)
	c.add(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeAtomicResp, Flags: whole, PSN: 11}, DH: dh(910, 3, 0), ARETH: mr0.ARETH{OriginalValue: 4}}, 0)
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, Flags: whole, PathID: 1, PSN: 101}, DH: dh(2300, 0, 0)}, 0)
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect}, DISC: mr0.DISC{SourceConnID: clientID}}, 0)
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRej}, REJ: mr0.REJ{Reason: mr0.RejectReasonBusy, Nonce: 1}}, 0)
	// Wrong, each in its way: reserved bits, a field, the type with and without a right ICRC, the ICRC.
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeWrite, Flags: 3 | whole}, DH: mr0.DH{Reserved: 1, MessageLength: 2}}, 2)
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq}, CONN: mr0.CONN{PathCount: 200, PlaneCount: 1, MTU: 256}}, 0)
	reserved := func(d []byte) []byte {
		d[0] = 0x0d
		return d
	}
	ack := mr0.Packet{CH: mr0.CH{Type: mr0.TypeACK}}
	for _, flip := range []uint32{0, 1} {
		c.frame(build.Frame{
			Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50_000,
			MetaRoCE: &metagen.Broken{Sendable: &ack, Change: reserved}, ICRCFlip: flip,
		})
	}
	c.frame(build.Frame{
		Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2"), SourcePort: 50_000, VLANs: []uint16{7},
		ECN: dissector.ECNCE, MetaRoCE: &mr0.Packet{CH: mr0.CH{Type: mr0.TypeWrite, Flags: whole}, DH: mr0.DH{MessageLength: 8}}, Payload: make([]byte, 8), ICRCFlip: 1,
	})
	inner := c.frames[2]
	outer := build.IP{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.2")}
	c.frames = append(c.frames, build.Ethernet(nil, [6]byte{2}, [6]byte{4}, 0x0800, build.VXLAN(nil, outer, 50_001, 7, inner)))
	frames := asFrames(c.frames)
	for _, n := range []int{45, 63, 76, 95} { // cut in each of the headers, and in the payload
		cut := asFrames(c.frames[4:5])[0]
		cut.Data = cut.Data[:n]
		cut.Meta.Number = uint64(len(frames) + 1)
		frames = append(frames, cut)
	}
	for i := range frames {
		frames[i].Meta.Time += int64(i) * 1000
	}
	return frames
}

// The capture that other tests read is the one that is made here.
func TestMetaRoCECaptureIsCurrent(t *testing.T) {
	made, err := os.ReadFile(writePcap(t, metaCapture(t)))
	require.NoError(t, err)
	path := filepath.Join("..", "testdata", "metaroce-mr0.pcap")
	if *update {
		require.NoError(t, os.WriteFile(path, made, 0o600))
	}
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, made, kept, "run with -update to write it")
}

// Each bit of a packet has one leaf of the tree, whole, cut or malformed.
func TestEveryBitOfMetaRoCEHasOneLeaf(t *testing.T) {
	g := &generator{t, rand.New(rand.NewPCG(21, 22))}
	count := 1000
	if underRace() {
		count = 150
	}
	for _, data := range append(g.metaFrames(count), g.brokenFrames(3*count)...) {
		for _, n := range []int{len(data), g.random.IntN(len(data))} {
			var p dissector.Packet
			err := dissector.Decode(data[:n], dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}, &p)
			root := tree.Build(&p, err)
			checkTree(t, data[:n], root)
			checkForms(t, root)
			require.NotEmpty(t, tree.Summary(&p, err).Info)
		}
	}
}
