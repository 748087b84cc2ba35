package flow_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// frame is one packet of a test.
type frame struct {
	data []byte
	meta dissector.Meta
}

// readPcap reads a whole pcap file of either byte order and resolution.
func readPcap(tb testing.TB, path string) []frame {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	const header, record = 24, 16
	if len(raw) < header {
		tb.Fatalf("%s: too short for pcap", path)
	}
	var order binary.ByteOrder = binary.LittleEndian
	unit := int64(1000)
	switch order.Uint32(raw) {
	case 0xa1b2c3d4:
	case 0xa1b23c4d:
		unit = 1
	case 0xd4c3b2a1:
		order = binary.BigEndian
	case 0x4d3cb2a1:
		order, unit = binary.BigEndian, 1
	default:
		tb.Fatalf("%s: no pcap", path)
	}
	link := dissector.LinkType(order.Uint32(raw[20:]) & 0xffff)
	var frames []frame
	for off := header; off+record <= len(raw); {
		n := int(order.Uint32(raw[off+8:]))
		meta := dissector.Meta{
			Time:           int64(order.Uint32(raw[off:]))*1e9 + int64(order.Uint32(raw[off+4:]))*unit,
			Number:         uint64(len(frames) + 1),
			OriginalLength: order.Uint32(raw[off+12:]),
			LinkType:       link,
			HasTime:        true,
		}
		off += record
		if n > len(raw)-off {
			break
		}
		frames = append(frames, frame{raw[off : off+n], meta})
		off += n
	}
	return frames
}

// result is what a tracker said of a run of packets.
type result struct {
	records []flow.Record
	flags   map[uint64]flow.Flags // of each packet, after all revisions; packets without flags are absent
	message map[uint64]uint32
	flow    map[uint64]flow.ID // of each packet
	totals  flow.Totals
}

// track runs frames through a tracker.
func track(tb testing.TB, config flow.Config, frames []frame) result {
	tb.Helper()
	res := result{flags: map[uint64]flow.Flags{}, message: map[uint64]uint32{}, flow: map[uint64]flow.ID{}}
	tracker := flow.NewTracker(config, func(r *flow.Record) { res.records = append(res.records, *r) })
	set := func(number uint64, flags flow.Flags) {
		delete(res.flags, number)
		if flags != 0 {
			res.flags[number] = flags
		}
	}
	var p dissector.Packet
	for _, f := range frames {
		err := dissector.Decode(f.data, f.meta, &p)
		o := tracker.Observe(&p, err, dissector.VerifyICRC(&p))
		set(f.meta.Number, o.Flags)
		res.flow[f.meta.Number] = o.Flow
		if o.Message != 0 {
			res.message[f.meta.Number] = o.Message
		}
		if o.Revised.Number != 0 {
			set(o.Revised.Number, o.Revised.Flags)
		}
	}
	for r, ok := tracker.Revised(); ok; r, ok = tracker.Revised() {
		set(r.Number, r.Flags)
	}
	tracker.Flush()
	res.totals = tracker.Totals()
	checkSums(tb, res)
	return res
}

// checkSums holds the records against the totals, and the flags of packets against both.
func checkSums(tb testing.TB, r result) {
	tb.Helper()
	var sum flow.Totals
	for i := range r.records {
		x := &r.records[i]
		sum.RDMAPackets += x.Packets
		sum.RDMABytes += x.Bytes
		sum.Messages += x.Messages.N
		sum.Retransmitted += x.Retransmitted.N
		sum.OutOfOrder += x.OutOfOrder.N
		sum.MissingPSNs += x.MissingPSNs.N
		sum.MirrorCopies += x.MirrorCopies
		for _, n := range x.Naks {
			sum.Naks += n
		}
		sum.RNRNaks += x.RNRNaks
		sum.CNPs += x.CNPs
		sum.CEMarked += x.CEMarked.N
		sum.ICRCErrors += x.ICRCBad
		sum.ICRCUndetermined += x.ICRCUndetermined
		sum.Flows++
		if x.MissingAcknowledged.N > x.MissingPSNs.N || x.GoodputBytes.N > x.PayloadBytes || x.Duplicates.N+x.MirrorCopies > x.Packets {
			tb.Errorf("flow %x contradicts itself: %+v", x.ID, x)
		}
	}
	t := r.totals
	sum.Packets, sum.Bytes = t.Packets, t.Bytes
	sum.Malformed, sum.Truncated, sum.Unsupported = t.Malformed, t.Truncated, t.Unsupported
	sum.NotRDMA, sum.PauseFrames = t.NotRDMA, t.PauseFrames
	sum.Connections, sum.EvictedFlows = t.Connections, t.EvictedFlows
	if t.Malformed > 0 { // malformed packets need not have a flow
		sum.RDMAPackets, sum.RDMABytes, sum.CEMarked = t.RDMAPackets, t.RDMABytes, t.CEMarked
		sum.ICRCErrors, sum.ICRCUndetermined = t.ICRCErrors, t.ICRCUndetermined
	}
	if sum != t {
		tb.Errorf("sums over flows\n%+v\nare not the totals\n%+v", sum, t)
	}
	var resent, disordered, copies uint64
	for _, f := range r.flags {
		if f&flow.FlagRetransmitted != 0 {
			resent++
		}
		if f&flow.FlagOutOfOrder != 0 {
			disordered++
		}
		if f&flow.FlagMirrorCopy != 0 {
			copies++
		}
	}
	if resent != t.Retransmitted || disordered != t.OutOfOrder || copies != t.MirrorCopies {
		tb.Errorf("flags of packets: %d resent, %d out of order, %d copies; totals %d, %d, %d", resent, disordered, copies,
			t.Retransmitted, t.OutOfOrder, t.MirrorCopies)
	}
}

// shared is the path of a public capture, which is not part of the project. The test is skipped when the
// folder is absent.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("ROCELENS_CAPTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "captures")
	}
	if _, err := os.Stat(root); err != nil {
		tb.Skipf("the folder of public captures is absent: %v", err)
	}
	return filepath.Join(root, name)
}

// decode decodes one good frame.
func decode(tb testing.TB, f frame) *dissector.Packet {
	tb.Helper()
	var p dissector.Packet
	if err := dissector.Decode(f.data, f.meta, &p); err != nil {
		tb.Fatal(err)
	}
	return &p
}
