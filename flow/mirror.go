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
	sightCopied     = 1 << 28 // a copy was told by time alone
	sightBad        = 1 << 29 // the ICRC is wrong
	sightMarked     = 1 << 30 // as having met congestion
	sightFilled     = 1 << 31 // a retransmission whose original was not seen before it
	sightMask       = psnMask | sightAnswer | sightValid
)

// vantageOf folds what differs when one packet is captured at two places: hops to live, the link it was on,
// the interface and the tunnel that brought it, with the session and the direction of a mirror. A retransmission
// normally has the same.
func vantageOf(p *dissector.Packet) uint8 {
	v := p.Network.TTL + uint8(p.Meta.Interface)<<5 + p.Ethernet.Destination[5]<<1 + p.Ethernet.Source[5]<<3 + p.Ethernet.VLANCount<<6
	if p.Tunnel.Depth != 0 {
		v += p.Tunnel.Depth*7 + p.Tunnel.Outer.Source[15]*13 + p.Tunnel.Outer.Destination[15]*19 + uint8(p.Tunnel.ID)*29
		if p.Tunnel.Egress {
			v += 37
		}
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
func (f *flow) remember(p *dissector.Packet, answer uint32) *sighting {
	seen := &f.ring[f.seen%ringSize]
	f.seen++
	seen.see(p, answer)
	return seen
}

// latest is what was remembered last.
func (f *flow) latest() *sighting { return &f.ring[(f.seen-1)%ringSize] }

// note adds a bit for the copies of the packet, if the sighting is its own.
func (s *sighting) note(p *dissector.Packet, bit uint32) {
	if s.psn&psnMask == p.BTH.PSN {
		s.psn |= bit
	}
}

// circumstances is what isCopy needs to know beside the packet.
type circumstances struct {
	answer   uint32 // sightAnswer or 0
	excuse   bool   // a repetition is due right here, so that it may come at once
	distinct bool   // repetitions with equal fields are the rule (CNPs, NAKs): more proof is needed
	once     bool   // where time alone speaks, a packet has one copy at most
}

// isCopy tells whether the packet is another capture of one that was seen: same PSN, IP ID and AckReq, close
// in time, and something that no retransmission has.
func (t *Tracker) isCopy(f *flow, p *dissector.Packet, c circumstances) bool {
	var now sighting
	now.see(p, c.answer)
	t.original = nil
	distant := true
	for i := range uint8(ringSize) {
		was := &f.ring[(f.seen-1-i)%ringSize]
		if (was.psn^now.psn)&sightMask != 0 || was.opcode() != now.opcode() {
			continue
		}
		switch {
		case t.isCopyOf(f, was, &now, c):
			t.original = was
			return true
		case f.overtook(was, now.id()):
			return false
		}
		distant = false
	}
	return (distant || f.idUp >= idTrust) && t.isDistantCopy(f, p, now, c)
}

// isCopyOf is isCopy for a packet of the same PSN that was seen.
func (t *Tracker) isCopyOf(f *flow, was, now *sighting, c circumstances) bool {
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
	if !timed || apart > int64(t.config.MirrorTight) || c.excuse || (c.once && was.psn&sightCopied != 0) ||
		(c.distinct && (now.id() == 0 || f.idStuck) && !t.mirrors(f)) {
		return false
	}
	was.psn |= sightCopied
	return true
}

// excused tells whether the sender had a reason to repeat the PSN at once. Among mirror copies that is only the one
// whose turn it is.
func (t *Tracker) excused(f *flow, s *sequence, at position) bool {
	return s.repeat.at != 0 && (s.repeat.at == at || !t.mirrors(f))
}

// mirrors tells whether packets of the connection, or of all while its other direction is unknown, are captured
// twice as a rule.
func (t *Tracker) mirrors(f *flow) bool {
	packets, copies := t.totals.RDMAPackets, t.totals.MirrorCopies
	if r := t.partner(f); r != nil {
		packets, copies = f.packets+r.packets, f.mirrorCopies+r.mirrorCopies
	}
	return 4*copies >= packets
}

// countsAs tells whether the IP ID comes from the counter that the flow's other packets take theirs from. CNPs are
// often made apart from them, all with one ID.
func (f *flow) countsAs(id uint16) bool {
	step := int16(id - f.lastID)
	return id != 0 && step > -idStep && step < idStep
}

// isOvertaken tells whether the packet is an original that a retransmission was seen of before.
func (f *flow) isOvertaken(p *dissector.Packet, s *sequence) bool {
	want := p.BTH.PSN | sightValid
	if s == &f.answers {
		want |= sightAnswer
	}
	for i := range f.ring {
		if was := &f.ring[i]; (was.psn^want)&sightMask == 0 && f.overtook(was, p.Network.ID) {
			return true
		}
	}
	return false
}

// overtook tells whether the sighting is of a retransmission that came before its original, which has the IP ID.
func (f *flow) overtook(was *sighting, id uint16) bool {
	step := int16(was.id() - id)
	return was.psn&sightFilled != 0 && f.idUp >= idTrust && step > 0 && step < idReach
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
func (t *Tracker) copied(f *flow, p *dissector.Packet, o *Observation) {
	o.Flags |= FlagMirrorCopy
	f.mirrorCopies++
	f.duplicatePayload += uint64(t.length)
	t.totals.MirrorCopies++
	if isMarked(p) && t.original != nil && t.original.psn&sightMarked == 0 { // the mark was set between the two places
		t.original.psn |= sightMarked
		f.marked++
		t.totals.CEMarked++
	}
}

// discount leaves the verdict on a mirror copy's ICRC out, unless the packet was damaged between the two places.
func (t *Tracker) discount(f *flow, icrc dissector.ICRCState) {
	if icrc == dissector.ICRCBad && t.original != nil && t.original.psn&sightBad == 0 {
		t.original.psn |= sightBad
		f.troubled().damagedCopies++
		return
	}
	if icrc != f.usual {
		f.unusual[icrc]--
	}
	switch icrc {
	case dissector.ICRCBad:
		t.totals.ICRCErrors--
	case dissector.ICRCUndetermined:
		t.totals.ICRCUndetermined--
	case dissector.ICRCNotChecked, dissector.ICRCGood:
	}
}
