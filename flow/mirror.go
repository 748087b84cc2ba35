package flow

import (
	"github.com/rocelens/rocelens/dissector"
)

// sighting is what is kept of a recent packet to recognise a second capture of it. Length and ICRC would add
// nothing: a resent packet has the same length, and where IP ID and AckReq are the same too, the same ICRC.
type sighting struct {
	time uint32 // units of 256 ns, modulo 2^32
	psn  uint32 // 24 bits, and the bits below
	what uint32 // IP ID 16 bits, vantage 8, opcode 8
}

func (s *sighting) id() uint16     { return uint16(s.what) }
func (s *sighting) vantage() uint8 { return uint8(s.what >> 16) }
func (s *sighting) opcode() uint8  { return uint8(s.what >> 24) }

// Bits beside the PSN of a sighting.
const (
	sightAnswer     = 1 << 24
	sightAckRequest = 1 << 25
	sightValid      = 1 << 26
	sightTime       = 1 << 27
	sightMask       = psnMask | sightAnswer | sightValid
)

// vantageOf folds what differs when one packet is captured at two places: hops to live, the link it was on,
// the interface and the tunnel that brought it. A retransmission normally has the same.
func vantageOf(p *dissector.Packet) uint8 {
	v := p.Network.TTL + uint8(p.Meta.Interface)<<5 + p.Ethernet.Destination[5]<<1 + p.Ethernet.Source[5]<<3 + p.Ethernet.VLANCount<<6
	if p.Tunnel.Depth != 0 {
		v += p.Tunnel.Depth*7 + p.Tunnel.Outer.Source[15]*13 + p.Tunnel.Outer.Destination[15]*19
	}
	return v
}

// see fills the sighting with a packet. answer is sightAnswer for packets of the space of answers.
func (s *sighting) see(p *dissector.Packet, answer uint32) {
	psn := p.BTH.PSN | answer | sightValid
	if p.BTH.AckRequest {
		psn |= sightAckRequest
	}
	if p.Meta.HasTime {
		psn |= sightTime
	}
	s.time = uint32(p.Meta.Time >> 8)
	s.psn = psn
	s.what = uint32(p.Network.ID) | uint32(vantageOf(p))<<16 | uint32(p.BTH.Opcode)<<24
}

// remember keeps the packet for isCopy. answer is sightAnswer for packets of the space of answers.
func (f *flow) remember(p *dissector.Packet, answer uint32) {
	f.ring[p.BTH.PSN%ringSize].see(p, answer)
}

// copies is what isCopy needs to know of the packet's circumstances.
type circumstances struct {
	answer   uint32 // sightAnswer or 0
	excuse   bool   // something asked for a repetition, so that it may come at once
	distinct bool   // repetitions with equal fields are the rule (CNPs, NAKs): more proof is needed
}

// isCopy tells whether the packet is another capture of one that was seen: same PSN, IP ID and AckReq, close
// in time, and something that no retransmission has.
func (t *Tracker) isCopy(f *flow, p *dissector.Packet, c circumstances) bool {
	var now sighting
	now.see(p, c.answer)
	was := f.ring[p.BTH.PSN%ringSize]
	if (was.psn^now.psn)&sightMask != 0 || was.opcode() != now.opcode() {
		return t.isDistantCopy(f, p, now, c)
	}
	if was.id() != now.id() || (was.psn^now.psn)&sightAckRequest != 0 {
		return false
	}
	timed := was.psn&now.psn&sightTime != 0
	apart := int64(int32(now.time-was.time)) << 8
	if apart < 0 {
		apart = -apart
	}
	if timed && apart >= int64(t.config.MirrorWindow) {
		return false
	}
	if was.vantage() != now.vantage() || (f.idUp >= idTrust && (!c.distinct || f.countsAs(now.id()))) || (now.id() != 0 && !f.idStuck && !c.distinct) {
		return true
	}
	return timed && apart <= int64(t.config.MirrorTight) && !c.excuse && (!c.distinct || (now.id() != 0 && !f.idStuck))
}

// countsAs tells whether the IP ID comes from the counter that the flow's other packets take theirs from. CNPs are
// often made apart from them, all with one ID.
func (f *flow) countsAs(id uint16) bool {
	step := int16(id - f.lastID)
	return id != 0 && step > -idStep && step < idStep
}

// isDistantCopy judges a packet whose original is no longer in the ring. An IP ID far behind the sender's
// latest belongs to a packet that was sent long before; a packet that comes by another way than those that
// move the frontier, right after one did, is the same stream captured twice.
func (t *Tracker) isDistantCopy(f *flow, p *dissector.Packet, now sighting, c circumstances) bool {
	if c.answer != 0 || c.distinct {
		return false
	}
	if f.idUp >= idTrust {
		behind := int16(f.lastID - now.id())
		return behind >= ringSize && behind < idReach
	}
	return now.vantage() != f.vantage && p.Meta.HasTime && f.hasTime && !c.excuse &&
		p.Meta.Time-f.lastRequest < int64(t.config.MirrorWindow)
}

// noteLateID follows the IP ID of a packet behind the frontier, which may be an old one.
func (f *flow) noteLateID(p *dissector.Packet) {
	if f.ageOf(p) == ageNewer {
		f.lastID = p.Network.ID
	}
}

// noteID follows the IP ID of the sender. Senders that use no counter never earn trust.
func (f *flow) noteID(id uint16) {
	step := id - f.lastID
	f.lastID = id
	if step == 0 || step > idStep {
		f.idUp = 0
		f.idStuck = f.idStuck || (step == 0 && f.packets > 1)
		return
	}
	f.idUp = f.idUp<<1 | 1
}

// age says whether the IP ID proves that the packet was sent before or after the latest one seen.
type age uint8

const (
	ageUnknown age = iota
	ageOlder
	ageNewer
)

func (f *flow) ageOf(p *dissector.Packet) age {
	if f.idUp < idTrust {
		return ageUnknown
	}
	switch step := int16(p.Network.ID - f.lastID); {
	case step > 0 && step < idReach:
		return ageNewer
	case step < 0 && step > -idReach:
		return ageOlder
	}
	return ageUnknown
}

// copied counts a mirror copy.
func (t *Tracker) copied(f *flow, o *Observation) {
	o.Flags |= FlagMirrorCopy
	f.mirrorCopies++
	f.duplicatePayload += uint64(t.length)
	t.totals.MirrorCopies++
	t.mirrored = t.mirrored || t.length > 0
}
