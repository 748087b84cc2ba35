package flow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

func connected(t *testing.T) *metaScript {
	t.Helper()
	s := newMetaScript(t, nil)
	s.request(77)
	s.reply(77)
	return s
}

// stream1 is the only stream of a record.
func stream1(t *testing.T, r *flow.Record) *flow.StreamRecord {
	t.Helper()
	require.Len(t, r.MetaRoCE.Streams, 1)
	return &r.MetaRoCE.Streams[0]
}

// A failed path's bytes go out on another one with new psns: they count once as goodput, and their message is complete
// when the new packets are acknowledged, timed from the first.
func TestMovedBytesCountOnce(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]uint32{"one message of four packets": 4, "four messages of a packet": 1} {
		s := connected(t)
		messages := uint64(4 / of)
		for i := range uint32(4) {
			s.write(i, i/of, i%of, of) // path 0, which fails
		}
		began := s.now - 30_000
		for i := range uint32(4) {
			s.write(i, i/of, i%of, of, path(1), again)
		}
		s.probe(0, again, port(50001))
		s.ack(1, 4, nil, path(1))
		acked := s.now
		s.ack(1, 1, nil) // of the PROBE, whose psn bears those bytes no more
		a, _ := s.both()
		x := stream1(t, a)
		assert.Equal(t, uint64(400), x.GoodputBytes, name)
		assert.Equal(t, uint64(800), x.PayloadBytes, name)
		assert.Equal(t, messages, x.Messages, name)
		assert.Equal(t, n(messages), x.Complete, name)
		assert.Equal(t, messages, x.Latency.Samples, name)
		assert.Equal(t, n(uint64(acked-began)), x.Latency.Max, name)
		assert.Equal(t, uint64(4), a.MetaRoCE.Paths[1].RetransmittedMoved, name)
		assert.Equal(t, uint64(0), a.MetaRoCE.Paths[0].RetransmittedMoved, name)
		assert.Equal(t, uint64(2), uint64(len(a.MetaRoCE.Paths[0].Ports)), name)
	}
}

// What was acknowledged on its first path before it came again counts there, and not once more.
func TestMovedAfterItWasAcknowledged(t *testing.T) {
	t.Parallel()
	s := connected(t)
	s.write(0, 0, 0, 2)
	s.ack(1, 1, nil) // lost behind the capture
	s.write(0, 0, 0, 2, path(1), again)
	s.ack(1, 1, nil, path(1))
	a, _ := s.both()
	assert.Equal(t, n(0), stream1(t, a).Complete, "the second packet never came")
	assert.Equal(t, uint64(100), stream1(t, a).GoodputBytes)
}

// Bytes whose first packet the capture missed are new to it.
func TestMovedBytesThatWereNotCaptured(t *testing.T) {
	t.Parallel()
	s := connected(t)
	s.write(0, 0, 0, 3)
	s.write(2, 0, 2, 3)
	s.write(0, 0, 1, 3, path(1), again)
	s.ack(1, 1, []uint32{2})
	s.ack(1, 1, nil, path(1))
	a, _ := s.both()
	x := stream1(t, a)
	assert.Equal(t, uint64(300), x.GoodputBytes)
	assert.Equal(t, n(1), x.Complete)
}

// A packet is another than its namesake of the other kind: both directions number their messages from 0.
func TestMovedResponseIsNoRequest(t *testing.T) {
	t.Parallel()
	s := connected(t)
	response := func(psn uint32, how ...captured) {
		s.send(false, mr0.Packet{
			CH: mr0.CH{Type: mr0.TypeReadResp, Flags: mr0.FlagFirst, PSN: psn},
			DH: mr0.DH{StreamID: 1, MessageLength: 200},
		}, 100, how...)
	}
	response(0)
	s.write(1, 0, 0, 2)
	response(0, path(1), again)
	s.ack(1, 2, nil)
	s.write(1, 0, 1, 2, path(1))
	s.ack(1, 2, nil, path(1))
	a, _ := s.both()
	assert.Equal(t, n(1), stream1(t, a).Complete, "the WRITE has not moved")
	assert.Equal(t, uint64(300), stream1(t, a).GoodputBytes)
}

