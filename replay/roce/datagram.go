package roce

import (
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
)

// Datagram is one Ethernet frame with a RoCEv2 packet, in or out. On the way in only Frame is read: addresses, ports
// and marks are those of its headers, which the ICRC covers.
type Datagram struct {
	Source, Destination netip.AddrPort
	ECN                 dissector.ECN
	Frame               []byte // from the Ethernet header to the ICRC, without FCS
}

// Verdict is what an endpoint thought of a datagram.
type Verdict uint8

// Verdicts.
const (
	VerdictAccepted   Verdict = iota
	VerdictDuplicate          // a request that came before: answered again, not executed again
	VerdictOutOfOrder         // a request behind a gap: dropped, or kept by a selective receiver
	VerdictRefused            // a request answered by a NAK that ends the connection, or by RNR NAK
	VerdictStale              // a response that a later one has overtaken
	VerdictGap                // a response behind a missing READ response or atomic ACK: an implied NAK
	VerdictIgnored            // the QP is in error, or the request is a duplicate that can no longer be answered
	VerdictNotRoCE            // something else
	VerdictMalformed          // headers or lengths contradict the protocol
	VerdictICRC               // the ICRC is wrong
	VerdictUnknown            // no QP has this number, peer or service
	VerdictPartition          // another partition's
	VerdictInvalid            // answers what was never asked
	verdictCount
)

var verdictNames = [verdictCount]string{
	"accepted", "duplicate", "out of order", "refused", "stale", "gap", "ignored", "not RoCEv2", "malformed", "ICRC wrong",
	"unknown QP", "other partition", "invalid",
}

// String is a phrase for people.
func (v Verdict) String() string {
	if v < verdictCount {
		return verdictNames[v]
	}
	return "unknown"
}
