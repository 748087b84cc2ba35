package flow_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

func n(v uint64) flow.Count { return flow.Count{N: v, Known: true} }

func TestRejectedHandshake(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, nil)
	s.request(77)
	s.request(77)
	s.send(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRej}, REJ: mr0.REJ{Reason: mr0.RejectReasonMTU, Nonce: 77}}, 0)
	a, b := s.both()
	x := a.MetaRoCE
	assert.Equal(t, flow.HandshakeRejected, x.Handshake)
	assert.Equal(t, mr0.RejectReasonMTU, x.RejectReason)
	assert.Equal(t, uint64(2), x.Requests)
	assert.Equal(t, flow.PairingCM, a.Pairing)
	assert.False(t, x.AcceptTime.Known, "it was not accepted")
	assert.Equal(t, n(2), x.PathCount, "the request said so")
	assert.False(t, b.MetaRoCE.PathCount.Known, "a CONN_REJ does not say so")
	assert.Equal(t, flow.HandshakeUnseen, b.MetaRoCE.Handshake)
}

// A rejection of another request says nothing about this one.
func TestUnansweredHandshake(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, nil)
	for range 6 {
		s.request(77)
	}
	s.send(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRej}, REJ: mr0.REJ{Reason: mr0.RejectReasonBusy, Nonce: 78}}, 0)
	records := s.finish()
	require.Len(t, records, 2)
	x := records[0].MetaRoCE
	assert.Equal(t, flow.HandshakeRequested, x.Handshake)
	assert.Equal(t, uint64(6), x.Requests)
	assert.Equal(t, mr0.RejectReason(0), x.RejectReason)
	assert.Zero(t, records[0].ReverseID)
	assert.Equal(t, n(chosenByA), records[0].SourceQP)
}

func TestAcceptedHandshake(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, nil)
	s.request(77)
	s.reply(77)
	s.request(77) // the reply was lost behind the capture
	s.reply(77)
	s.write(0, 0, 0, 1)
	s.ack(1, 1, nil)
	s.disconnect(false)
	s.disconnect(true)
	a, b := s.both()
	assert.Equal(t, flow.HandshakeAccepted, a.MetaRoCE.Handshake)
	assert.Equal(t, n(10_000), a.MetaRoCE.AcceptTime)
	assert.Equal(t, uint64(2), a.MetaRoCE.Requests)
	assert.Equal(t, n(chosenByA), a.SourceQP)
	assert.Equal(t, uint32(chosenByB), a.Key.DestinationQP)
	assert.Equal(t, uint64(4), a.Packets)
	assert.Equal(t, uint64(4), b.Packets)
	assert.True(t, a.MetaRoCE.Disconnected)
	assert.True(t, b.MetaRoCE.Disconnected)
	assert.Equal(t, n(1), a.MetaRoCE.Streams[0].Complete)
}

// Connection ids are used again by another connection: its nonce tells. Nothing of the two is mixed.
func TestConnectionIDsAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, nil)
	for life, nonce := range []uint64{77, 78, 79} {
		s.request(nonce)
		s.reply(nonce)
		for psn := range uint32(3 + life) {
			s.write(psn, psn, 0, 1)
		}
		s.ack(1, uint32(3+life), nil)
	}
	records := s.finish()
	require.Len(t, records, 6)
	var messages, acks uint64
	pairs := map[flow.ID]int{}
	for i := range records {
		r := &records[i]
		pairs[r.ConnectionID]++
		messages += r.Messages.N
		acks += r.Acks
		assert.Zero(t, r.Duplicates.N, "of another life")
		assert.Equal(t, flow.PairingCM, r.Pairing)
	}
	assert.Equal(t, uint64(3+4+5), messages)
	assert.Equal(t, uint64(3), acks)
	assert.Equal(t, uint64(6), s.tracker.Totals().Flows)
}

// A sender that asks anew after a rejection is another connection, and the rejection stays with the first.
func TestAcceptedAfterARejection(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, nil)
	s.request(77)
	s.send(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRej}, REJ: mr0.REJ{Reason: mr0.RejectReasonBusy, Nonce: 77}}, 0)
	s.request(78)
	s.reply(78)
	s.write(0, 0, 0, 1)
	results := map[flow.Handshake]int{}
	for _, r := range s.finish() {
		if r.MetaRoCE.Requests > 0 {
			results[r.MetaRoCE.Handshake]++
		}
		if r.MetaRoCE.Handshake == flow.HandshakeAccepted {
			assert.Equal(t, n(1), r.Messages)
			assert.Equal(t, mr0.RejectReason(0), r.MetaRoCE.RejectReason)
		}
	}
	assert.Equal(t, map[flow.Handshake]int{flow.HandshakeRejected: 1, flow.HandshakeAccepted: 1}, results)
}

