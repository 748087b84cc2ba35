package metaroce

import (
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
)

// Datagram is one UDP datagram of an endpoint, in or out.
type Datagram struct {
	Source      netip.AddrPort // on the way out: the socket that it leaves from
	Destination netip.AddrPort
	ECN         dissector.ECN // of the IP header: set it on the way out, tell what was read on the way in
	Plane       uint8         // plane that it leaves on; not looked at on the way in
	Payload     []byte        // UDP payload from the common header to the ICRC
}

// Verdict is what an endpoint thought of a datagram.
type Verdict uint8

// Verdicts.
const (
	VerdictAccepted     Verdict = iota
	VerdictDuplicate            // a psn that has arrived before: acknowledged, not placed again
	VerdictRefused              // answered by a NAK or a CONN_REJ
	VerdictLate                 // an ACK that a later one has overtaken: what it acknowledges counts, nothing else
	VerdictNotMetaRoCE          // fails version, type or length checks and the ICRC
	VerdictMalformed            // contradicts the profile
	VerdictICRC                 // corrupted
	VerdictUnknown              // no connection has this id, or not in this state
	VerdictPartition            // another partition's
	VerdictBeyondWindow         // a psn beyond cumulative_psn + 256
	VerdictInvalid              // acknowledges or refuses what was never sent, or names a path that is not there
	VerdictNoRoom               // a limit of this endpoint: dropped as if it had been lost
	verdictCount
)

var verdictNames = [verdictCount]string{
	"accepted", "duplicate", "refused", "late", "not MetaRoCE", "malformed", "ICRC wrong", "unknown connection",
	"other partition", "beyond window", "invalid", "no room",
}

// String is a phrase for people.
func (v Verdict) String() string {
	if v < verdictCount {
		return verdictNames[v]
	}
	return "unknown"
}

// ipUDPBytes is what IP and UDP add to a UDP payload: rates are those of IP packets.
func ipUDPBytes(a netip.Addr) int {
	if a.Is4() || a.Is4In6() {
		return 20 + 8
	}
	return 40 + 8
}
