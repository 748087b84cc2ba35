package store

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

// flowBlock is rows of the table flows.
type flowBlock struct {
	block

	id                   uint64s
	connection           uint64s
	reverse              nullUint64s
	protocol             int8s
	service              int8s
	source               ipv6s
	destination          ipv6s
	sourceQP             nullUint32s
	destinationQP        uint32s
	pairing              int8s
	serviceID            nullUint64s
	application          names
	sourceMAC            macs
	destinationMAC       macs
	vlan                 nullUint16s
	dscp                 nullUint8s
	sourcePort           nullUint16s
	sourcePorts          nullUint64s
	portRewritten        nullUint16s
	tunnel               names
	outerSource          nullIPv6s
	outerDestination     nullIPv6s
	firstTime            nullInt64s
	lastTime             nullInt64s
	firstNumber          uint64s
	lastNumber           uint64s
	packets              uint64s
	bytes                uint64s
	payloadBytes         uint64s
	goodputBytes         nullUint64s
	messages             nullUint64s
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
	psnGaps              nullUint64s
	missingPSNs          nullUint64s
	missingAcknowledged  nullUint64s
	retransmitted        nullUint64s
	retransmittedNAK     nullUint64s
	retransmittedRNR     nullUint64s
	retransmittedTimeout nullUint64s
	outOfOrder           nullUint64s
	duplicates           nullUint64s
	mirrorCopies         uint64s
	acks                 uint64s
	naks                 uint64s
	naksByCode           counters
	rnrNaks              uint64s
	rnrTimerMax          nullUint64s
	cnps                 uint64s
	ceMarked             nullUint64s
	ectMarked            nullUint64s
	icrcGood             uint64s
	icrcBad              uint64s
	icrcUndetermined     uint64s
	truncated            uint64s
	malformed            uint64s
	meta                 metaFlowColumns
}

