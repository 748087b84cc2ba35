package service

import (
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/blocks"
)

// kindOf is what a packet is in the conversation of its connection.
func kindOf(row *store.Packet) api.PacketKind {
	switch {
	case row.NAK == blocks.NakRNR:
		return api.PacketKindRnr
	case row.NAK != "":
		return api.PacketKindNak
	case row.PacketType != "":
		return metaKindOf(row)
	case row.Opcode == nil:
		return api.PacketKindOther
	}
	switch opcode := infiniband.Opcode(*row.Opcode); {
	case opcode.IsCNP():
		return api.PacketKindCnp
	case row.QueueKey != nil: // datagrams, those of the connection manager among them
		return api.PacketKindControl
	case opcode.IsAck():
		return api.PacketKindAck
	case opcode.IsResponse():
		return api.PacketKindResponse
	case opcode.IsRequest():
		return api.PacketKindData
	}
	return api.PacketKindOther
}

func metaKindOf(row *store.Packet) api.PacketKind {
	switch row.PacketType {
	case mr0.TypeACK.String():
		if len(row.SACKFirst) > 0 {
			return api.PacketKindSack
		}
		return api.PacketKindAck
	case mr0.TypeReadResp.String(), mr0.TypeAtomicResp.String():
		return api.PacketKindResponse
	case mr0.TypeConnReq.String(), mr0.TypeConnRep.String(), mr0.TypeConnRej.String(), mr0.TypeDisconnect.String(), mr0.TypeProbe.String():
		return api.PacketKindControl
	}
	return api.PacketKindData
}

// acknowledged is the PSN that an ACK or NAK names.
func acknowledged(row *store.Packet, kind api.PacketKind) *int64 {
	var psn *uint32
	switch kind { //nolint:exhaustive // the others acknowledge nothing
	case api.PacketKindAck, api.PacketKindSack, api.PacketKindNak, api.PacketKindRnr:
		switch psn = row.PSN; {
		case row.CumulativePSN != nil:
			psn = row.CumulativePSN
		case row.RefusedPSN != nil:
			psn = row.RefusedPSN
		}
	}
	return wide(psn)
}
