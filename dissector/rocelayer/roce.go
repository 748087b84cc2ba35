package rocelayer

import (
	"encoding/binary"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// RoCE is the transport part of a RoCE packet: from the base transport header to the ICRC. An extended header
// is meaningful when its bit is in Has, otherwise it is zero.
type RoCE struct {
	layers.BaseLayer // Contents: all headers; Payload: what is carried, without pad and ICRC

	Has          infiniband.HeaderSet
	BTH          infiniband.BTH
	RDETH        infiniband.RDETH
	DETH         infiniband.DETH
	XRCETH       infiniband.XRCETH
	RETH         infiniband.RETH
	AtomicETH    infiniband.AtomicETH
	AETH         infiniband.AETH
	AtomicAckETH infiniband.AtomicAckETH
	ImmDt        infiniband.ImmDt
	IETH         infiniband.IETH
	FETH         infiniband.FETH
	ICRC         uint32 // as dissector.ComputeICRC computes it; not verified
}

// LayerType is LayerTypeRoCE.
func (r *RoCE) LayerType() gopacket.LayerType { return LayerTypeRoCE }

// CanDecode is LayerTypeRoCE.
func (r *RoCE) CanDecode() gopacket.LayerClass { return LayerTypeRoCE }

// NextLayerType is gopacket.LayerTypePayload: nothing in the packet says what it carries.
func (r *RoCE) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads a packet that starts with its base transport header and ends with its ICRC. All of the
// layer is overwritten, and empty when the answer is an error: dissector.ErrTruncated for fewer bytes than the
// opcode's headers and an ICRC have, dissector.ErrMalformed for a pad longer than the payload, and
// dissector.ErrUnsupported for an unknown opcode or version, and for a reliable datagram whose RDETH is none.
func (r *RoCE) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*r = RoCE{}
	n, err := r.BTH.Decode(data)
	if err != nil {
		df.SetTruncated()
		return dissector.ErrTruncated
	}
	set, known := r.BTH.Opcode.Headers()
	if !known || r.BTH.TransportVersion != 0 {
		*r = RoCE{}
		return dissector.ErrUnsupported
	}
	length := set.Length()
	end := len(data) - infiniband.ICRCLength
	if end < length {
		*r = RoCE{}
		df.SetTruncated()
		return dissector.ErrTruncated
	}
	payloadEnd := end - int(r.BTH.PadCount)
	if payloadEnd < length {
		*r = RoCE{}
		return dissector.ErrMalformed
	}
	if set&infiniband.HasRDETH != 0 && data[n] != 0 { // ConnectX's DC transport, which uses these opcodes
		*r = RoCE{}
		return dissector.ErrUnsupported
	}
	r.extended(data[n:length], set)
	r.Has = set
	r.ICRC = binary.LittleEndian.Uint32(data[end:])
	r.BaseLayer = layers.BaseLayer{Contents: data[:length], Payload: data[length:payloadEnd]}
	return nil
}

// extended reads the headers of the set behind the BTH from as many bytes as they have.
func (r *RoCE) extended(b []byte, set infiniband.HeaderSet) {
	for _, header := range infiniband.WireOrder {
		var n int
		var err error
		switch set & header {
		case infiniband.HasRDETH:
			n, err = r.RDETH.Decode(b)
		case infiniband.HasDETH:
			n, err = r.DETH.Decode(b)
		case infiniband.HasXRCETH:
			n, err = r.XRCETH.Decode(b)
		case infiniband.HasRETH:
			n, err = r.RETH.Decode(b)
		case infiniband.HasAtomicETH:
			n, err = r.AtomicETH.Decode(b)
		case infiniband.HasAETH:
			n, err = r.AETH.Decode(b)
		case infiniband.HasAtomicAckETH:
			n, err = r.AtomicAckETH.Decode(b)
		case infiniband.HasImmDt:
			n, err = r.ImmDt.Decode(b)
		case infiniband.HasIETH:
			n, err = r.IETH.Decode(b)
		case infiniband.HasFETH:
			n, err = r.FETH.Decode(b)
		default: // the BTH, which was read, a CNP's zeros, and what is not in the set
		}
		if err != nil { // which the length check before has excluded
			return
		}
		b = b[n:]
	}
}

func decodeRoCE(data []byte, p gopacket.PacketBuilder) error {
	r := &RoCE{}
	if err := r.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(r)
	if len(r.Payload) == 0 {
		return nil
	}
	return p.NextDecoder(r.NextLayerType())
}
