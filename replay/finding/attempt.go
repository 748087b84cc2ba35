package finding

import "github.com/rocelens/rocelens/dissector"

// Attempt is an attempt to set a connection up that came to nothing (IBTA volume 1, section 12.9).
type Attempt struct {
	From, To        dissector.Address
	CommunicationID uint32 // that its REQ names
	Service         string // what the connection was for
	Tries           uint32 // times that the REQ was seen
	First, Last     uint64 // numbers of the packets that belong to it
	Rejected        bool   // a REJ answered it; otherwise nothing was seen that did
	Reason          string // of the REJ
}
