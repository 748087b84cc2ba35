package finding

// Vantage is where on the path of a connection the capture was made.
type Vantage uint8

// Vantages.
const (
	VantageUnknown       Vantage = iota
	VantageNearRequester         // near the end that sends most of the requests
	VantageMiddle
	VantageNearResponder
)

// String is a phrase, as in every output.
func (v Vantage) String() string {
	switch v {
	case VantageNearRequester:
		return "near the requester"
	case VantageMiddle:
		return "between the two"
	case VantageNearResponder:
		return "near the responder"
	case VantageUnknown:
	}
	return "unknown"
}

// Losses counts packets that did not reach their destination, or not the capture, by where that happened.
type Losses struct {
	Before  uint64 // between sender and vantage point: a gap that the receiver complained of, too
	After   uint64 // between vantage point and receiver: seen here, complained of there
	Unknown uint64 // resent, but nothing tells why
	Capture uint64 // not lost: the receiver had them, the capture has not
}

// RoundTrip is a round-trip time in ns, split at the vantage point.
type RoundTrip struct {
	Known              bool
	Samples            uint64
	Minimum, Mean, Max int64
}

// Wait is how long a sender stood still for one reason, all times together.
type Wait struct {
	Times uint64
	NS    int64
}

// Waits divides the time of a sender: what it spent waiting for its retransmission timer to run out or for the time that an
// RNR NAK asked for, and the rest, in which it sent, waited for answers, or had nothing to send.
type Waits struct {
	Known   bool
	Lasting int64 // ns from its first to its last packet
	Timer   Wait
	RNR     Wait
}

// Direction is what replay found about one direction of a connection: of the data that one end sends and of the
// answers that it gets for them.
type Direction struct {
	Sender  Endpoint
	Packets uint64
	// Missed is the share of the sender's packets that the capture did not see, 0 to 1, as far as it is known.
	Missed      float64
	MissedKnown bool
	Losses      Losses
	ToReceiver  RoundTrip // from the vantage point to the receiver and back: data seen, answer seen
	ToSender    RoundTrip // from the vantage point to the sender and back: a NAK seen, its retransmission seen
	Waits       Waits     // of RoCE requesters
}

// Connection is what replay found about one connection.
type Connection struct {
	ID         ConnectionID
	MetaRoCE   bool
	Directions [2]Direction // the one with more requests first
	OneWay     bool         // the capture has one direction only
	Pairing    string       // how the two directions were found to belong together
	Vantage    Vantage
	Properties []Property
	Tallies    [RuleCount]Tally
}

// Property is a trait of an implementation that is no fault: a vendor's choice, or a measured setting.
type Property struct {
	Name  string // such as "retransmission" or "cnp_interval"
	Value string
}

// Together is properties by name. What both ends have is in one value, the end that asks for more first.
func Together(list []Property) map[string]string {
	out := make(map[string]string, len(list))
	for _, p := range list {
		if both, ok := out[p.Name]; ok {
			p.Value = both + "; " + p.Value
		}
		out[p.Name] = p.Value
	}
	return out
}

// Verdict is the worst verdict of any rule: diverges, else undetermined, else conforms.
func (c *Connection) Verdict() Verdict {
	worst := Conforms
	for i := range c.Tallies {
		switch {
		case c.Tallies[i].Diverges != 0:
			return Diverges
		case c.Tallies[i].Undetermined != 0:
			worst = Undetermined
		}
	}
	return worst
}
