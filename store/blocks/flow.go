package blocks

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

const (
	serviceType = "Enum8('RC' = 0, 'UC' = 1, 'RD' = 2, 'UD' = 3, 'CNP' = 4, 'XRC' = 5, 'vendor' = 6, 'vendor2' = 7, 'MetaRoCE' = 8)"
	pairingType = "Enum8('none' = 0, 'inferred' = 1, 'datagram' = 2, 'cm' = 3, 'addresses' = 4)"
)

// FlowBlock is rows of the table flows.
type FlowBlock struct {
	Block

	id                   uint64s
	connection           uint64s
	reverse              NullUint64s
	protocol             int8s
	service              int8s
	source               ipv6s
	destination          ipv6s
	sourceQP             nullUint32s
	destinationQP        uint32s
	pairing              int8s
	serviceID            NullUint64s
	application          names
	sourceMAC            macs
	destinationMAC       macs
	vlan                 nullUint16s
	dscp                 nullUint8s
	sourcePort           nullUint16s
	sourcePorts          NullUint64s
	portRewritten        nullUint16s
	tunnel               names
	outerSource          nullIPv6s
	outerDestination     nullIPv6s
	firstTime            NullInt64s
	lastTime             NullInt64s
	firstNumber          uint64s
	lastNumber           uint64s
	packets              uint64s
	bytes                uint64s
	payloadBytes         uint64s
	goodputBytes         NullUint64s
	messages             NullUint64s
	sends                uint64s
	writes               uint64s
	readRequests         uint64s
	atomics              uint64s
	readResponses        uint64s
	atomicResponses      uint64s
	ackPackets           uint64s
	datagrams            uint64s
	otherOperations      uint64s
	pathMTU              nullUint32s
	firstPSN             nullUint32s
	lastPSN              nullUint32s
	psnGaps              NullUint64s
	missingPSNs          NullUint64s
	missingAcknowledged  NullUint64s
	retransmitted        NullUint64s
	retransmittedNAK     NullUint64s
	retransmittedRNR     NullUint64s
	retransmittedTimeout NullUint64s
	outOfOrder           NullUint64s
	duplicates           NullUint64s
	mirrorCopies         uint64s
	acks                 uint64s
	naks                 uint64s
	naksByCode           counters
	rnrNaks              uint64s
	rnrTimerMax          NullUint64s
	cnps                 uint64s
	ceMarked             NullUint64s
	ectMarked            NullUint64s
	icrcGood             uint64s
	icrcBad              uint64s
	icrcUndetermined     uint64s
	truncated            uint64s
	malformed            uint64s
	meta                 metaFlowColumns
}

