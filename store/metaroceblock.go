package store

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// metaColumns are the columns of packets that MetaRoCE alone fills. What it has in common with RoCE is in the columns of
// that: PSN, connection id, message number, addresses, keys, immediate.
type metaColumns struct {
	packetType    names
	path          nullUint8s
	plane         nullUint8s
	rtx           nullBools
	stream        nullUint16s
	messageOffset nullUint32s
	messageLength nullUint32s
	timestamp     nullUint32s
	receiveIndex  nullUint32s
	readID        nullUint32s
	ackNumber     nullUint32s
	ackTrigger    names
	cumulative    nullUint32s
	sackFirst     uint32Arrays
	sackLast      uint32Arrays
	echo          nullUint32s
	ackDelay      nullUint32s
	rateHint      nullUint32s
	ceCount       nullUint32s
	packetCount   nullUint32s
	refusedPSN    nullUint32s
	inFlight      nullUint32s
	rtt           nullUint64s

	first, last []uint32 // of a SACK's runs, reused
}

func (c *metaColumns) fields() []lateField {
	c.packetType.name = packetTypeName
	c.ackTrigger.name = ackTriggerName
	return []lateField{
		{"packet_type", &c.packetType},
		{"path_id", &c.path},
		{"plane_id", &c.plane},
		{"rtx", &c.rtx},
		{"stream_id", &c.stream},
		{"message_offset", &c.messageOffset},
		{"message_length", &c.messageLength},
		{"sender_timestamp", &c.timestamp},
		{"receive_index", &c.receiveIndex},
		{"read_id", &c.readID},
		{"ack_number", &c.ackNumber},
		{"ack_trigger", &c.ackTrigger},
		{"cumulative_psn", &c.cumulative},
		{"sack.first", &c.sackFirst},
		{"sack.last", &c.sackLast},
		{"echo_timestamp", &c.echo},
		{"ack_delay_ns", &c.ackDelay},
		{"rate_hint_mbps", &c.rateHint},
		{"ce_count", &c.ceCount},
		{"packet_count", &c.packetCount},
		{"refused_psn", &c.refusedPSN},
		{"in_flight", &c.inFlight},
		{"rtt_ns", &c.rtt},
	}
}

// Codes of the columns packet_type and ack_trigger: 0 none, otherwise one more than the profile's code.
func packetTypeName(code uint8) string {
	if code == 0 {
		return ""
	}
	return mr0.Type(code - 1).String()
}

func ackTriggerName(code uint8) string {
	if code == 0 {
		return ""
	}
	return mr0.ACKTrigger(code - 1).String()
}

// appendMetaRoCE fills all columns behind the network layer but the ICRC's.
func (b *packetBlock) appendMetaRoCE(p *dissector.Packet, ack flow.AckObservation) {
	m := &p.MetaRoCE.MR0
	b.fillLate(b.rows() - 1)
	b.appendNoBase()
	has := m.Has&mr0.HasCH != 0
	h := &m.CH
	b.partitionKey.append(has, h.PartitionKey)
	b.destinationQP.append(has, h.DestConnID)
	b.ackRequest.append(has, h.Flags&mr0.FlagAR != 0)
	b.solicited.append(has, h.Flags&mr0.FlagSE != 0)
	sequenced := has && h.Type.Sequenced()
	b.psn.append(sequenced, h.PSN)
	b.payloadLength.append(has, h.PayloadLength)
	b.appendMetaConnection(m)
	b.appendMetaData(m)
	b.appendMetaAnswer(m)

	c := &b.meta
	var code uint8
	if has {
		code = uint8(h.Type) + 1
	}
	c.packetType.append(code)
	c.path.append(has && (sequenced || m.Has&(mr0.HasACKH|mr0.HasNAKH) != 0), h.PathID)
	c.plane.append(has, h.PlaneID)
	c.rtx.append(has, h.Flags&mr0.FlagRTX != 0)
	c.inFlight.append(ack.InFlight.Known, uint32(ack.InFlight.N))
	c.rtt.append(ack.RTT.Known, ack.RTT.N)
}

// appendNoBase fills the columns that RoCE alone has.
func (b *packetBlock) appendNoBase() {
	b.opcode.append(false, 0)
	b.opcodeName.append(false, 0)
	b.migration.append(false, false)
	b.padCount.append(false, 0)
	b.version.append(false, 0)
	b.fecn.append(false, false)
	b.becn.append(false, false)
	b.queueKey.append(false, 0)
	b.eeContext.append(false, 0)
	b.xrcSRQ.append(false, 0)
	b.dmaLength.append(false, 0)
	b.invalidateKey.append(false, 0)
	b.syndrome.append(false, 0)
}

