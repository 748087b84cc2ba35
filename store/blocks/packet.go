package blocks

import (
	"errors"
	"sort"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// Types of the schema whose full name ch-go does not know.
const (
	protocolType     = "Enum8('other' = 0, 'RoCEv1' = 1, 'RoCEv2' = 2, 'InfiniBand' = 3, 'MetaRoCE' = 4, 'MRC' = 5, 'UET' = 6, 'veRoCE' = 7, 'iWARP' = 8, 'pause' = 9)"
	verdictType      = "Enum8('ok' = 0, 'truncated' = 1, 'malformed' = 2, 'unsupported' = 3, 'not_rdma' = 4)"
	ecnType          = "Nullable(Enum8('Not-ECT' = 0, 'ECT(1)' = 1, 'ECT(0)' = 2, 'CE' = 3))"
	icrcType         = "Enum8('not_checked' = 0, 'good' = 1, 'bad' = 2, 'undetermined' = 3)"
	NullableTimeType = "Nullable(DateTime64(9, 'UTC'))"
)

// Verdict is how far the decoding of a packet came.
type Verdict int8

// Verdicts, as in the column verdict.
const (
	VerdictOK Verdict = iota
	VerdictTruncated
	VerdictMalformed
	VerdictUnsupported
	VerdictNotRDMA
)

// VerdictOf is the verdict that Decode's answer amounts to.
func VerdictOf(err error) Verdict {
	switch {
	case err == nil:
		return VerdictOK
	case errors.Is(err, dissector.ErrTruncated):
		return VerdictTruncated
	case errors.Is(err, dissector.ErrUnsupported):
		return VerdictUnsupported
	case errors.Is(err, dissector.ErrNotRDMA):
		return VerdictNotRDMA
	default:
		return VerdictMalformed
	}
}

// Codes of the column nak: 0 none, 1 RNR, 2 and up the NAK codes of RoCE, and behind these the reasons of MetaRoCE.
const (
	nakNone = iota
	nakRNR
	nakFirst
	nakMetaRoCE = nakFirst + 32
)

// NakRNR is what the column nak has for an RNR NAK.
const NakRNR = "RNR"

func nakName(code uint8) string {
	switch code {
	case nakNone:
		return ""
	case nakRNR:
		return NakRNR
	}
	if code >= nakMetaRoCE {
		return mr0.NAKReason(code - nakMetaRoCE).String()
	}
	return infiniband.NAKCode(code - nakFirst).String()
}

func layerName(code uint8) string {
	if code == 0 {
		return ""
	}
	return dissector.LayerType(code).String()
}

func faultName(code uint8) string {
	if code == 0 {
		return ""
	}
	return dissector.Reason(code).String()
}

// PacketBlock is rows of the table packets.
type PacketBlock struct {
	Block

	number           uint64s
	time             NullInt64s
	iface            uint32s
	offset           int64s
	capturedLength   uint32s
	originalLength   uint32s
	protocol         int8s
	verdict          int8s
	fault            names
	faultLayer       names
	faultOffset      nullUint16s
	flowID           NullUint64s
	message          nullUint32s
	flags            uint16s
	sourceMAC        macs
	destinationMAC   macs
	vlan             nullUint16s
	vlanPriority     nullUint8s
	tunnel           names
	tunnelID         nullUint32s
	outerSource      nullIPv6s
	outerDestination nullIPv6s
	source           nullIPv6s
	destination      nullIPv6s
	dscp             nullUint8s
	ecn              nullInt8s
	ttl              nullUint8s
	ipID             nullUint16s
	flowLabel        nullUint32s
	sourcePort       nullUint16s
	destinationPort  nullUint16s
	opcode           nullUint8s
	opcodeName       opcodeNames
	solicited        nullBools
	migration        nullBools
	padCount         nullUint8s
	version          nullUint8s
	partitionKey     nullUint16s
	fecn             nullBools
	becn             nullBools
	destinationQP    nullUint32s
	ackRequest       nullBools
	psn              nullUint32s
	sourceQP         nullUint32s
	queueKey         nullUint32s
	eeContext        nullUint32s
	xrcSRQ           nullUint32s
	virtualAddress   NullUint64s
	remoteKey        nullUint32s
	dmaLength        nullUint32s
	swapOrAdd        NullUint64s
	compare          NullUint64s
	original         NullUint64s
	syndrome         nullUint8s
	nak              names
	rnrTimer         NullUint64s
	msn              nullUint32s
	immediate        nullUint32s
	invalidateKey    nullUint32s
	payloadLength    nullUint16s
	icrc             int8s
	pauseClasses     nullUint8s
	pauseQuanta      uint16Arrays
	meta             metaColumns
}

// NewPacketBlock makes an empty block of the table packets.
func NewPacketBlock() *PacketBlock {
	b := &PacketBlock{}
	b.time.Declared = NullableTimeType
	b.protocol.declared = protocolType
	b.verdict.declared = verdictType
	b.fault.name = faultName
	b.faultLayer.name = layerName
	b.tunnel.name = layerName
	b.ecn.Declared = ecnType
	b.nak.name = nakName
	b.icrc.declared = icrcType
	b.fields = []field{
		{"number", &b.number},
		{"time", &b.time},
		{"interface", &b.iface},
		{"file_offset", &b.offset},
		{"captured_length", &b.capturedLength},
		{"original_length", &b.originalLength},
		{"protocol", &b.protocol},
		{"verdict", &b.verdict},
		{"fault", &b.fault},
		{"fault_layer", &b.faultLayer},
		{"fault_offset", &b.faultOffset},
		{"flow_id", &b.flowID},
		{"message", &b.message},
		{"flags", &b.flags},
		{"source_mac", &b.sourceMAC},
		{"destination_mac", &b.destinationMAC},
		{"vlan", &b.vlan},
		{"vlan_priority", &b.vlanPriority},
		{"tunnel", &b.tunnel},
		{"tunnel_id", &b.tunnelID},
		{"outer_source", &b.outerSource},
		{"outer_destination", &b.outerDestination},
		{"source", &b.source},
		{"destination", &b.destination},
		{"dscp", &b.dscp},
		{"ecn", &b.ecn},
		{"ttl", &b.ttl},
		{"ip_id", &b.ipID},
		{"flow_label", &b.flowLabel},
		{"source_port", &b.sourcePort},
		{"destination_port", &b.destinationPort},
		{"opcode", &b.opcode},
		{"opcode_name", &b.opcodeName},
		{"solicited", &b.solicited},
		{"migration", &b.migration},
		{"pad_count", &b.padCount},
		{"transport_version", &b.version},
		{"partition_key", &b.partitionKey},
		{"fecn", &b.fecn},
		{"becn", &b.becn},
		{"destination_qp", &b.destinationQP},
		{"ack_request", &b.ackRequest},
		{"psn", &b.psn},
		{"source_qp", &b.sourceQP},
		{"queue_key", &b.queueKey},
		{"ee_context", &b.eeContext},
		{"xrc_srq", &b.xrcSRQ},
		{"virtual_address", &b.virtualAddress},
		{"remote_key", &b.remoteKey},
		{"dma_length", &b.dmaLength},
		{"atomic_swap_or_add", &b.swapOrAdd},
		{"atomic_compare", &b.compare},
		{"atomic_original", &b.original},
		{"syndrome", &b.syndrome},
		{"nak", &b.nak},
		{"rnr_timer_ns", &b.rnrTimer},
		{"msn", &b.msn},
		{"immediate", &b.immediate},
		{"invalidate_key", &b.invalidateKey},
		{"payload_length", &b.payloadLength},
		{"icrc", &b.icrc},
		{"pause_classes", &b.pauseClasses},
		{"pause_quanta", &b.pauseQuanta},
	}
	b.late = b.meta.fields()
	return b
}

// Append adds one packet. It allocates only when the columns grow.
func (b *PacketBlock) Append(p *dissector.Packet, decodeErr error, icrc dissector.ICRCState, seen flow.Observation, offset int64) {
	b.appendFrame(p, decodeErr, seen, offset)
	b.appendLink(p)
	b.appendNetwork(p)
	if p.Protocol == dissector.ProtocolMetaRoCE {
		b.appendMetaRoCE(p, seen.Ack)
	} else {
		b.appendBase(p)
		b.appendExtended(p)
		b.appendAcknowledge(p)
	}
	b.icrc.Append(int8(icrc))
}

func (b *PacketBlock) appendFrame(p *dissector.Packet, decodeErr error, seen flow.Observation, offset int64) {
	b.number.Append(p.Meta.Number)
	b.time.Append(p.Meta.HasTime, p.Meta.Time)
	b.iface.Append(p.Meta.Interface)
	b.offset.Append(offset)
	b.capturedLength.Append(uint32(len(p.Data)))
	b.originalLength.Append(p.Meta.OriginalLength)
	b.protocol.Append(int8(p.Protocol))
	verdict := VerdictOf(decodeErr)
	b.verdict.Append(int8(verdict))
	if verdict == VerdictOK {
		b.fault.Append(0)
		b.faultLayer.Append(0)
	} else {
		b.fault.Append(uint8(p.Fault.Reason))
		b.faultLayer.Append(uint8(p.Fault.Layer))
	}
	b.faultOffset.Append(verdict != VerdictOK && p.Fault.Layer != dissector.LayerNone, p.Fault.Offset)
	b.flowID.Append(seen.Flow != 0, uint64(seen.Flow))
	b.message.Append(seen.Message != 0, seen.Message)
	b.flags.Append(uint16(seen.Flags))
}

func (b *PacketBlock) appendLink(p *dissector.Packet) {
	ethernet := hasLayer(p, dissector.LayerEthernet)
	b.sourceMAC.Append(ethernet, p.Ethernet.Source)
	b.destinationMAC.Append(ethernet, p.Ethernet.Destination)
	tags := min(int(p.Ethernet.VLANCount), len(p.Ethernet.VLAN))
	var tag uint16
	if tags > 0 {
		tag = p.Ethernet.VLAN[tags-1]
	}
	b.vlan.Append(tags > 0, tag&0xfff)
	b.vlanPriority.Append(tags > 0, uint8(tag>>13))
	tunnel := p.Tunnel.Type != dissector.LayerNone
	outer := tunnel && p.Tunnel.Outer.Version != 0
	b.tunnel.Append(uint8(p.Tunnel.Type))
	b.tunnelID.Append(tunnel, p.Tunnel.ID)
	b.outerSource.Append(outer, proto.IPv6(p.Tunnel.Outer.Source))
	b.outerDestination.Append(outer, proto.IPv6(p.Tunnel.Outer.Destination))
	pause := p.Protocol == dissector.ProtocolPause
	b.pauseClasses.Append(pause, p.Pause.ClassEnable)
	switch {
	case !pause:
		b.pauseQuanta.Append(nil)
	case p.Pause.Opcode == pauseOpcode:
		b.pauseQuanta.Append(p.Pause.Quanta[:1])
	default:
		b.pauseQuanta.Append(p.Pause.Quanta[:])
	}
}

// pauseOpcode is the MAC control opcode of a plain pause frame (IEEE 802.3, annex 31B).
const pauseOpcode = 0x0001

func (b *PacketBlock) appendNetwork(p *dissector.Packet) {
	ip := p.Network.Version != 0
	b.source.Append(ip, proto.IPv6(p.Network.Source))
	b.destination.Append(ip, proto.IPv6(p.Network.Destination))
	b.dscp.Append(ip, p.Network.DSCP)
	b.ecn.Append(ip, int8(p.Network.ECN))
	b.ttl.Append(ip, p.Network.TTL)
	b.ipID.Append(p.Network.Version == 4, p.Network.ID)
	b.flowLabel.Append(p.Network.Version == 6, p.Network.FlowLabel)
	udp := hasLayer(p, dissector.LayerUDP)
	b.sourcePort.Append(udp, p.UDP.SourcePort)
	b.destinationPort.Append(udp, p.UDP.DestinationPort)
}

func (b *PacketBlock) appendBase(p *dissector.Packet) {
	has := p.Has&infiniband.HasBTH != 0
	h := &p.BTH
	b.opcode.Append(has, uint8(h.Opcode))
	b.opcodeName.Append(has, h.Opcode)
	b.solicited.Append(has, h.SolicitedEvent)
	b.migration.Append(has, h.MigrationRequest)
	b.padCount.Append(has, h.PadCount)
	b.version.Append(has, h.TransportVersion)
	b.partitionKey.Append(has, h.PartitionKey)
	b.fecn.Append(has, h.FECN)
	b.becn.Append(has, h.BECN)
	b.destinationQP.Append(has, h.DestinationQP)
	b.ackRequest.Append(has, h.AckRequest)
	b.psn.Append(has, h.PSN)
	b.payloadLength.Append(has, p.PayloadLength)
}

func (b *PacketBlock) appendExtended(p *dissector.Packet) {
	deth := p.Has&infiniband.HasDETH != 0
	b.sourceQP.Append(deth, p.DETH.SourceQP)
	b.queueKey.Append(deth, p.DETH.QueueKey)
	b.eeContext.Append(p.Has&infiniband.HasRDETH != 0, p.RDETH.EEContext)
	b.xrcSRQ.Append(p.Has&infiniband.HasXRCETH != 0, p.XRCETH.SRQ)
	reth, atomic := p.Has&infiniband.HasRETH != 0, p.Has&infiniband.HasAtomicETH != 0
	address, key := p.RETH.VirtualAddress, p.RETH.RemoteKey
	if atomic {
		address, key = p.AtomicETH.VirtualAddress, p.AtomicETH.RemoteKey
	}
	b.virtualAddress.Append(reth || atomic, address)
	b.remoteKey.Append(reth || atomic, key)
	b.dmaLength.Append(reth, p.RETH.DMALength)
	b.swapOrAdd.Append(atomic, p.AtomicETH.SwapOrAdd)
	b.compare.Append(atomic, p.AtomicETH.Compare)
	b.original.Append(p.Has&infiniband.HasAtomicAckETH != 0, p.AtomicAckETH.OriginalData)
	b.immediate.Append(p.Has&infiniband.HasImmDt != 0, p.ImmDt.Data)
	b.invalidateKey.Append(p.Has&infiniband.HasIETH != 0, p.IETH.RemoteKey)
}

func (b *PacketBlock) appendAcknowledge(p *dissector.Packet) {
	aeth := p.Has&infiniband.HasAETH != 0
	syndrome := p.AETH.Syndrome
	rnr := aeth && syndrome.IsRNR()
	b.syndrome.Append(aeth, uint8(syndrome))
	b.msn.Append(aeth, p.AETH.MSN)
	b.rnrTimer.Append(rnr, uint64(syndrome.RNRTimer()))
	switch {
	case rnr:
		b.nak.Append(nakRNR)
	case aeth && syndrome.IsNAK():
		b.nak.Append(nakFirst + uint8(syndrome.NAKCode()))
	default:
		b.nak.Append(nakNone)
	}
}

// Revise gives a packet of the block other flags. It answers false when the packet is not in the block.
func (b *PacketBlock) Revise(r flow.Revision) bool {
	i := sort.Search(len(b.number.data), func(i int) bool { return b.number.data[i] >= r.Number })
	if i == len(b.number.data) || b.number.data[i] != r.Number {
		return false
	}
	b.flags.data[i] = uint16(r.Flags)
	return true
}

func hasLayer(p *dissector.Packet, layer dissector.LayerType) bool {
	for i := range min(int(p.LayerCount), len(p.Layers)) {
		if p.Layers[i].Type == layer {
			return true
		}
	}
	return false
}

// opcodeNames is the column opcode_name: a name for each of the 256 opcodes, and none without a BTH.
type opcodeNames struct{ data []uint16 }

const noOpcode = 256

func (c *opcodeNames) Append(has bool, opcode infiniband.Opcode) {
	if !has {
		c.data = append(c.data, noOpcode)
		return
	}
	c.data = append(c.data, uint16(opcode))
}

func (c *opcodeNames) Rows() int { return len(c.data) }
func (c *opcodeNames) Reset()    { c.data = c.data[:0] }

func (c *opcodeNames) AppendFrom(other column) {
	if o, ok := other.(*opcodeNames); ok {
		c.data = append(c.data, o.data...)
	}
}

func (c *opcodeNames) Input() proto.ColInput {
	var dictionary proto.ColStr
	var keys [noOpcode + 1]uint16
	out := make(proto.ColUInt16, len(c.data))
	for i, code := range c.data {
		if keys[code] == 0 {
			name := ""
			if code != noOpcode {
				name = infiniband.Opcode(code).String()
			}
			dictionary.Append(name)
			keys[code] = uint16(dictionary.Rows())
		}
		out[i] = keys[code] - 1
	}
	return &proto.ColLowCardinalityRaw{Index: &dictionary, Key: proto.KeyUInt16, Keys16: out}
}
