//go:build !race

package compliance_test

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

func handshakeVariants() []variant {
	return []variant{
		{name: "nothing is broken"},
		{name: "echoes another nonce", fails: "connecting/reply connecting/requests-distinct", hooks: saying(of(mr0.TypeConnRep, func(d *datagram) { d.CONN.Nonce++ }))},
		{name: "answers a repeated request by another first psn", fails: "connecting/request-repeated connecting/request-late", hooks: func() (in, out hook) {
			seen := map[uint64]bool{}
			return nil, filter(of(mr0.TypeConnRep, func(d *datagram) {
				if seen[d.CONN.Nonce] {
					d.CONN.InitialPSN++
				}
				seen[d.CONN.Nonce] = true
			}))
		}},
		{name: "rejects nobody aloud", fails: "connecting/partition", hooks: saying(dropping(func(d *datagram) bool {
			return d.CH.Type == mr0.TypeConnRej && d.REJ.Reason == mr0.RejectReasonPartition
		}))},
		{name: "rejects another partition for its version", fails: "connecting/partition", hooks: saying(of(mr0.TypeConnRej, func(d *datagram) {
			if d.REJ.Reason == mr0.RejectReasonPartition {
				d.REJ.Reason = mr0.RejectReasonVersion
			}
		}))},
		{name: "takes any partition", fails: "connecting/partition", hooks: hearing(of(mr0.TypeConnReq, func(d *datagram) { d.CH.PartitionKey = 0xffff }))},
		{name: "takes any number of paths", fails: "connecting/path-count", hooks: taking(func(d *datagram) bool {
			odd := d.CH.Type == mr0.TypeConnReq && d.CONN.PathCount-1 > 127
			if odd {
				d.CONN.PathCount = 4
			}
			return odd
		})},
		{name: "takes any MTU", fails: "connecting/mtu", hooks: taking(func(d *datagram) bool {
			odd := d.CH.Type == mr0.TypeConnReq && (d.CONN.MTU&(d.CONN.MTU-1) != 0 || d.CONN.MTU < 256 || d.CONN.MTU > 8192)
			if odd {
				d.CONN.MTU = 256
			}
			return odd
		})},
		{name: "takes no planes at all", fails: "connecting/plane-count", hooks: taking(func(d *datagram) bool {
			odd := d.CH.Type == mr0.TypeConnReq && d.CONN.PlaneCount == 0
			if odd {
				d.CONN.PlaneCount = 1
			}
			return odd
		})},
		{name: "takes any window", fails: "connecting/max-window", hooks: taking(func(d *datagram) bool {
			odd := d.CH.Type == mr0.TypeConnReq && d.CONN.MaxWindow > 256
			if odd {
				d.CONN.MaxWindow = 256
			}
			return odd
		})},
		{name: "takes requests that name a connection", fails: "connecting/dest-conn-id", hooks: hearing(of(mr0.TypeConnReq, func(d *datagram) { d.CH.DestConnID = 0 }))},
		{name: "uses the smallest MTU", fails: "connecting/mtu-smaller", hooks: hearing(of(mr0.TypeConnReq, func(d *datagram) { d.CONN.MTU = 256 }))},
		{name: "does not answer DISCONNECT", fails: "connecting/disconnect connecting/disconnect-repeated", hooks: func() (in, out hook) {
			// Of the connection that it belongs to only the suite's id is known on both ways.
			ended := map[uint32]bool{}
			in = filter(func(d *datagram) bool {
				if d.err == nil && d.CH.Type == mr0.TypeDisconnect {
					ended[d.DISC.SourceConnID] = true
				}
				return true
			})
			return in, filter(dropping(func(d *datagram) bool { return d.CH.Type == mr0.TypeDisconnect && ended[d.CH.DestConnID] }))
		}},
		{name: "answers DISCONNECT once", fails: "connecting/disconnect-repeated", hooks: saying(once(func(d *datagram) bool {
			return d.CH.Type == mr0.TypeDisconnect && d.DISC.Reason == mr0.DisconnectReasonNormal
		}))},
		{name: "ends by another's id", fails: "connecting/disconnect", hooks: saying(of(mr0.TypeDisconnect, func(d *datagram) { d.DISC.SourceConnID ^= 1 }))},
	}
}

// once lets such a packet of a connection pass once.
func once(which func(d *datagram) bool) func(d *datagram) bool {
	seen := map[uint32]bool{}
	return dropping(func(d *datagram) bool {
		if !which(d) {
			return false
		}
		before := seen[d.CH.DestConnID]
		seen[d.CH.DestConnID] = true
		return before
	})
}

func sentVariants() []variant {
	acks := func(change func(d *datagram)) func() (in, out hook) { return saying(of(mr0.TypeACK, change)) }
	return []variant{
		{name: "sends ACKs with a wrong ICRC", fails: "packets/icrc-sent", hooks: acks(func(d *datagram) { d.wrong = 0x100 })},
		{name: "sends ACKs of a path beyond all", fails: "packets/well-formed", hooks: saying(func(d *datagram) bool {
			if d.CH.Type == mr0.TypeNAK {
				d.changed = true
				d.CH.Flags |= mr0.FlagIMM
			}
			return true
		})},
		{name: "sends ACKs ECN-capable", fails: "packets/ecn-sent", hooks: acks(func(d *datagram) { d.ecn = dissector.ECNECT0 })},
		{name: "sends reserved bits", fails: "packets/reserved-sent", hooks: acks(func(d *datagram) { d.ACKH.Reserved = 1 })},
		{name: "sends another partition key", fails: "packets/partition-sent", hooks: acks(func(d *datagram) { d.CH.PartitionKey = 0x7fff })},
		{name: "counts time in microseconds", fails: "packets/timestamps sender/timeout sender/hint-obeyed sender/nak-not-ready", config: func(c *softmetaroce.Config) {
			c.RTOMax *= 2 // which the suite does not recognise in microseconds
		}, hooks: func() (in, out hook) {
			// The last stamp of a path is kept, so that what comes back is exact.
			exact := map[uint32]uint32{}
			var last uint32
			out = filter(func(d *datagram) bool {
				if d.err == nil && d.CH.Type.Sequenced() {
					d.changed = true
					exact[d.DH.Timestamp/1000] = d.DH.Timestamp
					last = d.DH.Timestamp
					d.DH.Timestamp /= 1000
				}
				return true
			})
			return filter(of(mr0.TypeACK, func(d *datagram) {
				stamp, known := exact[d.ACKH.EchoTimestamp]
				switch later := d.ACKH.EchoTimestamp - last/1000; {
				case known:
				case later < 1<<31:
					stamp = last + 1 // of a packet that the suite makes up
				default:
					stamp = last - 30_000_000 // of a round trip that it makes up
				}
				d.ACKH.EchoTimestamp = stamp
			})), out
		}},
	}
}
