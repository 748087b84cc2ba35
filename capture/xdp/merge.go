package xdp

import "encoding/binary"

// Flags of an entry; see bpf/entry.h.
const (
	sequenced = 1 << iota
	fromBefore
	unsure
	restarted
)

func idOf(e *programEntry) ID {
	id := ID{
		QP: uint32(e.Who), SourceQP: e.Hot.SourceQp, Path: uint8(e.Who >> 32), Service: uint8(e.Who >> 40 & 15),
		Answers: e.Who>>44&1 != 0, Protocol: uint8(e.Who >> 45),
	}
	binary.LittleEndian.PutUint64(id.Source[:], e.SourceHigh)
	binary.LittleEndian.PutUint64(id.Source[8:], e.SourceLow)
	binary.LittleEndian.PutUint64(id.Destination[:], e.DestinationHigh)
	binary.LittleEndian.PutUint64(id.Destination[8:], e.DestinationLow)
	return id
}

// merge adds an entry to what is known of its ID. alone tells that the sequence was followed by one CPU, without a break.
func (r *Record) merge(e *programEntry, at clock, alone bool) {
	h := &e.Hot
	first, last := at.time(h.First), at.time(h.Last)
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
		r.Last, r.NextPSN, r.Plane = last, h.Next, h.Plane
	}
	r.generations++
	r.Packets += h.Packets
	r.Bytes += h.Bytes
	r.Payload += h.Payload
	for i, n := range h.Ops {
		r.Operations[i] += uint64(n)
	}
	r.Capable += h.Ecn & 0xffffffff
	r.Marked += h.Ecn >> 32
	r.Acks += uint64(h.Ops[Acknowledgment]) - uint64(e.Rnr) - uint64(e.Reserved)
	r.RNR += uint64(e.Rnr)
	if r.Protocol == MetaRoCE {
		r.RetryAfter = max(r.RetryAfter, e.RnrTimer)
	} else {
		r.RNRTimers |= e.RnrTimer
	}
	for i, n := range e.Naks {
		r.Naks[i] += uint64(n)
		r.Acks -= uint64(n)
	}
	r.Resent += uint64(e.Resent)
	r.Probes += uint64(e.Probes)
	r.PlaneChanges += uint64(e.PlaneChanges)
	r.PortChanges += uint64(e.PortChanges)
	r.MTU = max(r.MTU, h.Mtu)
	r.Sequenced = r.Sequenced || e.Flags&sequenced != 0
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

// clock tells the time of the kernel's ticks, by one of them.
type clock struct {
	tick  uint32
	at    int64 // its time, ns since the Unix epoch
	width int64 // of a tick, ns
}

func (c clock) time(tick uint32) int64 { return c.at + int64(int32(tick-c.tick))*c.width }
