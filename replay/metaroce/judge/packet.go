package judge

import (
	"errors"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// believable judges what a packet says of itself, and tells whether the other rules may be applied to it: one that is
// damaged, cut or contradicts itself says nothing more about its sender.
func (c *Connection) believable(l *lane, e *event, s *finding.Sighting) bool {
	switch s.ICRC {
	case dissector.ICRCBad:
		l.badICRC[l.icrcBad%finding.MaxProof] = e.number
		l.icrcBad++
		return false
	case dissector.ICRCGood:
		l.icrcGood++
		c.conforms(finding.MetaRoCEICRC)
	case dissector.ICRCNotChecked, dissector.ICRCUndetermined:
	}
	if errors.Is(s.Err, dissector.ErrMalformed) {
		if s.ICRC == dissector.ICRCGood {
			c.malformed(l, e)
		}
		return false
	}
	if errors.Is(s.Err, dissector.ErrUnsupported) || !complete(e.m) {
		return false
	}
	c.conforms(finding.MetaRoCEVersion)
	c.conforms(finding.MetaRoCEMalformed)
	return true
}

func (c *Connection) malformed(l *lane, e *event) {
	fault := e.m.Fault
	if fault.Reason == metaroce.ReasonVersion {
		c.diverges(finding.MetaRoCEVersion, l, -1, e, 0, "version 0", "another version",
			"The packet has version %d, and its ICRC vouches for it.", e.m.CH.Version)
		return
	}
	c.diverges(finding.MetaRoCEMalformed, l, -1, e, 0, "headers, flags and lengths that fit together", fault.Reason.String(),
		"The packet contradicts its profile, and its ICRC vouches for it: %s.", mr0.Profile.Explain(fault))
}

// common judges what all packets have.
func (c *Connection) common(l *lane, e *event) {
	m := e.m
	if m.CH.Flags&^mr0.KnownFlags != 0 || reserved(m) {
		c.diverges(finding.MetaRoCEReservedBits, l, -1, e, 0, "reserved bits and fields of zero", "another value",
			"A reserved field or flag of the %s is not zero.", m.CH.Type)
	} else {
		c.conforms(finding.MetaRoCEReservedBits)
	}
	if code := badCode(m); code != "" {
		c.diverges(finding.MetaRoCECodes, l, -1, e, 0, "a code that the profile defines", code,
			"The %s has a code that the profile does not define: %s.", m.CH.Type, code)
	} else {
		c.conforms(finding.MetaRoCECodes)
	}
	if unused := unusedField(m); unused != "" {
		c.diverges(finding.MetaRoCEUnusedFields, l, -1, e, 0, "zero", unused,
			"The %s has a value in a field that it does not use: %s.", m.CH.Type, unused)
	} else {
		c.conforms(finding.MetaRoCEUnusedFields)
	}
	switch {
	case !l.hasKey:
		l.key, l.hasKey = m.CH.PartitionKey, true
	case m.CH.PartitionKey != l.key:
		c.diverges(finding.MetaRoCEPartitionKey, l, -1, e, 0, "the partition key of the connection", "another",
			"The partition key is %#04x; it was %#04x.", m.CH.PartitionKey, l.key)
	default:
		c.conforms(finding.MetaRoCEPartitionKey)
	}
	c.codepoint(l, e)
}

func (c *Connection) codepoint(l *lane, e *event) {
	ecn := e.packet.Network.ECN
	if !e.m.CH.Type.Sequenced() {
		if ecn != dissector.ECNNotECT {
			c.diverges(finding.MetaRoCEAnswerECN, l, -1, e, 0, "codepoint 00", "an ECN-capable packet",
				"The %s is ECN-capable: a switch may mark it, and nobody counts that.", e.m.CH.Type)
		} else {
			c.conforms(finding.MetaRoCEAnswerECN)
		}
		return
	}
	if ecn == dissector.ECNECT0 || ecn == dissector.ECNCE {
		c.conforms(finding.MetaRoCESequencedECN)
		return
	}
	if l.notECT++; l.notECT < enough {
		l.notECTPacket = e.number
		return
	}
	if l.notECT == enough {
		c.tallies[index(finding.MetaRoCESequencedECN)].Diverges += enough - 1
	}
	c.diverges(finding.MetaRoCESequencedECN, l, int(e.m.CH.PathID), e, l.notECTPacket, "codepoint 10 or 11", "00 or 01",
		"%d sequenced packets so far are not ECN-capable as the profile has it: congestion cannot be marked on them.", l.notECT)
}

// concludePackets decides at the end what single packets did not.
func (c *Connection) concludePackets(l *lane) {
	if n := l.icrcBad; n > 0 {
		verdict, sentence := finding.Undetermined, "Some packets have a wrong ICRC, others a right one: damage on the way, or a device that rewrites some of them."
		if n >= finding.MaxProof && l.icrcGood == 0 {
			verdict, sentence = finding.Diverges, "All packets of this end have a wrong ICRC."
		}
		if f := c.found(finding.MetaRoCEICRC, verdict, l, -1, nil); f != nil {
			for _, number := range l.badICRC[:min(n, finding.MaxProof)] {
				prove(f, number)
			}
			f.Expected, f.Seen, f.Sentence = "the ICRC of the profile", "another value", sentence
			c.out(f)
		}
	}
	if l.notECT > 0 && l.notECT < 8 {
		if f := c.found(finding.MetaRoCESequencedECN, finding.Undetermined, l, -1, nil); f != nil {
			prove(f, l.notECTPacket)
			f.Expected, f.Seen = "codepoint 10 or 11", "00 or 01"
			f.Sentence = "A few sequenced packets are not ECN-capable as the profile has it: the sender, or a device on the way."
			c.out(f)
		}
	}
}

func reserved(m *mr0.Packet) bool {
	return m.CONN.Reserved|m.REJ.Reserved|m.DISC.Reserved|m.SETH.Reserved|m.AETH.Reserved|m.ACKH.Reserved != 0 ||
		m.DH.Reserved != 0 || m.NAKH.Reserved != 0
}

// badCode names a code that is not defined.
func badCode(m *mr0.Packet) string {
	switch m.CH.Type {
	case mr0.TypeACK:
		if m.ACKH.Trigger > mr0.ACKTriggerWindowUpdate {
			return "trigger " + m.ACKH.Trigger.String()
		}
	case mr0.TypeNAK:
		if m.NAKH.Reason < mr0.NAKReasonReceiverNotReady || m.NAKH.Reason > mr0.NAKReasonStreamUnknown {
			return "reason " + m.NAKH.Reason.String()
		}
	case mr0.TypeConnRej:
		if m.REJ.Reason < mr0.RejectReasonNoResources || m.REJ.Reason > mr0.RejectReasonBusy {
			return "reason " + m.REJ.Reason.String()
		}
	case mr0.TypeDisconnect:
		if m.DISC.Reason > mr0.DisconnectReasonAllPathsFailed {
			return "reason " + m.DISC.Reason.String()
		}
	case mr0.TypeAtomicReq:
		if m.AETH.Operation > mr0.AtomicOperationCompareAndSwap {
			return "operation " + m.AETH.Operation.String()
		}
	default:
	}
	return ""
}

// unusedField names a field that is not zero though the type does not use it.
func unusedField(m *mr0.Packet) string {
	switch m.CH.Type {
	case mr0.TypeConnReq, mr0.TypeConnRep, mr0.TypeConnRej, mr0.TypeDisconnect, mr0.TypeNAK:
		switch {
		case m.CH.PSN != 0:
			return "psn"
		case m.CH.Type == mr0.TypeConnReq && m.CH.DestConnID != 0:
			return "dest_conn_id"
		case m.CH.Type == mr0.TypeNAK && m.NAKH.Reason != mr0.NAKReasonReceiverNotReady && m.NAKH.RetryAfter != 0:
			return "retry_after"
		}
	default:
	}
	return ""
}