// appendMetaConnection fills source_qp.
func (b *packetBlock) appendMetaConnection(m *mr0.Packet) {
	switch {
	case m.Has&mr0.HasCONN != 0:
		b.sourceQP.append(true, m.CONN.SourceConnID)
	case m.Has&mr0.HasDISC != 0:
		b.sourceQP.append(true, m.DISC.SourceConnID)
	default:
		b.sourceQP.append(false, 0)
	}
}

// appendMetaData fills what packets that carry or ask for data have.
func (b *packetBlock) appendMetaData(m *mr0.Packet) {
	c, data := &b.meta, m.Has&mr0.HasDH != 0
	refused := m.Has&mr0.HasNAKH != 0
	stream, msn := m.DH.StreamID, m.DH.MSN
	if refused {
		stream, msn = m.NAKH.StreamID, m.NAKH.MSN
	}
	// A PROBE is of no message.
	message := data && m.CH.Type != mr0.TypeProbe
	c.stream.append(message || refused, stream)
	b.msn.append(message || refused, msn)
	c.messageOffset.append(message, m.DH.MessageOffset)
	c.messageLength.append(message, m.DH.MessageLength)
	c.timestamp.append(data, m.DH.Timestamp)
	c.receiveIndex.append(m.Has&mr0.HasSETH != 0, m.SETH.ReceiveIndex)
	read, response := m.Has&mr0.HasRRETH != 0, m.Has&mr0.HasRSETH != 0
	id := m.RRETH.ReadID
	if response {
		id = m.RSETH.ReadID
	}
	c.readID.append(read || response, id)
	atomic := m.Has&mr0.HasAETH != 0
	address, key := m.WETH.VirtualAddress, m.WETH.RKey
	switch {
	case read:
		address, key = m.RRETH.VirtualAddress, m.RRETH.RKey
	case atomic:
		address, key = m.AETH.VirtualAddress, m.AETH.RKey
	}
	placed := read || atomic || m.Has&mr0.HasWETH != 0
	b.virtualAddress.append(placed, address)
	b.remoteKey.append(placed, key)
	b.swapOrAdd.append(atomic, m.AETH.SwapOrAdd)
	b.compare.append(atomic, m.AETH.Compare)
	b.original.append(m.Has&mr0.HasARETH != 0, m.ARETH.OriginalValue)
	b.immediate.append(m.Has&mr0.HasIMMH != 0, m.IMMH.Immediate)
}

// appendMetaAnswer fills what ACKs and NAKs have.
func (b *packetBlock) appendMetaAnswer(m *mr0.Packet) {
	c, h, ack := &b.meta, &m.ACKH, m.Has&mr0.HasACKH != 0
	c.first, c.last = c.first[:0], c.last[:0]
	var trigger uint8
	if ack {
		trigger = uint8(h.Trigger) + 1
		for first, last := range h.SACK.Ranges() {
			c.first = append(c.first, h.CumulativePSN+1+uint32(first))
			c.last = append(c.last, h.CumulativePSN+1+uint32(last))
		}
	}
	c.ackNumber.append(ack, m.CH.PSN)
	c.ackTrigger.append(trigger)
	c.cumulative.append(ack, h.CumulativePSN)
	c.sackFirst.append(c.first)
	c.sackLast.append(c.last)
	c.echo.append(ack, h.EchoTimestamp)
	c.ackDelay.append(ack, h.ACKDelay)
	c.rateHint.append(ack && h.RateHint != mr0.ACKHRateHintNoLimit, h.RateHint)
	c.ceCount.append(ack, h.CECount)
	c.packetCount.append(ack, h.PacketCount)

	nak := m.Has&mr0.HasNAKH != 0
	notReady := nak && m.NAKH.Reason == mr0.NAKReasonReceiverNotReady
	c.refusedPSN.append(nak, m.NAKH.RefusedPSN)
	b.rnrTimer.append(notReady, uint64(m.NAKH.RetryAfter))
	switch {
	case notReady:
		b.nak.append(nakRNR)
	case nak:
		b.nak.append(nakMetaRoCE + uint8(m.NAKH.Reason))
	default:
		b.nak.append(nakNone)
	}
}
