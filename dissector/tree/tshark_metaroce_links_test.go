package tree_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// exchanges makes frames between two hosts, each of which has chosen a connection id.
type exchanges struct {
	t      *testing.T
	port   uint16 // 0: the profile's
	frames [][]byte
}

const clientID, serverID = 0xc1, 0x5e

func (c *exchanges) add(fromClient bool, p mr0.Packet, payload int) {
	c.t.Helper()
	client, server := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	f := build.Frame{Source: client, Destination: server, SourcePort: 50_000, DestinationPort: c.port, MetaRoCE: &p, Payload: make([]byte, payload)}
	if !fromClient {
		f.Source, f.Destination = server, client
	}
	if p.CH.Type != mr0.TypeConnReq {
		p.CH.DestConnID = serverID
		if !fromClient {
			p.CH.DestConnID = clientID
		}
	}
	c.frame(f)
}

func (c *exchanges) frame(f build.Frame) {
	c.t.Helper()
	b, err := f.AppendTo(nil)
	require.NoError(c.t, err)
	c.frames = append(c.frames, b)
}

// write is a packet of ten bytes of the client's message, which has a hundred.
func (c *exchanges) write(psn, timestamp, offset uint32, path uint8, flags mr0.Flags) {
	if offset == 0 {
		flags |= mr0.FlagFirst
	}
	c.add(true, mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeWrite, Flags: flags, PathID: path, PSN: psn},
		DH: mr0.DH{Timestamp: timestamp, StreamID: 4, MessageOffset: offset, MessageLength: 100},
	}, 10)
}

func (c *exchanges) ack(path uint8, next, echo uint32, sack ...int) {
	p := mr0.Packet{CH: mr0.CH{Type: mr0.TypeACK, PathID: path}, ACKH: mr0.ACKH{CumulativePSN: next, EchoTimestamp: echo}}
	for _, i := range sack {
		p.ACKH.SACK.Set(i)
	}
	c.add(false, p, 0)
}

// links are what the plugin says that packets have to do with each other, by the number of the frame.
func (c *exchanges) links(args ...string) map[int]string {
	names := []string{"metaroce.connection", "metaroce.acknowledged_in", "metaroce.retransmission_of", "metaroce.duplicate_of"}
	all := map[int]string{}
	for i, row := range withPlugin(c.t, writePcap(c.t, asFrames(c.frames)), names, append([]string{"-2"}, args...)...) {
		var parts []string
		for _, name := range names {
			if v := row[name]; v != "" {
				parts = append(parts, strings.TrimPrefix(name, "metaroce.")+" "+v)
			}
		}
		all[i+1] = strings.Join(parts, ", ")
	}
	return all
}

// exchange is a message that loses packets: PSN 11 and 13 of path 0, and 101 of path 1, which path 0 carries then.
func (c *exchanges) exchange() {
	c.write(10, 1000, 0, 0, 0)
	c.write(12, 1002, 20, 0, 0)
	c.write(12, 1002, 20, 0, 0) // duplicated by the network
	c.write(100, 1003, 50, 1, 0)
	c.write(13, 1004, 30, 0, 0)
	c.ack(0, 11, 1004, 0) // has 10 and 12
	c.write(11, 1005, 10, 0, mr0.FlagRTX)
	c.write(13, 1006, 30, 0, mr0.FlagRTX)
	c.ack(0, 14, 1006)
	c.write(14, 1007, 50, 0, mr0.FlagRTX) // first sent on path 1
	c.ack(0, 15, 1007)
}

var exchangeLinks = []string{
	"acknowledged_in 6",
	"acknowledged_in 6",
	"acknowledged_in 6, duplicate_of 2",
	"",
	"acknowledged_in 9",
	"",
	"acknowledged_in 9",
	"acknowledged_in 9, retransmission_of 5",
	"",
	"acknowledged_in 11, retransmission_of 4",
	"",
}

// want gives what links should be, when the exchange begins behind some frames, all of one connection.
func want(before ...string) map[int]string {
	all := map[int]string{}
	for i, text := range append(before, exchangeLinks...) {
		parts := []string{"connection 0"}
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
			parts = append(parts, strings.TrimSpace(part))
		}
		all[i+1] = strings.Join(parts, ", ")
	}
	return all
}

// The plugin links packets with the ACK that first covered them, and with those that they repeat.
func TestMetaRoCELinksInTshark(t *testing.T) {
	// Which of two connection ids belong together is seen from the echoed timestamps alone.
	c := &exchanges{t: t}
	c.exchange()
	require.Empty(t, cmp.Diff(want(), c.links()))

	// Another port is one that a preference names.
	c = &exchanges{t: t, port: 6000}
	c.exchange()
	require.Empty(t, cmp.Diff(want(), c.links("-o", "metaroce.port:6000")))
	require.Empty(t, strings.Join(slices.Collect(maps.Values(c.links())), ""), "nobody said that port 6000 is MetaRoCE's")
}

// A handshake tells which connection ids belong together, and so does a DISCONNECT.
func TestMetaRoCEHandshakeInTshark(t *testing.T) {
	c := &exchanges{t: t}
	c.add(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq}, CONN: mr0.CONN{SourceConnID: clientID, PathCount: 1, PlaneCount: 1, MTU: 256}}, 0)
	c.add(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRep}, CONN: mr0.CONN{SourceConnID: serverID, PathCount: 1, PlaneCount: 1, MTU: 256}}, 0)
	c.write(10, 1, 0, 0, 0)
	c.ack(0, 11, 0) // of a packet that the capture does not have
	require.Equal(t, map[int]string{1: "connection 0", 2: "connection 0", 3: "connection 0, acknowledged_in 4", 4: "connection 0"}, c.links())

	c = &exchanges{t: t}
	c.write(10, 1, 0, 0, 0)
	c.ack(0, 11, 0)
	c.add(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect}, DISC: mr0.DISC{SourceConnID: serverID}}, 0)
	require.Equal(t, map[int]string{1: "connection 0", 2: "connection 0", 3: "connection 0"}, c.links(),
		"when the ACK came nobody could know that it is of this connection")
}

// Path sequence numbers pass the end of their circle.
func TestMetaRoCELinksWrapInTshark(t *testing.T) {
	c := &exchanges{t: t}
	last := ^uint32(0)
	c.write(last-1, 1, 0, 0, 0)
	c.write(last, 2, 10, 0, 0)
	c.write(0, 3, 20, 0, 0)
	c.ack(0, last, 3, 0) // has last-1 and 0
	c.ack(0, 1, 3)
	require.Equal(t, map[int]string{
		1: "connection 0, acknowledged_in 4", 2: "connection 0, acknowledged_in 5", 3: "connection 0, acknowledged_in 4", 4: "connection 0", 5: "connection 0",
	}, c.links())
}
