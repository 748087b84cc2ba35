package judge

import (
	"fmt"
	"strconv"

	"github.com/rocelens/rocelens/replay/finding"
)

// Close reaches the last verdicts and fills the report. The connection is not to be used after it.
func (c *Connection) Close(report *finding.Connection) {
	c.conclude()
	for i := range c.lanes {
		l := &c.lanes[i]
		c.concludePackets(l)
		c.concludeSetUp(l)
		c.concludePaths(l)
	}
	report.ID, report.MetaRoCE = c.id, true
	report.OneWay = c.lanes[0].packets == 0 || c.lanes[1].packets == 0
	for i := range c.tallies {
		report.Tallies[finding.RoCERuleCount+i] = c.tallies[i]
	}
	requester := &c.lanes[0]
	if c.lanes[1].requests > requester.requests {
		requester = &c.lanes[1]
	}
	responder := &c.lanes[1-requester.index]
	report.Directions = [2]finding.Direction{c.direction(requester), c.direction(responder)}
	report.Vantage = c.vantage(requester)
	report.Properties = append(report.Properties, c.properties(requester)...)
}

// direction sums up one lane.
func (c *Connection) direction(l *lane) finding.Direction {
	d := finding.Direction{
		Sender: l.end, Packets: l.packets, ToReceiver: l.toReceiver.result(), ToSender: l.toSender.result(),
		Losses: finding.Losses{Before: l.before, After: l.after, Capture: l.missed, Unknown: l.resent},
	}
	if other := &c.lanes[1-l.index]; !d.ToSender.Known && other.toReceiver.samples > 0 {
		d.ToSender = other.toReceiver.result() // its own answers tell as well
	}
	if l.covered > 0 {
		d.Missed, d.MissedKnown = float64(l.missed)/float64(l.covered), true
	}
	return d
}

// vantage compares the ways from the capture to both ends.
func (c *Connection) vantage(l *lane) finding.Vantage {
	d := c.direction(l)
	there := d.ToReceiver
	back := d.ToSender.Minimum
	known := d.ToSender.Known
	if !known && l.replied {
		back, known = l.reply, true
	}
	if !there.Known || !known {
		return finding.VantageUnknown
	}
	switch whole := there.Minimum + back; {
	case whole <= 0:
		return finding.VantageUnknown
	case 4*back <= whole:
		return finding.VantageNearRequester
	case 4*there.Minimum <= whole:
		return finding.VantageNearResponder
	case !d.ToSender.Known: // the application may have let the network wait for its first packet
		return finding.VantageUnknown
	}
	return finding.VantageMiddle
}

// properties are traits that are no faults.
func (c *Connection) properties(l *lane) []finding.Property {
	var list []finding.Property
	used, repaths := 0, uint64(0)
	for _, p := range l.paths {
		if p != nil && p.begun {
			used++
			if p.repaths > 1 {
				repaths += p.repaths - 1
			}
		}
	}
	if used > 0 {
		list = append(list, finding.Property{Name: "paths", Value: strconv.Itoa(used)}, finding.Property{Name: "repaths", Value: strconv.FormatUint(repaths, 10)})
	}
	if l.messages.cut > 0 {
		list = append(list, finding.Property{Name: "mtu", Value: fmt.Sprintf("%d bytes", l.messages.cut)})
	}
	return list
}

// concludePaths judges at the end whether all paths were used: bytes on a path that is broken before the capture would
// be amiss, or come again elsewhere.
func (c *Connection) concludePaths(l *lane) {
	if !l.hasConn || l.conn.PathCount < 2 {
		return
	}
	t := &l.messages
	for i := range t.sets {
		for j := range t.sets[i] {
			t.leave(&t.sets[i][j])
		}
	}
	const enough = 32
	if t.whole < enough*uint64(l.conn.PathCount) {
		return
	}
	for id := range l.conn.PathCount {
		if int(id) < len(l.paths) && l.paths[id] != nil && l.paths[id].begun {
			c.conforms(finding.MetaRoCEPathUnused)
			continue
		}
		if t.holes > 4 || l.strays > 0 {
			c.tallies[index(finding.MetaRoCEPathUnused)].Add(finding.Undetermined)
			continue
		}
		if f := c.found(finding.MetaRoCEPathUnused, finding.Diverges, l, int(id), nil); f != nil {
			prove(f, l.setup.number)
			f.Expected, f.Seen = "packets on each path", "none on this one"
			f.Sentence = fmt.Sprintf("Path %d of %d was never used, while %d packets of whole messages passed on others.", id, l.conn.PathCount, t.whole)
			c.out(f)
		}
	}
}