// NewFlowBlock makes an empty block of the table flows.
func NewFlowBlock() *FlowBlock {
	b := &FlowBlock{}
	b.protocol.declared = protocolType
	b.service.declared = serviceType
	b.pairing.declared = pairingType
	b.tunnel.name = layerName
	b.application.name = applicationName
	b.firstTime.Declared = NullableTimeType
	b.lastTime.Declared = NullableTimeType
	b.naksByCode.name = NakCodeName
	b.fields = []field{
		{"flow_id", &b.id},
		{"connection_id", &b.connection},
		{"reverse_flow_id", &b.reverse},
		{"protocol", &b.protocol},
		{"service", &b.service},
		{"source", &b.source},
		{"destination", &b.destination},
		{"source_qp", &b.sourceQP},
		{"destination_qp", &b.destinationQP},
		{"pairing", &b.pairing},
		{"service_id", &b.serviceID},
		{"application", &b.application},
		{"source_mac", &b.sourceMAC},
		{"destination_mac", &b.destinationMAC},
		{"vlan", &b.vlan},
		{"dscp", &b.dscp},
		{"source_port", &b.sourcePort},
		{"source_ports", &b.sourcePorts},
		{"port_rewritten_from", &b.portRewritten},
		{"tunnel", &b.tunnel},
		{"outer_source", &b.outerSource},
		{"outer_destination", &b.outerDestination},
		{"first_time", &b.firstTime},
		{"last_time", &b.lastTime},
		{"first_number", &b.firstNumber},
		{"last_number", &b.lastNumber},
		{"packets", &b.packets},
		{"bytes", &b.bytes},
		{"payload_bytes", &b.payloadBytes},
		{"goodput_bytes", &b.goodputBytes},
		{"messages", &b.messages},
		{"sends", &b.sends},
		{"writes", &b.writes},
		{"read_requests", &b.readRequests},
		{"atomics", &b.atomics},
		{"read_responses", &b.readResponses},
		{"atomic_responses", &b.atomicResponses},
		{"ack_packets", &b.ackPackets},
		{"datagrams", &b.datagrams},
		{"other_operations", &b.otherOperations},
		{"path_mtu", &b.pathMTU},
		{"first_psn", &b.firstPSN},
		{"last_psn", &b.lastPSN},
		{"psn_gaps", &b.psnGaps},
		{"missing_psns", &b.missingPSNs},
		{"missing_acknowledged", &b.missingAcknowledged},
		{"retransmitted", &b.retransmitted},
		{"retransmitted_after_nak", &b.retransmittedNAK},
		{"retransmitted_after_rnr", &b.retransmittedRNR},
		{"retransmitted_after_timeout", &b.retransmittedTimeout},
		{"out_of_order", &b.outOfOrder},
		{"duplicates", &b.duplicates},
		{"mirror_copies", &b.mirrorCopies},
		{"acks", &b.acks},
		{"naks", &b.naks},
		{"naks_by_code", &b.naksByCode},
		{"rnr_naks", &b.rnrNaks},
		{"rnr_timer_max_ns", &b.rnrTimerMax},
		{"cnps", &b.cnps},
		{"ce_marked", &b.ceMarked},
		{"ect_marked", &b.ectMarked}, //nolint:misspell // ECN-capable transport
		{"icrc_good", &b.icrcGood},
		{"icrc_bad", &b.icrcBad},
		{"icrc_undetermined", &b.icrcUndetermined},
		{"truncated", &b.truncated},
		{"malformed", &b.malformed},
	}
	b.late = b.meta.fields()
	return b
}

