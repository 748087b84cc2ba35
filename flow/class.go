package flow

import "github.com/rocelens/rocelens/dissector/infiniband"

// class is what the tracker needs to know of an opcode, in one look.
type class uint16

const (
	classRequest class = 1 << iota
	classResponse
	classStarts
	classEnds
	classFull // FIRST or MIDDLE: its payload is as long as the path MTU
	classSend
	classWrite
	classRead
	classAtomic
	classReadResponse
	classAtomicResponse
	classAck
	classMiddle // of a request of a connected service

	classKind = classSend | classWrite | classRead | classAtomic
)

var classes = fillClasses()

func fillClasses() (out [256]class) {
	for i := range out {
		o := infiniband.Opcode(i)
		for _, b := range []struct {
			holds bool
			bit   class
		}{
			{o.IsRequest(), classRequest},
			{o.IsResponse(), classResponse},
			{o.StartsMessage() || (o.IsReadResponse() && (o.IsFirst() || o.IsOnly())), classStarts},
			{o.EndsMessage() || (o.IsReadResponse() && (o.IsLast() || o.IsOnly())), classEnds},
			{o.IsFirst() || o.IsMiddle(), classFull},
			{o.IsSend(), classSend},
			{o.IsWrite(), classWrite},
			{o.IsReadRequest(), classRead},
			{o.IsAtomic() || o.Operation() == infiniband.AtomicWrite && o.IsRequest(), classAtomic},
			{o.IsReadResponse(), classReadResponse},
			{o.IsAtomicAck(), classAtomicResponse},
			{o.IsAck(), classAck},
			{o.IsMiddle() && o.IsRequest() && o.Service() != infiniband.ServiceRD, classMiddle},
		} {
			if b.holds {
				out[i] |= b.bit
			}
		}
	}
	return out
}
