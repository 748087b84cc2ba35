package store

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/blocks"
)

// SequenceKind is what a packet is in the conversation of its connection.
type SequenceKind uint8

// The kinds.
const (
	SequenceData     SequenceKind = iota // a request
	SequenceResponse                     // an answer with data
	SequenceAck
	SequenceSack // an ACK with selective acknowledgments
	SequenceNak
	SequenceRNR
	SequenceCNP
	SequenceControl // a datagram, or what sets a connection up, ends it, or probes a path
	SequenceOther
	sequenceKinds
)

// SequenceMarks are what holds of a packet, as bits.
type SequenceMarks uint8

// The marks.
const (
	SequenceRetransmitted SequenceMarks = 1 << iota
	SequenceCE
	SequenceGap        // PSNs were missing before it
	SequenceOutOfOrder // came late but was not resent
	SequenceAnswer     // sent by the receiver of the flow
	sequenceMarks
)

// opcodesOf lists the opcodes of RoCE that something holds of, as SQL.
func opcodesOf(holds func(infiniband.Opcode) bool) string {
	var found []uint64
	for o := range 256 {
		if holds(infiniband.Opcode(o)) {
			found = append(found, uint64(o))
		}
	}
	return "(" + joined(found) + ")"
}

func quoted(types ...mr0.Type) string {
	names := make([]string, 0, len(types))
	for _, t := range types {
		names = append(names, "'"+t.String()+"'")
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// The SequenceKind of a packet, by transport. What the other transport alone has need not be read.
var (
	sequenceKindRoCE = fmt.Sprintf(`multiIf(t.nak = '%s', %d, t.nak != '', %d,
	isNull(t.opcode), %d, t.opcode = %d, %d, isNotNull(t.queue_key), %d, t.opcode IN %s, %d, t.opcode IN %s, %d, t.opcode IN %s, %d, %d)`,
		blocks.NakRNR, SequenceRNR, SequenceNak, SequenceOther, infiniband.CNP, SequenceCNP, SequenceControl,
		opcodesOf(infiniband.Opcode.IsAck), SequenceAck, opcodesOf(infiniband.Opcode.IsResponse), SequenceResponse,
		opcodesOf(infiniband.Opcode.IsRequest), SequenceData, SequenceOther)
	sequenceKindMetaRoCE = fmt.Sprintf(`multiIf(t.nak = '%s', %d, t.nak != '', %d,
	t.packet_type = '%s', if(notEmpty(t.sack.first), %d, %d), t.packet_type IN %s, %d, t.packet_type IN %s, %d, t.packet_type != '', %d, %d)`,
		blocks.NakRNR, SequenceRNR, SequenceNak,
		mr0.TypeACK, SequenceSack, SequenceAck, quoted(mr0.TypeReadResp, mr0.TypeAtomicResp), SequenceResponse,
		quoted(mr0.TypeConnReq, mr0.TypeConnRep, mr0.TypeConnRej, mr0.TypeDisconnect, mr0.TypeProbe), SequenceControl, SequenceData, SequenceOther)
)

// sequenceMarksSQL are the SequenceMarks of a packet, %d the flow that answers.
var sequenceMarksSQL = fmt.Sprintf("bitTest(t.flags, 0) * %d + ifNull(t.ecn = 'CE', 0) * %d + bitTest(t.flags, 7) * %d + bitTest(t.flags, 4) * %d + (t.flow_id = %%d) * %d",
	SequenceRetransmitted, SequenceCE, SequenceGap, SequenceOutOfOrder, SequenceAnswer)

// mirrorBit is the place of flow.FlagMirrorCopy.
const mirrorBit = 6

var _ = [1]struct{}{}[flow.FlagMirrorCopy-1<<mirrorBit] // the place is right

func kindList(all ...SequenceKind) string {
	numbers := make([]uint64, 0, len(all))
	for _, k := range all {
		numbers = append(numbers, uint64(k))
	}
	return joined(numbers)
}

// sequenceBelongs is the condition that a packet uses or answers the numbers that the sender of the flow chose.
func sequenceBelongs(f *Flow) string {
	id, reverse := uint64(f.ID), uint64(f.ReverseID)
	var sides string
	switch {
	case f.ReverseID == 0: // whose the numbers are cannot be told
		sides = fmt.Sprintf("t.flow_id = %d", id)
	case f.MetaRoCE != nil: // answers with data have numbers of their sender's own
		sides = fmt.Sprintf("(t.flow_id = %d AND kind NOT IN (%[3]s) OR t.flow_id = %[2]d AND kind IN (%[3]s))", id, reverse,
			kindList(SequenceAck, SequenceSack, SequenceNak, SequenceRNR))
	default:
		sides = fmt.Sprintf("(t.flow_id = %d AND kind NOT IN (%s) OR t.flow_id = %d AND kind IN (%s))",
			id, kindList(SequenceResponse, SequenceAck, SequenceNak, SequenceRNR),
			reverse, kindList(SequenceResponse, SequenceAck, SequenceNak, SequenceRNR, SequenceCNP))
	}
	return fmt.Sprintf("t.flow_id IN (%d, %d) AND %s AND NOT bitTest(t.flags, %d) AND (kind = %d OR isNotNull(psn))",
		id, reverse, sides, mirrorBit, SequenceCNP)
}

// sequenceStatement selects the packets of a sequence in the order of the capture, with the columns of [sequenceBlock];
// given two numbers, those between them.
func (s *Store) sequenceStatement(capture uuid.UUID, f *Flow, between ...uint64) string {
	kind, path, psn, more := sequenceKindRoCE, "0", "t.psn", ""
	if f.MetaRoCE != nil {
		kind, path, psn = sequenceKindMetaRoCE, "ifNull(t.path_id, 0)", "coalesce(t.cumulative_psn, t.refused_psn, t.psn)"
		more = ", t.sack.first AS firsts, t.sack.last AS lasts"
	}
	where := "t.capture_id = " + partition(capture) + " AND " + sequenceBelongs(f)
	if len(between) == 2 {
		where += fmt.Sprintf(" AND t.number BETWEEN %d AND %d", between[0], between[1])
	}
	return fmt.Sprintf("SELECT t.number AS number, ifNull(toUnixTimestamp64Nano(t.time), 0) AS at, toUInt8(isNotNull(t.time)) AS timed, toUInt8(%s) AS kind, "+
		"toUInt8(%s) AS path, toUInt8(assumeNotNull(%s)) AS marks, if(kind = %d, NULL, %s) AS psn%s FROM %s AS t WHERE %s ORDER BY number",
		kind, path, fmt.Sprintf(sequenceMarksSQL, uint64(f.ReverseID)), SequenceCNP, psn, more, s.table(packetsTable), where)
}
