package infiniband

// services is a set of transport services.
type services uint8

const (
	onRC services = 1 << ServiceRC
	onUC services = 1 << ServiceUC
	onRD services = 1 << ServiceRD
	onUD services = 1 << ServiceUD
	onXR services = 1 << ServiceXRC

	onReliable  = onRC | onRD | onXR
	onConnected = onReliable | onUC
	onAll       = onConnected | onUD
)

// operationShape is one row of the table of operations, for all services at once.
type operationShape struct {
	operation Operation
	name      string
	on        services
	headers   HeaderSet // of RC; the service's own come on top
	flags     opcodeFlag
}

const (
	flagsFirst  = flagRequest | flagPayload | flagFirst | flagStarts
	flagsMiddle = flagRequest | flagPayload | flagMiddle
	flagsLast   = flagRequest | flagPayload | flagLast | flagEnds
	flagsOnly   = flagRequest | flagPayload | flagOnly | flagStarts | flagEnds
	flagsSingle = flagRequest | flagStarts | flagEnds
	flagsRead   = flagResponse | flagPayload | flagReadResponse
)

// operations is the table of opcodes and the headers after the BTH (IBTA volume 1, sections 9.2.1 and 9.3;
// XRC: annex A14; FLUSH and ATOMIC WRITE: annex A19).
var operations = [...]operationShape{
	{SendFirst, "SEND First", onConnected, 0, flagsFirst | flagSend},
	{SendMiddle, "SEND Middle", onConnected, 0, flagsMiddle | flagSend},
	{SendLast, "SEND Last", onConnected, 0, flagsLast | flagSend},
	{SendLastImmediate, "SEND Last with Immediate", onConnected, HasImmDt, flagsLast | flagSend},
	{SendOnly, "SEND Only", onAll, 0, flagsOnly | flagSend},
	{SendOnlyImmediate, "SEND Only with Immediate", onAll, HasImmDt, flagsOnly | flagSend},
	{WriteFirst, "RDMA WRITE First", onConnected, HasRETH, flagsFirst | flagWrite},
	{WriteMiddle, "RDMA WRITE Middle", onConnected, 0, flagsMiddle | flagWrite},
	{WriteLast, "RDMA WRITE Last", onConnected, 0, flagsLast | flagWrite},
	{WriteLastImmediate, "RDMA WRITE Last with Immediate", onConnected, HasImmDt, flagsLast | flagWrite},
	{WriteOnly, "RDMA WRITE Only", onConnected, HasRETH, flagsOnly | flagWrite},
	{WriteOnlyImmediate, "RDMA WRITE Only with Immediate", onConnected, HasRETH | HasImmDt, flagsOnly | flagWrite},
	{ReadRequest, "RDMA READ Request", onReliable, HasRETH, flagsSingle | flagReadRequest},
	{ReadResponseFirst, "RDMA READ Response First", onReliable, HasAETH, flagsRead | flagFirst},
	{ReadResponseMiddle, "RDMA READ Response Middle", onReliable, 0, flagsRead | flagMiddle},
	{ReadResponseLast, "RDMA READ Response Last", onReliable, HasAETH, flagsRead | flagLast},
	{ReadResponseOnly, "RDMA READ Response Only", onReliable, HasAETH, flagsRead | flagOnly},
	{Acknowledge, "ACK", onReliable, HasAETH, flagResponse | flagAck},
	{AtomicAcknowledge, "Atomic ACK", onReliable, HasAETH | HasAtomicAckETH, flagResponse | flagAtomicAck},
	{CompareSwap, "COMPARE SWAP", onReliable, HasAtomicETH, flagsSingle | flagAtomic},
	{FetchAdd, "FETCH ADD", onReliable, HasAtomicETH, flagsSingle | flagAtomic},
	{Resync, "RESYNC", onRD, 0, flagsSingle},
	{SendLastInvalidate, "SEND Last with Invalidate", onRC | onXR, HasIETH, flagsLast | flagSend},
	{SendOnlyInvalidate, "SEND Only with Invalidate", onRC | onXR, HasIETH, flagsOnly | flagSend},
	{Flush, "FLUSH", onReliable, HasFETH | HasRETH, flagsSingle},
	{AtomicWrite, "ATOMIC WRITE", onRC, HasRETH, flagsSingle | flagPayload},
}

// The tables by opcode, filled once; a zero header set marks an unknown opcode.
var opcodeHeaders, opcodeFlags, opcodeNames = fillOpcodes()

func fillOpcodes() (headers [256]HeaderSet, flags [256]opcodeFlag, names [256]string) {
	for i := range names {
		names[i] = unnamedOpcode(Opcode(i))
	}
	for _, row := range operations {
		for service := ServiceRC; service <= ServiceXRC; service++ {
			if row.on&(1<<service) == 0 {
				continue
			}
			code := uint8(service)<<5 | uint8(row.operation)
			headers[code] = HasBTH | row.headers | serviceHeaders(service, row.flags&flagRequest != 0)
			flags[code] = row.flags
			names[code] = service.String() + " " + row.name
		}
	}
	headers[CNP], names[CNP] = HasBTH|HasCNP, "CNP"
	names[RCGetClass], names[RCPutClass] = "RC GET class", "RC PUT class"
	return headers, flags, names
}

// serviceHeaders is what a service puts before the headers of the operation.
func serviceHeaders(s Service, request bool) HeaderSet {
	switch {
	case s == ServiceUD:
		return HasDETH
	case s == ServiceRD && request:
		return HasRDETH | HasDETH
	case s == ServiceRD:
		return HasRDETH
	case s == ServiceXRC && request:
		return HasXRCETH
	}
	return 0
}
