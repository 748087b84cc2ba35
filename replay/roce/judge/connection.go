package judge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// Agreement is what the connection manager said of one end of a connection. Unknown parts are zero with their flag
// unset.
type Agreement struct {
	QPN         uint32 // of the end itself
	StartingPSN uint32 // of its requests
	PathMTU     uint16 // bytes, 0: unknown
	// ReadDepth is how many READs and atomics it may have under way, which is what its peer accepts.
	ReadDepth                                                      uint8
	Retries                                                        uint8 // of its requests, 0 to 7
	RNRRetries                                                     uint8 // of its requests, 0 to 6; 7: for ever
	AckTimeout                                                     int64 // ns, 0: none
	Known                                                          bool
	RetriesKnown, RNRRetriesKnown, ReadDepthKnown, AckTimeoutKnown bool
}

// Connection is one connection as far as it was seen.
type Connection struct {
	id    finding.ConnectionID
	out   func(*finding.Finding)
	lanes [2]lane
	// dialogues[i] is what lane i asks for and lane 1-i answers.
	dialogues [2]dialogue
	tallies   [finding.RoCERuleCount]finding.Tally
	emitted   [finding.RoCERuleCount]uint8
	finding   finding.Finding // handed out, reused
	pairing   string
}

// maxEmitted is how many findings of a rule are handed out for one connection. All are counted.
const maxEmitted = 16

// lane is one direction: what one end sends.
type lane struct {
	seen     bool
	sender   finding.Endpoint
	protocol dissector.Protocol
	packets  uint64
	hasTime  bool
	// firstTime and lastTime are of packets that have a time.
	firstTime, lastTime int64
	lastSign            uint64 // number of the latest packet

	key        uint16 // partition key
	hasKey     bool
	port       uint16 // UDP source port of its data
	hasPort    bool
	portNumber uint64
	moved      bool // it left from another port
	icrcGood   uint64
	icrcBad    uint64
	badNumbers [4]uint64
	agreement  Agreement
}

// New is a connection of which nothing was seen. Findings are valid during the call of out only.
func New(id finding.ConnectionID, out func(*finding.Finding)) *Connection {
	c := &Connection{id: id, out: out}
	for i := range c.dialogues {
		c.dialogues[i].init(c, i)
	}
	return c
}

// Agree tells what the connection manager said of the end that sends on a lane.
func (c *Connection) Agree(i int, a *Agreement) {
	c.lanes[i].agreement = *a
	c.lanes[i].sender.QP, c.lanes[i].sender.HasQP = a.QPN, true
	c.dialogues[i].agree(a)
}

// Observe takes the next packet of a lane, 0 or 1. It keeps nothing of the sighting.
func (c *Connection) Observe(i int, s *finding.Sighting) {
	l := &c.lanes[i]
	var e event
	if s.Copy {
		return
	}
	if s.Err != nil && c.refused(i, s) {
		return
	}
	if !e.read(s) {
		return
	}
	c.meet(i, &e, s)
	if e.icrc == dissector.ICRCBad {
		c.damaged(l, &e)
		return // damaged on the way: no receiver takes it for what it says
	}
	if e.icrc == dissector.ICRCGood {
		l.icrcGood++
	}
	switch service := e.opcode.Service(); {
	case e.opcode.IsCNP():
		c.notified(i, &e)
	case service != infiniband.ServiceRC && service != infiniband.ServiceXRC:
	case e.opcode.IsRequest():
		c.single(i, &e)
		c.dialogues[i].request(&e)
	case e.opcode.IsResponse():
		c.single(i, &e)
		if e.opcode.IsReadResponse() {
			c.dialogues[i].notices.carried(&e)
		}
		c.dialogues[1-i].answer(&e)
	}
}

// meet notes who sends on a lane.
func (c *Connection) meet(i int, e *event, s *finding.Sighting) {
	l, other := &c.lanes[i], &c.lanes[1-i]
	p := e.packet
	if !l.seen {
		l.seen = true
		l.protocol = p.Protocol
		l.sender.Address, other.sender.Address = p.Ends()
		other.sender.QP, other.sender.HasQP = p.BTH.DestinationQP, true
		if other.seen && other.protocol != l.protocol {
			c.versions(i, e)
		}
	}
	if s.Pairing != "" {
		c.pairing = s.Pairing
	}
	l.packets++
	l.lastSign = e.number
	if e.hasTime {
		if !l.hasTime {
			l.hasTime, l.firstTime = true, e.time
		}
		l.lastTime = e.time
	}
}

// Join tells that the second direction is known only from here on: what it said before was not looked at.
func (c *Connection) Join() {
	for i := range c.dialogues {
		c.dialogues[i].join()
	}
}

// Close gives the verdicts that had to wait, and reports. The Connection is of no use after it.
func (c *Connection) Close(report *finding.Connection) {
	for i := range c.dialogues {
		c.dialogues[i].close()
	}
	for i := range c.lanes {
		c.closeICRC(i)
	}
	*report = finding.Connection{ID: c.id, Pairing: c.pairing, OneWay: !c.lanes[0].seen || !c.lanes[1].seen}
	first := 0
	if c.dialogues[1].sent > c.dialogues[0].sent {
		first = 1
	}
	for k := range report.Directions {
		c.report(&report.Directions[k], first^k)
	}
	report.Vantage = c.dialogues[first].vantage()
	report.Properties = c.properties(first)
	copy(report.Tallies[:], c.tallies[:])
}
