package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func disconnectScenarios() []Scenario {
	return []Scenario{
		{
			ID: "connecting/disconnect", Title: "answers DISCONNECT by DISCONNECT", Clause: clauseConnecting,
			Checks: "DISCONNECT on an open connection; the answer must name the target's own id, and a PROBE behind it must not be acknowledged",
			run:    connectingDisconnect,
		},
		{
			ID: "connecting/disconnect-repeated", Title: "answers a repeated DISCONNECT again", Clause: clauseConnecting,
			Checks: "DISCONNECT three times, as if the answer was lost; each must be answered",
			run:    connectingDisconnectRepeated,
		},
		{
			ID: "connecting/disconnect-stranger", Title: "ignores a DISCONNECT of another connection", Clause: "mr0, DISC.source_conn_id",
			Checks: "DISCONNECT with a source_conn_id that the peer did not choose; a PROBE must be acknowledged as before",
			run:    connectingStranger,
		},
		{
			ID: "connecting/unknown-connection", Title: "answers no packet of a connection that is not", Clause: "mr0, CH.dest_conn_id",
			Checks: "PROBE, ACK, NAK and DISCONNECT to an id that the target did not choose; nothing may come back",
			run:    connectingUnknown,
		},
	}
}

func connectingDisconnect(x *attempt) {
	c := x.connect()
	c.control()
	a := c.disconnect()
	switch {
	case a == nil:
		x.fail("DISCONNECT", "no answer to six", x.packets[len(x.packets)-1])
	case a.DISC.SourceConnID != c.peer.SourceConnID:
		x.fail(fmt.Sprintf("source_conn_id 0x%08x, which the CONN_REP named", c.peer.SourceConnID), fmt.Sprintf("0x%08x", a.DISC.SourceConnID), a)
	}
	a.note("answers the DISCONNECT")
	p := c.probe(0, flags(mr0.FlagAR))
	x.witness().control()
	if late := x.find(p, func(q *packet) bool { return c.isACK(q, 0) }); late != nil {
		x.fail("no ACK on a connection that has ended", late.text(), late)
	}
}

func connectingDisconnectRepeated(x *attempt) {
	c := x.connect()
	for i := range 3 {
		a := c.disconnect()
		if a == nil {
			x.fail("DISCONNECT", fmt.Sprintf("no answer when it came the %d. time", i+1), x.packets[len(x.packets)-1])
		}
		a.note("answers again")
	}
}

func connectingStranger(x *attempt) {
	c := x.connect()
	c.control()
	sent := x.send(c.farewell(func(o *outgoing) { o.DISC.SourceConnID ^= 0x10 }))
	x.send(c.farewell(func(o *outgoing) { o.DISC.SourceConnID ^= 0x10 }))
	for range 4 {
		p := c.probe(0, flags(mr0.FlagAR))
		if a := c.acked(p); a != nil {
			return
		}
	}
	x.fail("the connection lives on", "PROBEs are not acknowledged behind a DISCONNECT of another connection", sent)
}

func connectingUnknown(x *attempt) {
	c := x.connect()
	c.control()
	stranger := func(t mr0.Type) *outgoing {
		o := &outgoing{Packet: mr0.Packet{CH: c.header(t, 0)}}
		o.CH.DestConnID ^= 0x5a5a5a5a
		return o
	}
	first := x.packets[len(x.packets)-1]
	probe := stranger(mr0.TypeProbe)
	probe.CH.Flags, probe.CH.PSN = mr0.FlagFirst|mr0.FlagLast|mr0.FlagAR, c.paths[0].next
	bye := stranger(mr0.TypeDisconnect)
	bye.DISC.SourceConnID = c.local.SourceConnID
	for range 2 {
		for _, o := range []*outgoing{probe, stranger(mr0.TypeACK), stranger(mr0.TypeNAK), bye} {
			x.send(o)
		}
	}
	if p := c.quiet(first, func(p *packet) bool { return !c.isACK(p, controlPath) }); p != nil {
		x.fail("nothing", p.text(), p)
	}
}
