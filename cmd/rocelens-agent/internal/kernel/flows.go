package kernel

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/capture/xdp"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
)

// Flows joins the records of a sweep to flows: requests, answers and CNPs of a direction, and the paths of MetaRoCE. The
// zero value is empty.
type Flows struct {
	all map[flow.Key]*joined
}

type joined struct {
	flow.Record
	meta      flow.MetaRoCERecord
	last      int64 // of LastPSN's record
	one, some bool  // every sequence is known; there was one
}

var tunnels = [...]dissector.LayerType{
	xdp.NoTunnel: dissector.LayerNone, xdp.VXLAN: dissector.LayerVXLAN, xdp.GRE: dissector.LayerGRE,
	xdp.ERSPAN1: dissector.LayerERSPAN1, xdp.ERSPAN2: dissector.LayerERSPAN2, xdp.ERSPAN3: dissector.LayerERSPAN3,
}

func keyOf(r *xdp.Record) flow.Key {
	k := flow.Key{
		Source: r.Source, Destination: r.Destination, DestinationQP: r.QP, SourceQP: r.SourceQP,
		Service: infiniband.Service(r.Service), Protocol: dissector.Protocol(r.Protocol),
	}
	if r.Protocol == xdp.MetaRoCE {
		k.Service = flow.ServiceMetaRoCE
	}
	return k
}

// Add takes in a record, and keeps nothing of it.
func (f *Flows) Add(r *xdp.Record) {
	if f.all == nil {
		f.all = map[flow.Key]*joined{}
	}
	k := keyOf(r)
	j := f.all[k]
	if j == nil {
		j = &joined{one: true}
		j.Key, j.ID, j.ConnectionID, j.HasTime, j.Unseen = k, k.ID(), k.ID(), true, flow.UnseenPackets
		f.all[k] = j
	}
	j.add(r)
}

func (j *joined) add(r *xdp.Record) {
	if j.Packets == 0 || r.First < j.FirstTime {
		j.FirstTime = r.First
		j.way(r)
	}
	j.LastTime = max(j.LastTime, r.Last)
	j.Packets += r.Packets
	j.Bytes += r.Bytes
	j.PayloadBytes += r.Payload
	j.ICRCUndetermined += r.Packets
	j.Acks += r.Acks
	j.RNRNaks += r.RNR
	for i, n := range r.Naks {
		if i == len(r.Naks)-1 { // all that are reserved
			i = len(j.Naks) - 1
		}
		j.Naks[i] += n
	}
	j.operations(r)
	if j.Key.Protocol == dissector.ProtocolRoCEv2 || j.Key.Protocol == dissector.ProtocolMetaRoCE {
		j.CEMarked = flow.Count{N: j.CEMarked.N + r.Marked, Known: true}
		j.ECTMarked = flow.Count{N: j.ECTMarked.N + r.Capable, Known: true}
	}
	if n := uint64(r.MTU); n > j.PathMTU.N && j.Key.Protocol != dissector.ProtocolMetaRoCE {
		j.PathMTU = flow.Count{N: n, Known: true}
	}
	for i := range 32 {
		if r.RNRTimers>>i&1 != 0 {
			j.RNRTimerMax = max(j.RNRTimerMax, int64((infiniband.Syndrome(0x20) | infiniband.Syndrome(i)).RNRTimer()))
		}
	}
	j.RNRTimerMax = max(j.RNRTimerMax, int64(r.RetryAfter))
	if r.Sequenced {
		j.sequence(r)
	}
	if r.Protocol == xdp.MetaRoCE {
		j.path(r)
	}
}

func (j *joined) operations(r *xdp.Record) {
	o := &j.Operations
	switch j.Key.Service {
	case infiniband.ServiceCNP:
		j.CNPs += r.Packets
		return
	case infiniband.ServiceUD:
		o.Datagram += r.Packets
	default:
		o.Send += r.Operations[xdp.Send]
		o.Other += r.Operations[xdp.Other]
	}
	o.Write += r.Operations[xdp.Write]
	o.ReadRequest += r.Operations[xdp.Read]
	o.Atomic += r.Operations[xdp.Atomic]
	o.ReadResponse += r.Operations[xdp.ReadResponse]
	o.AtomicResponse += r.Operations[xdp.AtomicResponse]
	o.Ack += r.Operations[xdp.Acknowledgment]
}

// sequence adds what PSNs told. Why a packet was sent again, or came late, the kernel does not find out.
func (j *joined) sequence(r *xdp.Record) {
	s := &r.Sequence
	j.some, j.one = true, j.one && s.Known
	j.PSNGaps.N += s.Gaps
	j.MissingPSNs.N += s.Missing
	j.Duplicates.N += s.Duplicates
	j.GoodputBytes.N += s.DuplicatePayload
	j.PSNGaps.Known, j.MissingPSNs.Known = j.one, j.one
	j.Duplicates.Known = j.one && s.DuplicatesKnown
	if r.Answers || r.Protocol == xdp.MetaRoCE || r.Last < j.last {
		return
	}
	j.last = r.Last
	const mask = 1<<24 - 1
	j.FirstPSN = flow.Count{N: uint64(r.FirstPSN), Known: true}
	j.LastPSN = flow.Count{N: uint64((r.NextPSN - 1) & mask), Known: true}
}