// Without a handshake the ids that a DISCONNECT tells, or an ACK that fits, make the pair; what is left is paired by its
// addresses if there is no doubt.
func TestPairingWithoutHandshake(t *testing.T) {
	t.Parallel()
	toB := func(k int) captured { return toConnection(uint32(chosenByB + 16*k)) }
	toA := func(k int) captured { return toConnection(uint32(chosenByA + 16*k)) }
	elsewhere := func(_ *mr0.Packet, f *build.Frame) {
		f.Source, f.Destination = netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("10.0.0.2")
	}
	for name, c := range map[string]struct {
		write func(s *metaScript)
		want  map[flow.Pairing]int // flows
	}{
		"one each way": {func(s *metaScript) {
			s.write(0, 0, 0, 1)
			s.ack(1, 1, nil) // its echo fits nothing
		}, map[flow.Pairing]int{flow.PairingAddresses: 2}},
		"two one way and one back": {func(s *metaScript) {
			s.write(0, 0, 0, 1, toB(0))
			s.write(0, 0, 0, 1, toB(1))
			s.ack(1, 1, nil)
		}, map[flow.Pairing]int{flow.PairingNone: 3}},
		"nothing back": {func(s *metaScript) {
			s.write(0, 0, 0, 1)
			s.write(1, 1, 0, 1, elsewhere)
		}, map[flow.Pairing]int{flow.PairingNone: 2}},
		"a DISCONNECT before the other direction": {func(s *metaScript) {
			s.disconnect(false)
			s.write(0, 0, 0, 1, toB(1))
			s.disconnect(true)
		}, map[flow.Pairing]int{flow.PairingCM: 2, flow.PairingNone: 1}},
		"an echo": {func(s *metaScript) {
			s.write(7, 0, 0, 1, toB(0))
			sent := uint32(s.now)
			s.write(7, 0, 0, 1, toB(1))
			s.ack(1, 8, nil, toA(0), func(m *mr0.Packet, _ *build.Frame) { m.ACKH.EchoTimestamp = sent })
		}, map[flow.Pairing]int{flow.PairingInferred: 2, flow.PairingNone: 1}},
		"an echo that covers something else": {func(s *metaScript) {
			s.write(7, 0, 0, 1, toB(0))
			sent := uint32(s.now)
			s.write(7, 0, 0, 1, toB(1))
			s.ack(1, 7, nil, toA(0), func(m *mr0.Packet, _ *build.Frame) { m.ACKH.EchoTimestamp = sent })
		}, map[flow.Pairing]int{flow.PairingNone: 3}},
	} {
		s := newMetaScript(t, nil)
		c.write(s)
		got := map[flow.Pairing]int{}
		for _, r := range s.finish() {
			got[r.Pairing]++
		}
		assert.Equal(t, c.want, got, name)
	}
}

// When there are too many flows, the one that was silent for longest goes, whole, and its partner still names it.
func TestFlowsOfMetaRoCEAreEvicted(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, func(c *flow.Config) { c.MaxFlows = 4 })
	s.request(77)
	s.reply(77)
	s.write(0, 0, 0, 1)
	for k := range uint32(3) {
		s.write(0, 0, 0, 1, toConnection(100+k))
		s.write(1, 1, 0, 1) // so that A's direction is never the silent one
	}
	require.Len(t, s.records, 1)
	gone := s.records[0]
	assert.Equal(t, uint32(chosenByA), gone.Key.DestinationQP, "B was silent for longest")
	assert.NotZero(t, gone.ReverseID)
	assert.Equal(t, uint64(1), s.tracker.Totals().EvictedFlows)
	records := s.finish()
	require.Len(t, records, 5)
	var packets uint64
	for _, r := range records {
		packets += r.Packets
		if r.ID == gone.ReverseID {
			assert.Equal(t, gone.ID, r.ReverseID)
			assert.Equal(t, gone.ConnectionID, r.ConnectionID)
			assert.Equal(t, uint64(5), r.Packets)
		}
	}
	assert.Equal(t, uint64(9), packets)
}

// Paths and streams are what costs memory: they have a bound of their own.
func TestFlowsAreEvictedForTheirPaths(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, func(c *flow.Config) { c.MaxPaths = 20 })
	for k := range uint32(10) {
		for id := range uint8(4) { // four paths and a stream
			s.write(0, uint32(id), 0, 1, toConnection(100+k), path(id))
		}
	}
	assert.Equal(t, uint64(6), s.tracker.Totals().EvictedFlows, "four of them have 20 parts")
	for i, r := range s.finish() {
		assert.Equal(t, uint32(100+i), r.Key.DestinationQP)
		assert.Len(t, r.MetaRoCE.Paths, 4)
	}
}

// Directions that are awaited in vain do not keep others from being paired.
func TestAwaitedDirectionsAreForgottenWithTheirFlows(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, func(c *flow.Config) { c.MaxFlows, c.MaxConnections = 4, 5 })
	for k := range uint32(20) {
		s.disconnect(false, toConnection(1000+k), func(m *mr0.Packet, _ *build.Frame) { m.DISC.SourceConnID = 2000 + k })
	}
	s.disconnect(false)
	s.write(0, 0, 0, 1)
	s.ack(1, 1, nil)
	paired := 0
	for _, r := range s.finish() {
		if r.Pairing == flow.PairingCM {
			paired++
		}
	}
	assert.Equal(t, 2, paired)
}
