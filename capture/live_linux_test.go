package capture_test

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/afpacket"
	"github.com/rocelens/rocelens/capture/afxdp"
	"github.com/rocelens/rocelens/capture/headers"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/capture/xdp/attach"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// live is a source of packets from an interface.
type live struct {
	name string
	open func(name string, ring int) (capture.Source, error)
	snap int  // how many bytes of a frame it captures; 0: all
	rdma bool // it leaves out what is not RDMA
	out  bool // it sees what goes out, too
}

func sources() []live {
	byHeaders := func(skip ...attach.Way) func(string, int) (capture.Source, error) {
		return func(name string, ring int) (capture.Source, error) {
			return headers.Open(name, headers.Options{RingBytes: ring, Skip: skip})
		}
	}
	byAFXDP := func(o afxdp.Options) func(string, int) (capture.Source, error) {
		return func(name string, ring int) (capture.Source, error) {
			o.RingBytes = ring
			return afxdp.Open(name, o)
		}
	}
	return []live{
		{name: "AF_XDP by native XDP", rdma: true, open: byAFXDP(afxdp.Options{})},
		{name: "AF_XDP by generic XDP", rdma: true, open: byAFXDP(afxdp.Options{Generic: true})},
		{name: "AF_PACKET", out: true, open: func(name string, ring int) (capture.Source, error) {
			return afpacket.Open(name, afpacket.Options{RingBytes: ring})
		}},
		{name: "headers by native XDP", snap: headers.SnapLength, rdma: true, out: true, open: byHeaders()},
		{name: "headers by generic XDP", snap: headers.SnapLength, rdma: true, out: true, open: byHeaders(attach.NativeFrags, attach.Native)},
		{name: "headers by TCX", snap: headers.SnapLength, rdma: true, out: true, open: byHeaders(attach.NativeFrags, attach.Native, attach.GenericFrags, attach.Generic)},
		{name: "headers by clsact", snap: headers.SnapLength, rdma: true, out: true, open: byHeaders(attach.NativeFrags, attach.Native, attach.GenericFrags, attach.Generic, attach.TCX)},
	}
}

// opened captures at one end of a cable.
func opened(t *testing.T, at vethtest.End, l *live, ring int) capture.Source {
	t.Helper()
	var s capture.Source
	var err error
	<-at.Go(t, func() { s, err = l.open(at.Interface, ring) })
	require.NoError(t, err)
	t.Cleanup(func() { <-at.Go(t, func() { assert.NoError(t, s.Close()) }) })
	return s
}

// framesOf reads all frames of captures of our own.
func framesOf(t *testing.T, names ...string) (out [][]byte) {
	t.Helper()
	for _, name := range names {
		source, err := pcapfile.Open(filepath.Join("..", "testdata", name), pcapfile.Options{})
		require.NoError(t, err)
		var batch capture.Batch
		for {
			err := source.Next(&batch)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			for _, f := range batch.Frames {
				out = append(out, bytes.Clone(f.Data))
			}
		}
		require.NoError(t, source.Close())
	}
	return out
}

// jumbo is a frame of the largest MTU of RDMA, which does not fit into a page.
func jumbo(t *testing.T, psn uint32) []byte {
	t.Helper()
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000,
		BTH: infiniband.BTH{Opcode: 0x04, PartitionKey: 0xffff, DestinationQP: 0x11, PSN: psn}, Payload: make([]byte, 4096),
	}
	data, err := f.AppendTo(nil)
	require.NoError(t, err)
	return data
}

// isRDMA tells what the dissector takes for RDMA.
func isRDMA(data []byte, length uint32) bool {
	var p dissector.Packet
	err := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: length}, &p)
	return err == nil && flow.Tracks(&p)
}

// rdmaOf are the frames among all that are RDMA.
func rdmaOf(all [][]byte) (out [][]byte) {
	for _, f := range all {
		if isRDMA(f, uint32(len(f))) {
			out = append(out, f)
		}
	}
	return out
}

// arrived takes packets of RDMA from a source until it has so many, and hands each over.
func arrived(t *testing.T, s capture.Source, n int, each func(i int, f *capture.Frame)) {
	t.Helper()
	var batch capture.Batch
	for got := 0; got < n; {
		require.NoError(t, s.Next(&batch))
		for i := range batch.Frames {
			if f := &batch.Frames[i]; isRDMA(f.Data, f.OriginalLength) {
				each(got, f)
				got++
			}
		}
	}
}