// path adds a path of MetaRoCE, of which sequenced packets alone are counted.
func (j *joined) path(r *xdp.Record) {
	if !r.Sequenced {
		return
	}
	j.meta.Probes += r.Probes
	j.Retransmitted = flow.Count{N: j.Retransmitted.N + r.Resent, Known: true}
	p := flow.PathRecord{
		ID: r.Path, Plane: flow.Count{N: uint64(r.Plane), Known: true}, PlaneChanges: r.PlaneChanges, RePaths: r.PortChanges,
		HasTime: true, FirstTime: r.First, LastTime: r.Last,
		FirstPSN: flow.Count{N: uint64(r.FirstPSN), Known: true}, LastPSN: flow.Count{N: uint64(r.NextPSN - 1), Known: true},
		Packets: r.Packets, Bytes: r.Bytes, PayloadBytes: r.Payload, PSNGaps: r.Sequence.Gaps, MissingPSNs: r.Sequence.Missing,
		Retransmitted: r.Resent, Duplicates: r.Sequence.Duplicates, Probes: r.Probes, CEMarked: r.Marked, ECTMarked: r.Capable,
	}
	p.Unseen = unseen(r)
	if r.PortChanges == 0 && r.CPUs == 1 {
		p.Ports = []flow.PortUse{{Port: r.Port, Packets: r.Packets, FirstTime: flow.Count{N: uint64(r.First), Known: true}}}
	}
	j.meta.Paths = append(j.meta.Paths, p)
}

// unseen is what a record of a path leaves open.
func unseen(r *xdp.Record) flow.Unseen {
	u := flow.UnseenPackets
	if !r.Sequence.Known {
		u |= flow.UnseenSequence
	}
	if !r.Sequence.DuplicatesKnown {
		u |= flow.UnseenDuplicates
	}
	if r.CPUs > 1 { // each sees changes among its own packets
		u |= flow.UnseenChanges
	}
	if r.Probes > 0 {
		u |= flow.UnseenState
	}
	return u
}

// way takes over what the first packet said.
func (j *joined) way(r *xdp.Record) {
	copy(j.DestinationMAC[:], r.MAC[:6])
	copy(j.SourceMAC[:], r.MAC[6:])
	j.VLAN = flow.Count{}
	if r.VLAN != 0 {
		j.VLAN = flow.Count{N: uint64(r.VLAN - 1), Known: true}
	}
	if j.Key.Protocol != dissector.ProtocolRoCEv1 {
		j.DSCP = flow.Count{N: uint64(r.DSCP), Known: true}
		j.SourcePort = flow.Count{N: uint64(r.Port), Known: true}
	}
	j.Tunnel = tunnels[min(int(r.Tunnel), len(tunnels)-1)]
	j.OuterSource, j.OuterDestination = r.Outer[0], r.Outer[1]
	if j.Key.Service == infiniband.ServiceUD {
		j.SourceQP, j.Pairing = flow.Count{N: uint64(r.SourceQP), Known: true}, flow.PairingDatagram
	}
}

// Flush hands over the flows, and forgets them. A record is valid during the call.
func (f *Flows) Flush(emit func(*flow.Record)) {
	f.notify()
	for _, j := range f.all {
		j.finish()
		emit(&j.Record)
	}
	clear(f.all)
}

// notify gives CNPs, which name no service, to the connection that has their addresses and QP, where just one has.
func (f *Flows) notify() {
	for k, j := range f.all {
		if k.Service != infiniband.ServiceCNP {
			continue
		}
		var owner *joined
		owners := 0
		for _, s := range []infiniband.Service{infiniband.ServiceRC, infiniband.ServiceUC, infiniband.ServiceRD, infiniband.ServiceXRC} {
			of := k
			of.Service = s
			if o := f.all[of]; o != nil {
				owner = o
				owners++
			}
		}
		if owners != 1 {
			continue
		}
		owner.FirstTime, owner.LastTime = min(owner.FirstTime, j.FirstTime), max(owner.LastTime, j.LastTime)
		owner.Packets += j.Packets
		owner.Bytes += j.Bytes
		owner.PayloadBytes += j.PayloadBytes
		owner.ICRCUndetermined += j.ICRCUndetermined
		owner.CNPs += j.CNPs
		owner.CEMarked.N += j.CEMarked.N
		owner.ECTMarked.N += j.ECTMarked.N
		delete(f.all, k)
	}
}

// inOrder tells whether PSNs of the service's requests follow each other.
func (j *joined) inOrder() bool {
	s := j.Key.Service
	return s == infiniband.ServiceRC || s == infiniband.ServiceUC || s == infiniband.ServiceXRC
}

// finish fills in what follows from the rest. An operation whose first packet was not seen is not among the messages.
func (j *joined) finish() {
	ordered := j.some
	again := j.GoodputBytes.N
	j.GoodputBytes = flow.Count{}
	if ordered && j.Duplicates.Known {
		j.GoodputBytes = flow.Count{N: j.PayloadBytes - min(again, j.PayloadBytes), Known: true}
	}
	if !ordered && j.inOrder() { // acknowledgments alone: no PSN of its own can be missing
		j.PSNGaps, j.MissingPSNs, j.Duplicates = flow.Count{Known: true}, flow.Count{Known: true}, flow.Count{Known: true}
	}
	o := &j.Operations
	j.Messages = flow.Count{N: o.Send + o.Write + o.ReadRequest + o.Atomic + o.Datagram, Known: !ordered || j.one}
	if j.Key.Service == infiniband.ServiceUC {
		j.Retransmitted = flow.Count{Known: true} // nothing is sent again
	}
	if j.Key.Protocol == dissector.ProtocolMetaRoCE {
		j.meta.Profile = "mr0"
		slices.SortFunc(j.meta.Paths, func(a, b flow.PathRecord) int { return cmp.Compare(a.ID, b.ID) })
		j.MetaRoCE = &j.meta
	}
}