// Append adds one flow. Numbers that the record holds wider than the wire are narrowed to the wire's width.
func (b *FlowBlock) Append(r *flow.Record) {
	outer := r.OuterSource != [16]byte{} || r.OuterDestination != [16]byte{}
	b.id.Append(uint64(r.ID))
	b.connection.Append(uint64(r.ConnectionID))
	b.reverse.Append(r.ReverseID != 0, uint64(r.ReverseID))
	b.protocol.Append(int8(r.Key.Protocol))
	b.service.Append(int8(r.Key.Service))
	b.source.Append(proto.IPv6(r.Key.Source))
	b.destination.Append(proto.IPv6(r.Key.Destination))
	b.sourceQP.Append(r.SourceQP.Known, uint32(r.SourceQP.N))
	b.destinationQP.Append(r.Key.DestinationQP)
	b.pairing.Append(int8(r.Pairing))
	b.serviceID.Append(r.ServiceID.Known, r.ServiceID.N)
	b.application.Append(uint8(r.Application))
	b.sourceMAC.Append(r.SourceMAC != [6]byte{} || r.DestinationMAC != [6]byte{}, r.SourceMAC)
	b.destinationMAC.Append(r.SourceMAC != [6]byte{} || r.DestinationMAC != [6]byte{}, r.DestinationMAC)
	b.vlan.Append(r.VLAN.Known, uint16(r.VLAN.N))
	b.dscp.Append(r.DSCP.Known, uint8(r.DSCP.N))
	b.sourcePort.Append(r.SourcePort.Known, uint16(r.SourcePort.N))
	b.sourcePorts.Append(r.SourcePorts.Known, r.SourcePorts.N)
	b.portRewritten.Append(r.PortRewritten.Known, uint16(r.PortRewritten.N))
	b.tunnel.Append(uint8(r.Tunnel))
	b.outerSource.Append(outer, proto.IPv6(r.OuterSource))
	b.outerDestination.Append(outer, proto.IPv6(r.OuterDestination))
	b.firstTime.Append(r.HasTime, r.FirstTime)
	b.lastTime.Append(r.HasTime, r.LastTime)
	b.firstNumber.Append(r.FirstNumber)
	b.lastNumber.Append(r.LastNumber)
	b.packets.Append(r.Packets)
	b.bytes.Append(r.Bytes)
	b.payloadBytes.Append(r.PayloadBytes)
	b.goodputBytes.Append(r.GoodputBytes.Known, r.GoodputBytes.N)
	b.messages.Append(r.Messages.Known, r.Messages.N)
	b.sends.Append(r.Operations.Send)
	b.writes.Append(r.Operations.Write)
	b.readRequests.Append(r.Operations.ReadRequest)
	b.atomics.Append(r.Operations.Atomic)
	b.readResponses.Append(r.Operations.ReadResponse)
	b.atomicResponses.Append(r.Operations.AtomicResponse)
	b.ackPackets.Append(r.Operations.Ack)
	b.datagrams.Append(r.Operations.Datagram)
	b.otherOperations.Append(r.Operations.Other)
	b.pathMTU.Append(r.PathMTU.Known, uint32(r.PathMTU.N))
	b.firstPSN.Append(r.FirstPSN.Known, uint32(r.FirstPSN.N))
	b.lastPSN.Append(r.LastPSN.Known, uint32(r.LastPSN.N))
	b.psnGaps.Append(r.PSNGaps.Known, r.PSNGaps.N)
	b.missingPSNs.Append(r.MissingPSNs.Known, r.MissingPSNs.N)
	b.missingAcknowledged.Append(r.MissingAcknowledged.Known, r.MissingAcknowledged.N)
	b.retransmitted.Append(r.Retransmitted.Known, r.Retransmitted.N)
	b.retransmittedNAK.Append(r.RetransmittedNAK.Known, r.RetransmittedNAK.N)
	b.retransmittedRNR.Append(r.RetransmittedRNR.Known, r.RetransmittedRNR.N)
	b.retransmittedTimeout.Append(r.RetransmittedTimeout.Known, r.RetransmittedTimeout.N)
	b.outOfOrder.Append(r.OutOfOrder.Known, r.OutOfOrder.N)
	b.duplicates.Append(r.Duplicates.Known, r.Duplicates.N)
	b.mirrorCopies.Append(r.MirrorCopies)
	b.acks.Append(r.Acks)
	b.naks.Append(total(r.Naks[:]))
	naks := [2 * len(r.Naks)]uint64{}
	copy(naks[NakBase(r.Key.Service):], r.Naks[:])
	b.naksByCode.Append(naks[:])
	b.rnrNaks.Append(r.RNRNaks)
	b.rnrTimerMax.Append(r.RNRNaks != 0, uint64(r.RNRTimerMax))
	b.cnps.Append(r.CNPs)
	b.ceMarked.Append(r.CEMarked.Known, r.CEMarked.N)
	b.ectMarked.Append(r.ECTMarked.Known, r.ECTMarked.N)
	b.icrcGood.Append(r.ICRCGood)
	b.icrcBad.Append(r.ICRCBad)
	b.icrcUndetermined.Append(r.ICRCUndetermined)
	b.truncated.Append(r.Truncated)
	b.malformed.Append(r.Malformed)
	if r.MetaRoCE != nil {
		b.fillLate(b.Rows() - 1)
		b.meta.Append(r.MetaRoCE)
	}
}

func applicationName(code uint8) string { return mad.Application(code).String() }

// metaNaks is where the reasons of MetaRoCE's NAKs begin, behind the codes of RoCE's.
const metaNaks = len(flow.Record{}.Naks)

// NakBase is where the codes of a service begin among those of all.
func NakBase(s infiniband.Service) int {
	if s == flow.ServiceMetaRoCE {
		return metaNaks
	}
	return 0
}

// NakCodeName is how a code is called in the column naks.
func NakCodeName(code uint8) string {
	if code >= uint8(metaNaks) {
		return mr0.NAKReason(code - uint8(metaNaks)).String()
	}
	return infiniband.NAKCode(code).String()
}

func total(counts []uint64) uint64 {
	var sum uint64
	for _, n := range counts {
		sum += n
	}
	return sum
}
