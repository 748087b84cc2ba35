package flow_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// conversation is packets of all kinds of one connection and of the one that takes its ids afterwards.
func conversation(tb testing.TB) [][]byte {
	tb.Helper()
	s := newMetaScript(tb, nil)
	for _, nonce := range []uint64{77, 78} {
		s.request(nonce)
		s.reply(nonce)
		for psn := range uint32(40) {
			s.write(psn, psn/4, psn%4, 4, path(uint8(psn%2)), func(_ *mr0.Packet, f *build.Frame) { f.ECN = dissector.ECN(psn & 3) })
			if psn%8 == 0 {
				sent := uint32(s.now)
				s.ack(psn, psn+1, nil, path(uint8(psn%2)), func(m *mr0.Packet, _ *build.Frame) { m.ACKH.EchoTimestamp = sent })
			}
		}
		s.ack(41, 10, []uint32{13, 15, 20})
		s.nak(mr0.NAKReasonReceiverNotReady, 11, 2, 1000)
		s.nak(mr0.NAKReasonRemoteAccessError, 11, 2, 0)
		s.write(11, 2, 3, 4, again)
		s.write(40, 3, 1, 4, path(1), again)
		s.write(41, 20, 0, 1, onStream(3))
		s.probe(12, again, port(50001))
		s.send(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadReq, Flags: mr0.FlagFirst, PSN: 42}, DH: mr0.DH{StreamID: 2, MSN: 1, MessageLength: 80}}, 0)
		s.send(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeAtomicReq, Flags: mr0.FlagFirst | mr0.FlagLast, PSN: 43}, DH: mr0.DH{StreamID: 2, MSN: 2}}, 0)
		s.send(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadResp, Flags: mr0.FlagFirst, PSN: 1}, DH: mr0.DH{StreamID: 2, MSN: 1, MessageLength: 80}}, 40)
		s.send(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeAtomicResp, Flags: mr0.FlagFirst | mr0.FlagLast, PSN: 2}, DH: mr0.DH{StreamID: 2, MSN: 2}}, 0)
		s.ack(42, 44, nil)
		s.ack(43, 20, nil, path(1))
		s.disconnect(false)
	}
	s.send(true, mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRej}, REJ: mr0.REJ{Reason: mr0.RejectReasonMTU, Nonce: 78}}, 0)
	return s.frames
}

// metaStep is how many bytes of fuzz input make a packet.
const metaStep = 8

// hostile captures packets of the conversation in any order, some of them damaged, cut or with other numbers.
func hostile(tb testing.TB, frames [][]byte, data []byte) {
	tb.Helper()
	config := flow.DefaultConfig()
	config.MaxFlows, config.MaxPaths, config.MaxConnections = 6, 40, 4
	var records []flow.Record
	tracker := flow.NewTracker(config, func(r *flow.Record) { records = append(records, r.Clone()) })
	now := int64(1 << 60)
	var frame []byte
	for number := uint64(1); len(data) >= metaStep; number++ {
		step := data[:metaStep]
		data = data[metaStep:]
		frame = append(frame[:0], frames[int(step[0])%len(frames)]...)
		value := binary.BigEndian.Uint32(step[2:])
		const psn = 14 + 20 + 8 + 12 // of the common header, in an untagged IPv4 frame
		switch step[1] & 7 {
		case 0, 1, 2, 3:
		case 4:
			frame[psn-4] = byte(value) // path_id
			binary.BigEndian.PutUint32(frame[psn:], value>>8)
		case 5: // any byte behind UDP
			at := 14 + 20 + 8 + int(value>>8)%(len(frame)-14-20-8)
			frame[at] ^= byte(value)
		case 6: // what is not in every type
			if at := psn + 4 + int(value>>24)%64; at+4 <= len(frame) {
				binary.BigEndian.PutUint32(frame[at:], value)
			}
		case 7:
			frame = frame[:max(14, len(frame)-int(value)%len(frame))]
		}
		now += int64(int16(binary.BigEndian.Uint16(step[6:]))) << (step[1] >> 3 & 15)
		meta := dissector.Meta{
			LinkType: dissector.LinkTypeEthernet, HasTime: step[1] != 0xff, Time: now, Number: number,
			OriginalLength: uint32(max(len(frame), len(frames[int(step[0])%len(frames)]))),
		}
		var p dissector.Packet
		err := dissector.Decode(frame, meta, &p)
		if flow.Tracks(&p) {
			tracker.Observe(&p, err, dissector.ICRCState(step[1]>>6))
		}
	}
	tracker.Flush()
	for _, fault := range metaFaults(records, tracker.Totals()) {
		tb.Error(fault)
	}
}

