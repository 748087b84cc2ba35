package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
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
)

// sequenceChunk is the number of packets of a capture that share an anchor: within so many a sequence is taken to
// move by less than half of its numbers. A READ request moves it by as many as the answer has packets.
const sequenceChunk = 256

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

// sequenceKind is the SequenceKind of a packet.
var sequenceKind = fmt.Sprintf(`multiIf(t.nak = '%s', %d, t.nak != '', %d,
	t.packet_type = '%s', if(notEmpty(t.sack.first), %d, %d), t.packet_type IN %s, %d, t.packet_type IN %s, %d, t.packet_type != '', %d,
	isNull(t.opcode), %d, t.opcode = %d, %d, isNotNull(t.queue_key), %d, t.opcode IN %s, %d, t.opcode IN %s, %d, t.opcode IN %s, %d, %d)`,
	NakRNR, SequenceRNR, SequenceNak,
	mr0.TypeACK, SequenceSack, SequenceAck, quoted(mr0.TypeReadResp, mr0.TypeAtomicResp), SequenceResponse,
	quoted(mr0.TypeConnReq, mr0.TypeConnRep, mr0.TypeConnRej, mr0.TypeDisconnect, mr0.TypeProbe), SequenceControl, SequenceData,
	SequenceOther, infiniband.CNP, SequenceCNP, SequenceControl,
	opcodesOf(infiniband.Opcode.IsAck), SequenceAck, opcodesOf(infiniband.Opcode.IsResponse), SequenceResponse,
	opcodesOf(infiniband.Opcode.IsRequest), SequenceData, SequenceOther)

// sequencePSN is the number that a packet has or names.
var sequencePSN = fmt.Sprintf("if(kind = %d, NULL, coalesce(t.cumulative_psn, t.refused_psn, t.psn))", SequenceCNP)

// sequenceMarks are the SequenceMarks of a packet, %d the flow that answers.
var sequenceMarks = fmt.Sprintf("bitTest(t.flags, 0) * %d + ifNull(t.ecn = 'CE', 0) * %d + bitTest(t.flags, 7) * %d + bitTest(t.flags, 4) * %d + (t.flow_id = %%d) * %d",
	SequenceRetransmitted, SequenceCE, SequenceGap, SequenceOutOfOrder, SequenceAnswer)

// sequenceOf is a flow whose numbers are asked for.
type sequenceOf struct {
	flow    Flow
	packets string // the table
	path    *uint8
}

func (q *sequenceOf) bits() int {
	if q.flow.MetaRoCE != nil {
		return 32
	}
	return 24
}

// fold makes of a difference of two numbers the one that is nearest to 0.
func (q *sequenceOf) fold(difference string) string {
	half := strconv.FormatInt(1<<(q.bits()-1), 10)
	return "(positiveModulo(" + difference + " + " + half + ", " + strconv.FormatInt(1<<q.bits(), 10) + ") - " + half + ")"
}

// belongs is the condition that a packet uses or answers the numbers that the sender of the flow chose.
func (q *sequenceOf) belongs() string {
	id, reverse := uint64(q.flow.ID), uint64(q.flow.ReverseID)
	var sides string
	switch {
	case q.flow.ReverseID == 0: // whose the numbers are cannot be told
		sides = fmt.Sprintf("t.flow_id = %d", id)
	case q.flow.MetaRoCE != nil: // answers with data have numbers of their sender's own
		sides = fmt.Sprintf("(t.flow_id = %d AND kind NOT IN (%[3]s) OR t.flow_id = %[2]d AND kind IN (%[3]s))", id, reverse,
			kindList(SequenceAck, SequenceSack, SequenceNak, SequenceRNR))
	default:
		sides = fmt.Sprintf("(t.flow_id = %d AND kind NOT IN (%s) OR t.flow_id = %d AND kind IN (%s))",
			id, kindList(SequenceResponse, SequenceAck, SequenceNak, SequenceRNR),
			reverse, kindList(SequenceResponse, SequenceAck, SequenceNak, SequenceRNR, SequenceCNP))
	}
	if q.path != nil {
		sides += fmt.Sprintf(" AND path = %d", *q.path)
	}
	return fmt.Sprintf("t.capture_id = {capture:UUID} AND t.flow_id IN (%d, %d) AND %s AND NOT bitTest(t.flags, %d) AND (kind = %d OR isNotNull(psn))",
		id, reverse, sides, mirrorBit, SequenceCNP)
}

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

// from selects packets of the sequence; more are columns beside kind, path and psn.
func (q *sequenceOf) from(more string, conditions ...string) string {
	path := "toUInt8(0)"
	if q.flow.MetaRoCE != nil {
		path = "ifNull(t.path_id, 0)"
	}
	return "SELECT t.number AS number, " + sequenceKind + " AS kind, " + path + " AS path, " + sequencePSN + " AS psn" + more +
		" FROM " + q.packets + " AS t WHERE " + strings.Join(append([]string{q.belongs()}, conditions...), " AND ")
}

// anchors has of each path and chunk the number of one packet, and what that is unwrapped: each chunk is held against the one before.
// A packet that was sent serves before what an answer names, which may be anything.
func (q *sequenceOf) anchors() string {
	return "SELECT path, chunk, anchor, start + sum(step) OVER (PARTITION BY path ORDER BY chunk) AS high FROM (" +
		"SELECT path, chunk, anchor, first_value(anchor) OVER (PARTITION BY path ORDER BY chunk) AS start, " +
		q.fold("anchor - lagInFrame(anchor, 1, anchor) OVER (PARTITION BY path ORDER BY chunk)") + " AS step FROM (" +
		fmt.Sprintf("SELECT path, intDiv(number, %d) AS chunk, argMin(toInt64(assumeNotNull(psn)), (kind NOT IN (%s), number)) AS anchor FROM (%s) WHERE isNotNull(psn) GROUP BY path, chunk",
			sequenceChunk, kindList(SequenceData, SequenceResponse), q.from("")) + "))"
}

// unwrapped are packets with their numbers unwrapped, and the first and last of each run that they acknowledge selectively.
func (q *sequenceOf) unwrapped(conditions ...string) string {
	high := func(psn string) string { return "high + " + q.fold("toInt64("+psn+") - anchor") }
	more := ", toUnixTimestamp64Nano(assumeNotNull(t.time)) AS at, toUInt8(" + fmt.Sprintf(sequenceMarks, uint64(q.flow.ReverseID)) +
		") AS marks, t.sack.first AS firsts, t.sack.last AS lasts, intDiv(t.number, " + strconv.Itoa(sequenceChunk) + ") AS chunk"
	return "SELECT number, at, kind, path, marks, if(isNull(psn), NULL, " + high("assumeNotNull(psn)") + ") AS seq, arrayMap(x -> " + high("x") +
		", firsts) AS sack_first, arrayMap(x -> " + high("x") + ", lasts) AS sack_last FROM (" +
		q.from(more, append([]string{"isNotNull(t.time)"}, conditions...)...) + ") AS p LEFT JOIN (" + q.anchors() + ") AS a USING (path, chunk)"
}
