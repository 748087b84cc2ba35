//go:build !race

package compliance_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// senderVariants send wrongly, or do not listen to the receiver.
func senderVariants() []variant {
	deaf := func(change func(d *datagram)) func() (in, out hook) { return hearing(of(mr0.TypeACK, change)) }
	return []variant{
		{name: "answers READs by another read_id", fails: "sender/read", hooks: saying(of(mr0.TypeReadResp, func(d *datagram) { d.RSETH.ReadID++ }))},
		{name: "answers READs by other data", fails: "receiver/placement receiver/placement-any-order receiver/placement-as-it-lands receiver/placement-moved receiver/duplicate-not-placed receiver/immediate sender/read", hooks: saying(of(mr0.TypeReadResp, func(d *datagram) {
			if d.DH.MessageOffset == 0 && len(d.payload) > 100 {
				d.payload[100] ^= 1
			}
		}))},
		{name: "keeps the timestamp of what it sends again", fails: "sender/gap-rtx sender/gap-again sender/timeout sender/nak-not-ready", hooks: func() (in, out hook) {
			stamps := map[sequence]map[uint32]uint32{}
			hidden := map[uint32]uint32{} // by what is shown instead, so that its round trips stay right
			in = filter(of(mr0.TypeACK, func(d *datagram) {
				if stamp, known := hidden[d.ACKH.EchoTimestamp]; known {
					d.ACKH.EchoTimestamp = stamp
				}
			}))
			return in, filter(func(d *datagram) bool {
				if d.err != nil || !d.CH.Type.Sequenced() {
					return true
				}
				at := stamps[sequenceOf(d)]
				if at == nil {
					at = map[uint32]uint32{}
					stamps[sequenceOf(d)] = at
				}
				if before, again := at[d.CH.PSN]; again {
					hidden[before] = d.DH.Timestamp
					d.DH.Timestamp, d.changed = before, true
				}
				at[d.CH.PSN] = d.DH.Timestamp
				return true
			})
		}},
		{name: "does not look at ce_count", fails: "sender/ce-cut", hooks: deaf(func(d *datagram) { d.ACKH.CECount = 0 })},
		{name: "does not look at rate_hint", fails: "sender/hint-obeyed", hooks: deaf(func(d *datagram) { d.ACKH.RateHint = mr0.ACKHRateHintNoLimit })},
		{name: "believes ACKs of what it has not sent", fails: "sender/ack-unsent", hooks: believing},
		{name: "does not look at max_window", fails: "sender/window", hooks: hearing(of(mr0.TypeConnReq, func(d *datagram) {
			if d.CONN.MaxWindow <= 256 {
				d.CONN.MaxWindow = 256
			}
		}))},
		{name: "does not wait for who is not ready", fails: "sender/nak-not-ready", hooks: hearing(of(mr0.TypeNAK, func(d *datagram) { d.NAKH.RetryAfter /= 100 }))},
		{name: "does not listen to NAKs", fails: "sender/nak-not-ready sender/nak-access sender/nak-invalid sender/nak-operation sender/nak-stream sender/disconnect-repeated", hooks: hearing(dropping(func(d *datagram) bool { return d.CH.Type == mr0.TypeNAK }))},
		{name: "ends the connection for a stream", fails: "sender/nak-stream", hooks: hearing(of(mr0.TypeNAK, func(d *datagram) {
			if d.NAKH.Reason == mr0.NAKReasonStreamUnknown {
				d.NAKH.Reason = mr0.NAKReasonInvalidRequest
			}
		}))},
		{name: "ends connections as if all was well", fails: "sender/nak-access sender/nak-invalid sender/nak-operation", hooks: saying(of(mr0.TypeDisconnect, func(d *datagram) { d.DISC.Reason = mr0.DisconnectReasonNormal }))},
		{name: "sends DISCONNECT once", fails: "sender/disconnect-repeated", hooks: saying(once(func(d *datagram) bool {
			return d.CH.Type == mr0.TypeDisconnect && d.DISC.Reason == mr0.DisconnectReasonError
		}))},
		{name: "probes from the same port", fails: "sender/path-probed", hooks: func() (in, out hook) {
			ports := map[sequence]uint16{}
			return nil, filter(func(d *datagram) bool {
				if d.err == nil && d.CH.Type.Sequenced() {
					if _, known := ports[sequenceOf(d)]; !known {
						ports[sequenceOf(d)] = d.port
					}
					d.port = ports[sequenceOf(d)]
				}
				return true
			})
		}},
		{name: "gives up failed paths for ever", fails: "sender/path-restored", hooks: func() (in, out hook) {
			suite := map[uint32]uint32{} // by the target's id
			failed := map[sequence]bool{}
			out = filter(func(d *datagram) bool {
				if d.err == nil && d.CH.Type == mr0.TypeConnRep {
					suite[d.CONN.SourceConnID] = d.CH.DestConnID
				}
				if d.err == nil && d.CH.Type == mr0.TypeProbe {
					failed[sequenceOf(d)] = true
				}
				return true
			})
			return filter(dropping(func(d *datagram) bool {
				return d.CH.Type == mr0.TypeACK && failed[sequence{suite[d.CH.DestConnID], d.CH.PathID}]
			})), out
		}},
	}
}

// believing cuts ACKs of what was not sent to what was.
func believing() (in, out hook) {
	suite := map[uint32]uint32{} // by the target's id
	next := map[sequence]uint32{}
	out = filter(func(d *datagram) bool {
		switch {
		case d.err != nil:
		case d.CH.Type == mr0.TypeConnRep:
			suite[d.CONN.SourceConnID] = d.CH.DestConnID
		case d.CH.Type.Sequenced():
			if n, known := next[sequenceOf(d)]; !known || mr0.PSNBefore(n, d.CH.PSN+1) {
				next[sequenceOf(d)] = d.CH.PSN + 1
			}
		}
		return true
	})
	in = filter(of(mr0.TypeACK, func(d *datagram) {
		if n, known := next[sequence{suite[d.CH.DestConnID], d.CH.PathID}]; known && mr0.PSNBefore(n, d.ACKH.CumulativePSN) {
			d.ACKH.CumulativePSN = n
		}
	}))
	return in, out
}

// configuredVariants are wrong by their configuration.
func configuredVariants() []variant {
	return []variant{
		{name: "cuts its window by a tenth", fails: "sender/ce-cut sender/loss-cut", config: func(c *softmetaroce.Config) { c.MultiplicativeDecrease = 0.9 }},
		{name: "adds six packets in a round trip", fails: "sender/additive-increase", config: func(c *softmetaroce.Config) { c.AdditiveIncrease = 6 }}, // few, lest the window is at its end before the suite looks
		{name: "never gives up a path", fails: "sender/path-failed sender/path-probed", config: func(c *softmetaroce.Config) { c.PathFailedAfter = 1000 }},
		{name: "does not double its timeout", fails: "sender/timeout-doubles", config: func(c *softmetaroce.Config) { c.RTOMax, c.RTOMin = 60*time.Millisecond, 60*time.Millisecond }},
		{name: "acknowledges when it is asked", fails: "receiver/ack-timer receiver/ack-coalesced", config: func(c *softmetaroce.Config) { c.ACKTimer, c.ACKEvery = time.Minute, 1<<20 }},
		// It must not end while the suite waits for a timer that doubles, up to 200 ms.
		{name: "ends what is idle", fails: "life/idle", patience: 600 * time.Millisecond, config: func(c *softmetaroce.Config) { c.IdleAfter = 400 * time.Millisecond }},
	}
}
