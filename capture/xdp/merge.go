package xdp

import "encoding/binary"

// Flags of an entry; see bpf/entry.h.
const (
	hasSequence = 1 << iota
	fromBefore
	unsure
	restarted
)

func idOf(e *programEntry) ID {
	id := ID{
		QP: uint32(e.Who), SourceQP: e.SourceQp, Path: uint8(e.Who >> 32), Service: uint8(e.Who >> 40),
		Protocol: uint8(e.Who >> 48), Answers: e.Who>>56 != 0,
	}
	binary.LittleEndian.PutUint64(id.Source[:], e.SourceHigh)
	binary.LittleEndian.PutUint64(id.Source[8:], e.SourceLow)
	binary.LittleEndian.PutUint64(id.Destination[:], e.DestinationHigh)
	binary.LittleEndian.PutUint64(id.Destination[8:], e.DestinationLow)
	return id
}

// merge adds an entry to what is known of its ID. offset leads from the kernel's clock to Unix time; alone tells that the
// sequence was followed by one CPU, without a break.
func (r *Record) merge(e *programEntry, offset int64, alone bool) {
	first, last := int64(e.First)+offset, int64(e.Last)+offset
	if r.CPUs == 0 {
		r.ID = idOf(e)
		r.First, r.Last, r.cpu, r.CPUs = first, last, e.Cpu, 1
		r.Sequence.Known, r.Sequence.DuplicatesKnown = true, true
		r.way(e)
	} else if e.Cpu != r.cpu {
		r.CPUs++ // at least so many
		r.Sequence.Known = false
	}
	if first < r.First {
		r.First = first
		r.way(e)
	}
	if last >= r.Last {
		r.Last, r.NextPSN, r.Plane = last, e.Next, e.Plane
	}
	r.generations++
	r.Packets += e.Packets
	r.Bytes += e.Bytes
	r.Payload += e.Payload
	for i, n := range e.Ops {
		r.Operations[i] += uint64(n)
	}
	r.Capable += uint64(e.Capable)
	r.Marked += uint64(e.Marked)
	r.Acks += uint64(e.Acks)
	r.RNR += uint64(e.Rnr)
	if r.Protocol == MetaRoCE {
		r.RetryAfter = max(r.RetryAfter, e.RnrTimer)
	} else {
		r.RNRTimers |= e.RnrTimer
	}
	for i, n := range e.Naks {
		r.Naks[i] += uint64(n)
	}
	r.Resent += uint64(e.Resent)
	r.Probes += uint64(e.Probes)
	r.PlaneChanges += uint64(e.PlaneChanges)
	r.PortChanges += uint64(e.PortChanges)
	r.MTU = max(r.MTU, e.Mtu)
	r.Sequenced = r.Sequenced || e.Flags&hasSequence != 0
	s := &r.Sequence
	s.Known = s.Known && alone
	s.DuplicatesKnown = s.DuplicatesKnown && s.Known && e.Flags&unsure == 0
	s.Gaps += uint64(e.Gaps)
	s.Missing += uint64(e.Missing)
	s.Late += uint64(e.Late)
	s.Duplicates += uint64(e.Duplicates)
	s.DuplicatePayload += e.Again
}

// way takes over what the first packet said.
func (r *Record) way(e *programEntry) {
	r.FirstPSN = e.FirstPsn
	r.Port = e.FirstPort>>8 | e.FirstPort<<8
	r.VLAN, r.DSCP, r.Tunnel, r.MAC = e.Vlan, e.Dscp, e.Tunnel, e.Mac
	for i := range r.Outer {
		binary.LittleEndian.PutUint64(r.Outer[i][:], e.Outer[2*i])
		binary.LittleEndian.PutUint64(r.Outer[i][8:], e.Outer[2*i+1])
	}
}