// What is sent arrives, packet by packet, in its order, by every source.
func TestPacketsArriveAsTheyWereSent(t *testing.T) {
	frames := framesOf(t, "derived/base-cm-send-write-read.pcap", "derived/enc-vlan-pcp3.pcap", "derived/enc-vlan-prio-tag.pcap", "derived/enc-qinq.pcap",
		"derived/rocev2-ipv6.pcap", "derived/enc-erspan2.pcap", "metaroce-spray.pcap", "allreduce-loss.pcapng")
	for psn := range uint32(10) {
		frames = append(frames, jumbo(t, psn))
	}
	want := rdmaOf(frames)
	require.Greater(t, len(want), 800)
	strange := bytes.Clone(want[0])
	strange[12], strange[13] = 0x88, 0xb5 // an EtherType for experiments
	frames = append(frames, strange, strange)
	for _, l := range sources() {
		t.Run(l.name, func(t *testing.T) {
			left, right := vethtest.Pair(t)
			directions := map[capture.Direction]capture.Source{capture.DirectionIn: opened(t, right, &l, 32<<20)}
			if l.out {
				directions[capture.DirectionOut] = opened(t, left, &l, 32<<20)
			}
			left.Send(t, frames)
			for direction, s := range directions {
				var last int64
				arrived(t, s, len(want), func(i int, f *capture.Frame) {
					sent := want[i]
					if l.snap != 0 {
						sent = sent[:min(len(sent), l.snap)]
					}
					require.Equal(t, sent, f.Data, "packet %d", i+1)
					require.EqualValues(t, len(want[i]), f.OriginalLength)
					require.Equal(t, direction, f.Direction)
					require.True(t, f.HasTime)
					require.GreaterOrEqual(t, f.Time, last)
					require.EqualValues(t, dissector.LinkTypeEthernet, f.LinkType)
					last = f.Time
				})
				i := s.Interfaces()[0]
				assert.Zero(t, *i.Dropped)
				assert.GreaterOrEqual(t, *i.Received, uint64(len(frames)), "what is not RDMA has come in, too")
				if l.rdma {
					assert.GreaterOrEqual(t, i.Ignored.Packets, uint64(2))
					assert.GreaterOrEqual(t, i.Ignored.Bytes, uint64(2*len(strange)))
				}
				assert.GreaterOrEqual(t, *i.Received, s.Report().Packets+i.Ignored.Packets)
			}
		})
	}
}

// A packet that finds no room is counted.
func TestWhatDoesNotFitIsCounted(t *testing.T) {
	whole := rdmaOf(framesOf(t, "allreduce-loss.pcapng"))
	var frames [][]byte
	for len(frames) < 30_000 {
		frames = append(frames, whole...)
	}
	for _, l := range sources() {
		t.Run(l.name, func(t *testing.T) {
			left, right := vethtest.Pair(t)
			s := opened(t, right, &l, 2<<20)
			left.Send(t, frames)
			i := s.Interfaces()[0]
			lost := *i.Dropped
			assert.Greater(t, lost, uint64(1000))
			assert.Less(t, lost, uint64(len(frames)))
			var batch capture.Batch
			var got uint64 // of RDMA; the kernel sends packets of its own, too
			accounted := func() bool {
				i = s.Interfaces()[0]
				return *i.Received <= s.Report().Packets+*i.Dropped+i.Ignored.Packets
			}
			for !accounted() {
				require.NoError(t, s.Next(&batch))
				for k := range batch.Frames {
					if isRDMA(batch.Frames[k].Data, batch.Frames[k].OriginalLength) {
						got++
					}
				}
			}
			assert.Equal(t, *i.Received, s.Report().Packets+*i.Dropped+i.Ignored.Packets)
			assert.LessOrEqual(t, got, uint64(len(frames)))
			assert.GreaterOrEqual(t, got+*i.Dropped, uint64(len(frames)), "what was sent arrived or was lost")
		})
	}
}

func TestGoingDownIsSaid(t *testing.T) {
	for _, l := range sources() {
		t.Run(l.name, func(t *testing.T) {
			left, right := vethtest.Pair(t)
			s := opened(t, right, &l, 4<<20)
			right.Down(t)
			var batch capture.Batch
			var err error
			for err == nil {
				err = s.Next(&batch)
			}
			require.ErrorIs(t, err, capture.ErrDown)
			<-right.Go(t, func() { _, err = l.open(right.Interface, 4<<20) })
			require.ErrorIs(t, err, capture.ErrDown)
			<-right.Go(t, func() { require.NoError(t, s.Close()) })
			right.Up(t)
			s = opened(t, right, &l, 4<<20)
			frames := rdmaOf(framesOf(t, "read-write-mix.pcap"))
			left.Send(t, frames)
			arrived(t, s, len(frames), func(i int, f *capture.Frame) { assert.EqualValues(t, len(frames[i]), f.OriginalLength) })

			ended := make(chan error)
			go func() {
				for {
					if err := s.Next(&batch); err != nil {
						ended <- err
						return
					}
				}
			}()
			<-right.Go(t, func() { assert.NoError(t, s.Close()) })
			require.ErrorIs(t, <-ended, io.EOF, "Close ends a Next that waits")
		})
	}
}

func TestOpenSaysWhy(t *testing.T) {
	for _, l := range sources() {
		_, err := l.open("no-such-if", 0)
		require.ErrorIs(t, err, capture.ErrNoInterface, l.name)
		assert.ErrorContains(t, err, `on "no-such-if": there is no such network interface`)
	}
}
