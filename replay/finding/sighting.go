package finding

import "github.com/rocelens/rocelens/dissector"

// Sighting is one packet as the capture showed it, with what is known of it elsewhere.
type Sighting struct {
	Packet *dissector.Packet
	Err    error // Decode's answer
	ICRC   dissector.ICRCState
	Copy   bool   // a mirror made it of a packet that was seen before: it is no packet of the connection
	Flow   uint64 // the direction of the connection that the packet belongs to; 0: none
	// Partner is the opposite direction's flow, as far as is known when the packet is seen; 0: unknown.
	Partner uint64
	Pairing string // how that was found
}
