package afpacket_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/afpacket"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// framesOf reads all frames of one of our own captures.
func framesOf(t *testing.T, name string) [][]byte {
	t.Helper()
	source, err := pcapfile.Open(filepath.Join("..", "..", "testdata", name), pcapfile.Options{})
	require.NoError(t, err)
	defer source.Close()
	var out [][]byte
	var batch capture.Batch
	for {
		err := source.Next(&batch)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		for _, f := range batch.Frames {
			out = append(out, bytes.Clone(f.Data))
		}
	}
}

// TestFramesArriveAsTheyWereSent sends frames through a cable whose receiving end takes VLAN tags out, as NICs do.
func TestFramesArriveAsTheyWereSent(t *testing.T) {
	left, right := vethtest.Pair(t)
	var source *afpacket.Source
	<-right.Go(t, func() {
		var err error
		source, err = afpacket.Open(right.Interface, afpacket.Options{RingBytes: 4 << 20})
		assert.NoError(t, err)
	})
	require.NotNil(t, source)
	for _, name := range []string{
		"derived/base-cm-send-write-read.pcap", "derived/enc-vlan-pcp3.pcap", "derived/enc-vlan-prio-tag.pcap",
		"derived/enc-qinq.pcap", "derived/rocev2-ipv6.pcap", "derived/pfc.pcap", "allreduce-loss.pcapng",
	} {
		t.Run(name, func(t *testing.T) {
			sent := framesOf(t, name)
			left.Send(t, sent)
			var batch capture.Batch
			var last int64
			for got := 0; got < len(sent); {
				require.NoError(t, source.Next(&batch))
				for _, f := range batch.Frames {
					if f.Data[0] == 0x33 && f.Data[1] == 0x33 {
						continue // the kernel's own neighbour discovery
					}
					require.Equal(t, sent[got], f.Data, "frame %d", got+1)
					assert.EqualValues(t, len(sent[got]), f.OriginalLength)
					assert.True(t, f.HasTime)
					assert.GreaterOrEqual(t, f.Time, last)
					assert.EqualValues(t, 1, f.LinkType)
					last = f.Time
					got++
				}
			}
		})
	}
	interfaces := source.Interfaces()
	require.Len(t, interfaces, 1)
	assert.Equal(t, right.Interface, interfaces[0].Name)
	assert.GreaterOrEqual(t, *interfaces[0].Received, source.Report().Packets)
	assert.Zero(t, *interfaces[0].Dropped)

	// Close ends a Next that waits.
	ended := make(chan error)
	go func() {
		var batch capture.Batch
		for {
			if err := source.Next(&batch); err != nil {
				ended <- err
				return
			}
		}
	}()
	require.NoError(t, source.Close())
	require.ErrorIs(t, <-ended, io.EOF)
	require.NoError(t, source.Close())
}

// TestLossIsCounted fills a ring that nobody reads, and expects the kernel's count of what did not fit.
func TestLossIsCounted(t *testing.T) {
	left, right := vethtest.Pair(t)
	var source *afpacket.Source
	<-right.Go(t, func() {
		var err error
		source, err = afpacket.Open(right.Interface, afpacket.Options{RingBytes: 2 << 20})
		assert.NoError(t, err)
	})
	require.NotNil(t, source)
	frame := make([]byte, 8000)
	copy(frame, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00})
	frames := make([][]byte, 1000) // 8 MB into a ring of 2
	for i := range frames {
		frames[i] = frame
	}
	left.Send(t, frames)
	interfaces := source.Interfaces()
	assert.Greater(t, *interfaces[0].Dropped, uint64(500))
	assert.GreaterOrEqual(t, *interfaces[0].Received, uint64(len(frames)))
	require.NoError(t, source.Close())
}

func TestInterfaceGoingDownIsSaid(t *testing.T) {
	_, right := vethtest.Pair(t)
	var source *afpacket.Source
	<-right.Go(t, func() {
		var err error
		source, err = afpacket.Open(right.Interface, afpacket.Options{})
		assert.NoError(t, err)
	})
	require.NotNil(t, source)
	right.Down(t)
	var batch capture.Batch
	var err error
	for err == nil {
		err = source.Next(&batch)
	}
	require.ErrorIs(t, err, afpacket.ErrDown)
	require.NoError(t, source.Close())
}

func TestOpenSaysWhy(t *testing.T) {
	_, err := afpacket.Open("no-such-if", afpacket.Options{})
	require.ErrorIs(t, err, afpacket.ErrNoInterface)
	assert.ErrorContains(t, err, `capture on "no-such-if": there is no such network interface`)
}