func newFlowBlock() *flowBlock {
	b := &flowBlock{}
	b.protocol.declared = protocolType
	b.service.declared = serviceType
	b.pairing.declared = pairingType
	b.tunnel.name = layerName
	b.application.name = applicationName
	b.firstTime.declared = nullableTimeType
	b.lastTime.declared = nullableTimeType
	b.naksByCode.name = nakCodeName
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

// append adds one flow. Numbers that the record holds wider than the wire are narrowed to the wire's width.
func (b *flowBlock) append(r *flow.Record) {
	outer := r.OuterSource != [16]byte{} || r.OuterDestination != [16]byte{}
	b.id.append(uint64(r.ID))
	b.connection.append(uint64(r.ConnectionID))
	b.reverse.append(r.ReverseID != 0, uint64(r.ReverseID))
	b.protocol.append(int8(r.Key.Protocol))
	b.service.append(int8(r.Key.Service))
	b.source.append(proto.IPv6(r.Key.Source))
	b.destination.append(proto.IPv6(r.Key.Destination))
	b.sourceQP.append(r.SourceQP.Known, uint32(r.SourceQP.N))
	b.destinationQP.append(r.Key.DestinationQP)
	b.pairing.append(int8(r.Pairing))
	b.serviceID.append(r.ServiceID.Known, r.ServiceID.N)
	b.application.append(uint8(r.Application))
	b.sourceMAC.append(r.SourceMAC != [6]byte{} || r.DestinationMAC != [6]byte{}, r.SourceMAC)
	b.destinationMAC.append(r.SourceMAC != [6]byte{} || r.DestinationMAC != [6]byte{}, r.DestinationMAC)
	b.vlan.append(r.VLAN.Known, uint16(r.VLAN.N))
	b.dscp.append(r.DSCP.Known, uint8(r.DSCP.N))
	b.sourcePort.append(r.SourcePort.Known, uint16(r.SourcePort.N))
	b.sourcePorts.append(r.SourcePorts.Known, r.SourcePorts.N)
	b.portRewritten.append(r.PortRewritten.Known, uint16(r.PortRewritten.N))
	b.tunnel.append(uint8(r.Tunnel))
	b.outerSource.append(outer, proto.IPv6(r.OuterSource))
	b.outerDestination.append(outer, proto.IPv6(r.OuterDestination))
	b.firstTime.append(r.HasTime, r.FirstTime)
	b.lastTime.append(r.HasTime, r.LastTime)
	b.firstNumber.append(r.FirstNumber)
	b.lastNumber.append(r.LastNumber)
	b.packets.append(r.Packets)
	b.bytes.append(r.Bytes)
	b.payloadBytes.append(r.PayloadBytes)
	b.goodputBytes.append(r.GoodputBytes.Known, r.GoodputBytes.N)
	b.messages.append(r.Messages.Known, r.Messages.N)
	b.sends.append(r.Operations.Send)
	b.writes.append(r.Operations.Write)
	b.readRequests.append(r.Operations.ReadRequest)
	b.atomics.append(r.Operations.Atomic)
	b.readResponses.append(r.Operations.ReadResponse)
	b.atomicResponses.append(r.Operations.AtomicResponse)
	b.ackPackets.append(r.Operations.Ack)
	b.datagrams.append(r.Operations.Datagram)
	b.otherOperations.append(r.Operations.Other)
	b.pathMTU.append(r.PathMTU.Known, uint32(r.PathMTU.N))
	b.firstPSN.append(r.FirstPSN.Known, uint32(r.FirstPSN.N))
	b.lastPSN.append(r.LastPSN.Known, uint32(r.LastPSN.N))
	b.psnGaps.append(r.PSNGaps.Known, r.PSNGaps.N)
	b.missingPSNs.append(r.MissingPSNs.Known, r.MissingPSNs.N)
	b.missingAcknowledged.append(r.MissingAcknowledged.Known, r.MissingAcknowledged.N)
	b.retransmitted.append(r.Retransmitted.Known, r.Retransmitted.N)
	b.retransmittedNAK.append(r.RetransmittedNAK.Known, r.RetransmittedNAK.N)
	b.retransmittedRNR.append(r.RetransmittedRNR.Known, r.RetransmittedRNR.N)
	b.retransmittedTimeout.append(r.RetransmittedTimeout.Known, r.RetransmittedTimeout.N)
	b.outOfOrder.append(r.OutOfOrder.Known, r.OutOfOrder.N)
	b.duplicates.append(r.Duplicates.Known, r.Duplicates.N)
	b.mirrorCopies.append(r.MirrorCopies)
	b.acks.append(r.Acks)
	b.naks.append(total(r.Naks[:]))
	naks := [2 * len(r.Naks)]uint64{}
	copy(naks[nakBase(r.Key.Service):], r.Naks[:])
	b.naksByCode.append(naks[:])
	b.rnrNaks.append(r.RNRNaks)
	b.rnrTimerMax.append(r.RNRNaks != 0, uint64(r.RNRTimerMax))
	b.cnps.append(r.CNPs)
	b.ceMarked.append(r.CEMarked.Known, r.CEMarked.N)
	b.ectMarked.append(r.ECTMarked.Known, r.ECTMarked.N)
	b.icrcGood.append(r.ICRCGood)
	b.icrcBad.append(r.ICRCBad)
	b.icrcUndetermined.append(r.ICRCUndetermined)
	b.truncated.append(r.Truncated)
	b.malformed.append(r.Malformed)
	if r.MetaRoCE != nil {
		b.fillLate(b.rows() - 1)
		b.meta.append(r.MetaRoCE)
	}
}

func applicationName(code uint8) string { return mad.Application(code).String() }

// metaNaks is where the reasons of MetaRoCE's NAKs begin, behind the codes of RoCE's.
const metaNaks = len(flow.Record{}.Naks)

func nakBase(s infiniband.Service) int {
	if s == flow.ServiceMetaRoCE {
		return metaNaks
	}
	return 0
}

func nakCodeName(code uint8) string {
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
