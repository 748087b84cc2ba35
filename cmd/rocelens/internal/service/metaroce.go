package service

import (
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

func metaRoCEOf(m *store.MetaRoCE) *api.MetaRoCE {
	if m == nil {
		return nil
	}
	return &api.MetaRoCE{
		Profile: m.Profile, Handshake: api.MetaRoCEHandshake(m.Handshake), Requests: int64(m.Requests), AcceptTimeNs: countOf[int64](m.AcceptTime),
		RejectReason: pointerTo(m.RejectReason), DisconnectReason: pointerTo(m.DisconnectReason),
		PathCount: countOf[int64](m.PathCount), PlaneCount: countOf[int64](m.PlaneCount), Mtu: countOf[int64](m.MTU),
		LinkRateMbps: countOf[int64](m.LinkRate), InitialPsn: countOf[int64](m.InitialPSN), StreamCount: countOf[int64](m.StreamCount),
		MaxWindow: countOf[int64](m.MaxWindow), Probes: int64(m.Probes), UntrackedStreamPackets: int64(m.UntrackedStreams),
		RateHint: api.RateHint{
			LastMbps: countOf[int64](m.RateHint.Last), MinMbps: countOf[int64](m.RateHint.Min), MaxMbps: countOf[int64](m.RateHint.Max),
			Unlimited: int64(m.RateHint.Unlimited),
		},
		Paths: int64(m.Paths), Streams: int64(m.Streams),
	}
}

func packetMetaRoCEOf(row *store.Packet) *api.PacketMetaRoCE {
	if row.PacketType == "" {
		return nil
	}
	out := &api.PacketMetaRoCE{
		Type: &row.PacketType, PathId: narrow(row.Path), PlaneId: narrow(row.Plane), Rtx: row.RTX != nil && *row.RTX,
		StreamId: narrow(row.Stream), Msn: wide(row.MSN), MessageOffset: wide(row.MessageOffset), MessageLength: wide(row.MessageLength),
		CumulativePsn: wide(row.CumulativePSN), EchoTimestamp: wide(row.EchoTimestamp), AckTrigger: pointerTo(row.AckTrigger),
		RateHintMbps: wide(row.RateHint), CeCount: wide(row.CECount), RefusedPsn: wide(row.RefusedPSN),
		InFlight: wide(row.InFlight), RttNs: wide(row.RTT),
	}
	if row.CumulativePSN != nil {
		ranges := rangesText(row.SACKFirst, row.SACKLast)
		out.Sack = &ranges
	}
	return out
}

// rangesText writes runs of numbers as "71-72, 77".
func rangesText(first, last []uint32) string {
	var out strings.Builder
	for i := range first {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(strconv.FormatUint(uint64(first[i]), 10))
		if last[i] != first[i] {
			out.WriteString("-" + strconv.FormatUint(uint64(last[i]), 10))
		}
	}
	return out.String()
}
