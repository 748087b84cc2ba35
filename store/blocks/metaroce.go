package blocks

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
	rtt           NullUint64s

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
func (b *PacketBlock) appendMetaRoCE(p *dissector.Packet, ack flow.AckObservation) {
	m := &p.MetaRoCE.MR0
	b.fillLate(b.Rows() - 1)
	b.appendNoBase()
	has := m.Has&mr0.HasCH != 0
	h := &m.CH
	b.partitionKey.Append(has, h.PartitionKey)
	b.destinationQP.Append(has, h.DestConnID)
	b.ackRequest.Append(has, h.Flags&mr0.FlagAR != 0)
	b.solicited.Append(has, h.Flags&mr0.FlagSE != 0)
	sequenced := has && h.Type.Sequenced()
	b.psn.Append(sequenced, h.PSN)
	b.payloadLength.Append(has, h.PayloadLength)
	b.appendMetaConnection(m)
	b.appendMetaData(m)
	b.appendMetaAnswer(m)

	c := &b.meta
	var code uint8
	if has {
		code = uint8(h.Type) + 1
	}
	c.packetType.Append(code)
	c.path.Append(has && (sequenced || m.Has&(mr0.HasACKH|mr0.HasNAKH) != 0), h.PathID)
	c.plane.Append(has, h.PlaneID)
	c.rtx.Append(has, h.Flags&mr0.FlagRTX != 0)
	c.inFlight.Append(ack.InFlight.Known, uint32(ack.InFlight.N))
	c.rtt.Append(ack.RTT.Known, ack.RTT.N)
}

// appendNoBase fills the columns that RoCE alone has.
func (b *PacketBlock) appendNoBase() {
	b.opcode.Append(false, 0)
	b.opcodeName.Append(false, 0)
	b.migration.Append(false, false)
	b.padCount.Append(false, 0)
	b.version.Append(false, 0)
	b.fecn.Append(false, false)
	b.becn.Append(false, false)
	b.queueKey.Append(false, 0)
	b.eeContext.Append(false, 0)
	b.xrcSRQ.Append(false, 0)
	b.dmaLength.Append(false, 0)
	b.invalidateKey.Append(false, 0)
	b.syndrome.Append(false, 0)
}

// appendMetaConnection fills source_qp.
func (b *PacketBlock) appendMetaConnection(m *mr0.Packet) {
	switch {
	case m.Has&mr0.HasCONN != 0:
		b.sourceQP.Append(true, m.CONN.SourceConnID)
	case m.Has&mr0.HasDISC != 0:
		b.sourceQP.Append(true, m.DISC.SourceConnID)
	default:
		b.sourceQP.Append(false, 0)
	}
}

// appendMetaData fills what packets that carry or ask for data have.
func (b *PacketBlock) appendMetaData(m *mr0.Packet) {
	c, data := &b.meta, m.Has&mr0.HasDH != 0
	refused := m.Has&mr0.HasNAKH != 0
	stream, msn := m.DH.StreamID, m.DH.MSN
	if refused {
		stream, msn = m.NAKH.StreamID, m.NAKH.MSN
	}
	// A PROBE is of no message.
	message := data && m.CH.Type != mr0.TypeProbe
	c.stream.Append(message || refused, stream)
	b.msn.Append(message || refused, msn)
	c.messageOffset.Append(message, m.DH.MessageOffset)
	c.messageLength.Append(message, m.DH.MessageLength)
	c.timestamp.Append(data, m.DH.Timestamp)
	c.receiveIndex.Append(m.Has&mr0.HasSETH != 0, m.SETH.ReceiveIndex)
	read, response := m.Has&mr0.HasRRETH != 0, m.Has&mr0.HasRSETH != 0
	id := m.RRETH.ReadID
	if response {
		id = m.RSETH.ReadID
	}
	c.readID.Append(read || response, id)
	atomic := m.Has&mr0.HasAETH != 0
	address, key := m.WETH.VirtualAddress, m.WETH.RKey
	switch {
	case read:
		address, key = m.RRETH.VirtualAddress, m.RRETH.RKey
	case atomic:
		address, key = m.AETH.VirtualAddress, m.AETH.RKey
	}
	placed := read || atomic || m.Has&mr0.HasWETH != 0
	b.virtualAddress.Append(placed, address)
	b.remoteKey.Append(placed, key)
	b.swapOrAdd.Append(atomic, m.AETH.SwapOrAdd)
	b.compare.Append(atomic, m.AETH.Compare)
	b.original.Append(m.Has&mr0.HasARETH != 0, m.ARETH.OriginalValue)
	b.immediate.Append(m.Has&mr0.HasIMMH != 0, m.IMMH.Immediate)
}

// appendMetaAnswer fills what ACKs and NAKs have.
func (b *PacketBlock) appendMetaAnswer(m *mr0.Packet) {
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
	c.ackNumber.Append(ack, m.CH.PSN)
	c.ackTrigger.Append(trigger)
	c.cumulative.Append(ack, h.CumulativePSN)
	c.sackFirst.Append(c.first)
	c.sackLast.Append(c.last)
	c.echo.Append(ack, h.EchoTimestamp)
	c.ackDelay.Append(ack, h.ACKDelay)
	c.rateHint.Append(ack && h.RateHint != mr0.ACKHRateHintNoLimit, h.RateHint)
	c.ceCount.Append(ack, h.CECount)
	c.packetCount.Append(ack, h.PacketCount)

	nak := m.Has&mr0.HasNAKH != 0
	notReady := nak && m.NAKH.Reason == mr0.NAKReasonReceiverNotReady
	c.refusedPSN.Append(nak, m.NAKH.RefusedPSN)
	b.rnrTimer.Append(notReady, uint64(m.NAKH.RetryAfter))
	switch {
	case notReady:
		b.nak.Append(nakRNR)
	case nak:
		b.nak.Append(nakMetaRoCE + uint8(m.NAKH.Reason))
	default:
		b.nak.Append(nakNone)
	}
}