// Many moved packets find theirs, whatever the number of paths.
func TestAllOfAFailedPathIsFound(t *testing.T) {
	t.Parallel()
	s := connected(t)
	const each = 200
	for psn := range uint32(each) {
		for id := range uint8(64) {
			s.write(psn, psn*64+uint32(id), 0, 1, path(id))
		}
	}
	for psn := range uint32(each) {
		s.write(each+psn/63, psn*64+63, 0, 1, path(uint8(psn%63)), again)
	}
	a, _ := s.both()
	assert.Equal(t, uint64(64*each*100), stream1(t, a).GoodputBytes)
}

func TestNAKs(t *testing.T) {
	t.Parallel()
	s := connected(t)
	for psn := range uint32(4) {
		s.write(psn, psn, 0, 1)
	}
	s.nak(mr0.NAKReasonReceiverNotReady, 1, 1, 5_000)
	s.nak(mr0.NAKReasonReceiverNotReady, 2, 2, 9_000)
	s.write(1, 1, 0, 1, again)
	s.write(2, 2, 0, 1, again)
	s.ack(1, 2, nil)
	s.write(3, 3, 0, 1, again) // of its own accord
	s.nak(mr0.NAKReasonRemoteAccessError, 3, 3, 0)
	s.nak(mr0.NAKReasonStreamUnknown, 3, 3, 0, path(1))
	s.nak(200, 3, 3, 0)
	a, b := s.both()
	assert.Equal(t, uint64(2), b.RNRNaks)
	assert.Equal(t, int64(9_000), b.RNRTimerMax)
	var codes [32]uint64
	codes[0], codes[mr0.NAKReasonRemoteAccessError], codes[mr0.NAKReasonStreamUnknown] = 1, 1, 1
	assert.Equal(t, codes, b.Naks)
	x := &a.MetaRoCE.Paths[0]
	assert.Equal(t, uint64(4), x.Naks)
	assert.Equal(t, n(2), x.RetransmittedRNR)
	assert.Equal(t, uint64(3), x.Retransmitted)
	assert.Equal(t, uint64(5), stream1(t, a).Naks)
	assert.Equal(t, uint64(1), a.MetaRoCE.Paths[1].Naks)
	assert.False(t, a.MetaRoCE.Paths[1].FirstPSN.Known, "nothing of path 1 was captured")
	totals := s.tracker.Totals()
	assert.Equal(t, uint64(3), totals.Naks)
	assert.Equal(t, uint64(2), totals.RNRNaks)
	assert.Equal(t, n(2), a.RetransmittedRNR)
}

// PROBEs have a psn and no bytes: they belong to no stream, and one may take the place of bytes that went elsewhere.
func TestProbes(t *testing.T) {
	t.Parallel()
	s := connected(t)
	s.write(0, 0, 0, 1)
	s.write(2, 2, 0, 1)
	s.probe(0, again, port(50001))
	first := s.now
	s.probe(1, again, port(50001)) // of bytes that the capture missed
	s.probe(3)
	s.ack(1, 4, nil)
	s.write(4, 3, 0, 1)
	a, _ := s.both()
	x := &a.MetaRoCE.Paths[0]
	assert.Equal(t, uint64(3), x.Probes)
	assert.Equal(t, uint64(3), a.MetaRoCE.Probes)
	assert.Equal(t, n(5), x.FirstProbe)
	assert.Equal(t, n(7), x.LastProbe)
	assert.Equal(t, n(uint64(first)), x.FirstProbeTime)
	assert.Equal(t, uint64(1), x.RePaths)
	assert.Equal(t, uint64(0), x.MissingPSNs, "a PROBE has filled it")
	assert.Equal(t, uint64(1), x.PSNGaps)
	assert.Equal(t, uint64(3), stream1(t, a).Messages)
	assert.Equal(t, uint64(3), stream1(t, a).Packets)
	assert.Equal(t, uint64(300), stream1(t, a).GoodputBytes)
	assert.Equal(t, n(2), stream1(t, a).Complete, "the last is not acknowledged")
}