// metaFaults is what does not add up: counts that went below zero, parts greater than the whole, sums that differ.
func metaFaults(records []flow.Record, totals flow.Totals) (faults []string) {
	atMost := func(what string, part, whole uint64) {
		if part > whole || whole > 1<<48 {
			faults = append(faults, fmt.Sprintf("%s: %d of %d", what, part, whole))
		}
	}
	var sum flow.Totals
	ids := map[flow.ID]int{}
	for i := range records {
		r := &records[i]
		ids[r.ID]++
		sum.RDMAPackets += r.Packets
		sum.Messages += r.Messages.N
		sum.Retransmitted += r.Retransmitted.N
		sum.OutOfOrder += r.OutOfOrder.N
		sum.MissingPSNs += r.MissingPSNs.N
		sum.MirrorCopies += r.MirrorCopies
		sum.RNRNaks += r.RNRNaks
		for _, k := range r.Naks {
			sum.Naks += k
		}
		atMost("missing, acknowledged", r.MissingAcknowledged.N, r.MissingPSNs.N)
		atMost("reasons of retransmission", r.RetransmittedNAK.N+r.RetransmittedRNR.N+r.RetransmittedTimeout.N, r.Retransmitted.N)
		atMost("goodput", r.GoodputBytes.N, r.PayloadBytes)
		var packets uint64
		for j := range r.MetaRoCE.Paths {
			p := &r.MetaRoCE.Paths[j]
			packets += p.Packets
			atMost("path: retransmitted", p.Retransmitted, p.Packets)
			atMost("path: retransmitted, seen", p.RetransmittedSeen, p.Retransmitted)
			atMost("path: reasons", p.RetransmittedGap.N+p.RetransmittedRNR.N+p.RetransmittedMoved, p.Retransmitted)
			atMost("path: duplicates and late", p.Duplicates+p.OutOfOrder, p.Packets)
			atMost("path: missing, acknowledged", p.MissingAcknowledged.N, p.MissingPSNs)
			atMost("path: missing", p.MissingPSNs, (p.Packets+p.Acks.N+1)<<17)
			atMost("path: in flight", p.InFlightMax.N, 1<<17)
			atMost("path: probes", p.Probes, p.Packets)
			atMost("path: ports", uint64(len(p.Ports)), min(8, p.Packets))
		}
		atMost("packets of paths", packets, r.Packets)
		for j := range r.MetaRoCE.Streams {
			s := &r.MetaRoCE.Streams[j]
			atMost("stream: complete", s.Complete.N, s.Messages)
			atMost("stream: latencies", s.Latency.Samples, s.Messages)
			atMost("stream: kinds", s.Writes+s.Sends+s.Reads+s.Atomics, s.Messages)
			atMost("stream: goodput", s.GoodputBytes, s.PayloadBytes)
			atMost("stream: responses", s.ResponseBytes, s.GoodputBytes)
		}
	}
	atMost("packets", sum.RDMAPackets, totals.RDMAPackets)
	for _, pair := range []struct {
		what              string
		records, inTotals uint64
	}{
		{"messages", sum.Messages, totals.Messages},
		{"retransmitted", sum.Retransmitted, totals.Retransmitted},
		{"out of order", sum.OutOfOrder, totals.OutOfOrder},
		{"missing", sum.MissingPSNs, totals.MissingPSNs},
		{"mirror copies", sum.MirrorCopies, totals.MirrorCopies},
		{"RNR NAKs", sum.RNRNaks, totals.RNRNaks},
		{"NAKs", sum.Naks, totals.Naks},
		{"flows", uint64(len(records)), totals.Flows},
	} {
		if pair.records != pair.inTotals {
			faults = append(faults, fmt.Sprintf("%s: %d in records, %d in totals", pair.what, pair.records, pair.inTotals))
		}
	}
	return faults
}

func hostileInput(rng *rand.Rand, steps int) []byte {
	data := make([]byte, metaStep*steps)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	calm, later := rng.IntN(4), rng.IntN(40) // some captures begin later
	for i := 0; i < len(data); i += metaStep {
		if calm > 0 && rng.IntN(8) > 0 {
			data[i+1] &^= 7 // as it was
		}
		if calm > 1 && rng.IntN(16) > 0 {
			data[i] = byte(i/metaStep + later) // in order
		}
	}
	return data
}

// Whatever is captured of connections, in whatever order: what is counted adds up.
func TestHostileOrdersOfMetaRoCE(t *testing.T) {
	t.Parallel()
	frames := conversation(t)
	for seed := range shorter(150, 20) {
		hostile(t, frames, hostileInput(rand.New(rand.NewPCG(seed, 5)), 1500))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzMetaTracker captures packets of MetaRoCE in any order, damaged, cut and with other numbers.
func FuzzMetaTracker(f *testing.F) {
	frames := conversation(f)
	for seed := range uint64(8) {
		f.Add(hostileInput(rand.New(rand.NewPCG(seed, 6)), 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) { hostile(t, frames, data) })
}
