package flight

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
)

const (
	tallies = 1 << 12 // directions that are counted at once; a power of two
	second  = int64(time.Second)
	// fewest packets of a second make a share of them mean something.
	fewest = 100
	// usual is how many seconds throughput is compared with, and least how many bytes pass in each of them on average.
	usual = 10
	least = 1_000_000
)

// detector finds what is worth a record. It allocates only when it has found something.
type detector struct {
	rules   Rules
	name    string // of the interface
	found   func(*Event)
	tallies [tallies]tally

	bytes   uint64        // of RDMA since the latest tick
	ticked  time.Time     // when that was
	passed  [usual]uint64 // bytes a second of the latest ticks
	seconds int
}

// tally is what one direction of a connection has done in a second.
type tally struct {
	flow, connection        uint64
	begin                   int64
	packets, resent, marked uint32
	naks, shown             uint32
	latest                  [finding.MaxProof]uint64 // packets that show the latest of these
	paired                  bool                     // connection is that of both directions
	ends                    [2]dissector.Address
	qp                      uint32
}

// observe counts a packet.
func (d *detector) observe(e *watch.Event) {
	p, o := e.Packet, &e.Observation
	d.bytes += uint64(e.Frame.OriginalLength)
	if o.Flow == 0 || o.Flags&flow.FlagMirrorCopy != 0 {
		return
	}
	t := &d.tallies[uint64(o.Flow)>>7&(tallies-1)]
	if t.flow != uint64(o.Flow) || e.Frame.Time-t.begin >= second {
		d.judge(t)
		d.begin(t, e)
	}
	if t.packets++; !t.paired && t.packets&(t.packets-1) == 0 { // again and again, ever more seldom
		t.pair(e)
	}
	notable := false
	if o.Flags&flow.FlagRetransmitted != 0 {
		t.resent++
		notable = d.rules.Retransmitted > 0
	}
	if p.Network.ECN == dissector.ECNCE {
		t.marked++
	}
	if refuses(p) {
		t.naks++
		notable = notable || d.rules.NAKs > 0
	}
	if notable {
		t.latest[t.shown%finding.MaxProof] = p.Meta.Number
		t.shown++
	}
	if d.rules.NAKs > 0 && t.naks == d.rules.NAKs && notable {
		t.pair(e)
		d.tell(t, KindNAKs, e.Frame.Time, fmt.Sprintf("%d NAKs in %s", t.naks, time.Duration(e.Frame.Time-t.begin).Round(time.Microsecond)))
	}
	if d.rules.PathFailure && p.Protocol == dissector.ProtocolMetaRoCE && p.MetaRoCE.MR0.CH.Type == mr0.TypeProbe {
		t.latest, t.shown = [finding.MaxProof]uint64{p.Meta.Number}, 1
		t.pair(e)
		d.tell(t, KindPathFailure, e.Frame.Time, fmt.Sprintf("path %d has failed: packet %d probes it", p.MetaRoCE.MR0.CH.PathID, p.Meta.Number))
	}
}

// begin counts a direction anew.
func (d *detector) begin(t *tally, e *watch.Event) {
	*t = tally{flow: uint64(e.Observation.Flow), connection: uint64(e.Observation.Flow), begin: e.Frame.Time, qp: e.Packet.BTH.DestinationQP}
	t.ends[0], t.ends[1] = e.Packet.Ends()
	if e.Packet.Protocol == dissector.ProtocolMetaRoCE {
		t.qp = e.Packet.MetaRoCE.MR0.CH.DestConnID
	}
}

// pair finds the connection that the direction belongs to, if its opposite is known already.
func (t *tally) pair(e *watch.Event) {
	if partner, _ := e.Tracker.Partner(e.Packet); partner != 0 {
		t.connection, t.paired = min(t.flow, uint64(partner)), true
	}
}

// refuses tells whether a packet is a NAK, RNR aside.
func refuses(p *dissector.Packet) bool {
	if p.Protocol == dissector.ProtocolMetaRoCE {
		return p.MetaRoCE.MR0.CH.Type == mr0.TypeNAK
	}
	return p.BTH.Opcode.IsAck() && p.Has&infiniband.HasAETH != 0 && p.AETH.Syndrome.IsNAK()
}

// judge looks at a second that is over.
func (d *detector) judge(t *tally) {
	if t.packets < fewest {
		return
	}
	for _, s := range [...]struct {
		kind  Kind
		limit float64
		n     uint32
		what  string
	}{
		{KindRetransmission, d.rules.Retransmitted, t.resent, "were sent again"},
		{KindCE, d.rules.CE, t.marked, "were marked CE"},
	} {
		if s.limit > 0 && float64(s.n) >= s.limit*float64(t.packets) {
			d.tell(t, s.kind, t.begin, fmt.Sprintf("%d of %d packets in a second %s", s.n, t.packets, s.what))
		}
	}
}

// tell makes an event of a direction.
func (d *detector) tell(t *tally, kind Kind, at int64, what string) {
	e := &Event{
		Kind: kind, Interface: d.name, Connection: t.connection, Time: time.Unix(0, at).UTC(),
		Sentence: fmt.Sprintf("%s to %s QP %#06x: %s.", t.ends[0], t.ends[1], t.qp, what),
	}
	if kind != KindCE {
		e.Packets = append(e.Packets, t.latest[:min(t.shown, finding.MaxProof)]...)
	}
	d.found(e)
}

// tick looks at seconds that nothing has ended, and at throughput.
func (d *detector) tick(now time.Time) {
	for i := range d.tallies {
		if t := &d.tallies[i]; t.packets > 0 && now.UnixNano()-t.begin > 2*second {
			d.judge(t)
			*t = tally{}
		}
	}
	since := now.Sub(d.ticked)
	d.ticked = now
	rate := uint64(float64(d.bytes) / max(since.Seconds(), 1e-3))
	d.bytes = 0
	if since > 10*time.Second { // the first tick, or the host slept
		d.seconds = 0
		return
	}
	if d.rules.Throughput > 0 && d.seconds >= usual {
		sum := uint64(0)
		for _, n := range d.passed {
			sum += n
		}
		if mean := sum / usual; mean >= least && float64(rate) < d.rules.Throughput*float64(mean) {
			d.found(&Event{
				Kind: KindThroughput, Interface: d.name, Time: now.UTC(),
				Sentence: fmt.Sprintf("RDMA on %s has dropped to %.1f MB/s from %.1f MB/s.", d.name, float64(rate)/1e6, float64(mean)/1e6),
			})
			d.seconds = 0 // what is usual is to be learnt anew
			return
		}
	}
	d.passed[d.seconds%usual] = rate
	d.seconds++
}
