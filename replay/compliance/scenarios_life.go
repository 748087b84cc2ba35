package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func lifeScenarios() []Scenario {
	return []Scenario{
		{
			ID: "life/idle", Title: "keeps a connection on which nothing happens", Clause: "mr0, Connecting: DISCONNECT ends the connection",
			Checks: "a connection without a packet for as long as many timeouts; a PROBE must be acknowledged then, and no DISCONNECT come",
			run:    lifeIdle,
		},
		{
			ID: "life/reconnect", Title: "takes a new connection of a peer that has hung up", Clause: clauseConnecting,
			Checks: "a connection that is ended, and a CONN_REQ with the same source_conn_id and another nonce; it must get a connection that begins anew",
			run:    lifeReconnect,
		},
		{
			ID: "life/huge-message", Title: "outlives the announcement of a huge message", Clause: "mr0, DH.message_length",
			Checks: "first packets of 16 WRITEs of 4 GiB - 1 on as many streams; PROBEs must be acknowledged as before",
			run:    lifeHugeMessage,
		},
		{
			ID: "life/flood-probes", Title: "outlives a flood of packets, and answers no more than it gets", Clause: "mr0, Receiver",
			Checks: "4000 PROBEs without a pause; there may be no more ACKs than PROBEs, and the next ones must be acknowledged",
			run:    lifeFloodProbes,
		},
		{
			ID: "life/flood-requests", Title: "outlives a flood of requests", Clause: clauseConnecting,
			Checks: "40 CONN_REQs without a pause, and two ends of each; each may be answered once a request, and a connection of before must live on",
			run:    lifeFloodRequests,
		},
		{
			ID: "life/flood-strangers", Title: "outlives a flood of packets of no connection", Clause: "mr0, CH.dest_conn_id",
			Checks: "2000 ACKs, NAKs, PROBEs and DISCONNECTs to ids that are not; nothing may come back, and a connection of before must live on",
			run:    lifeFloodStrangers,
		},
	}
}

func lifeIdle(x *attempt) {
	c := x.connect()
	c.control()
	mark := x.packets[len(x.packets)-1]
	if d := x.await(mark, x.timeout(), c.isDisconnect); d != nil {
		x.fail("no DISCONNECT of a connection that is idle", d.text(), d)
	}
	first := c.paths[0].next
	expectState(x, c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR"), first, 1)
}

func lifeReconnect(x *attempt) {
	c := x.connect()
	c.control()
	c.disconnect()
	again := x.connect(func(l *mr0.CONN) { l.SourceConnID = c.local.SourceConnID })
	p := again.probe(0, flags(mr0.FlagAR))
	a := again.mustACK(p, "AR")
	if a.ACKH.CumulativePSN != p.CH.PSN+1 || a.ACKH.PacketCount != 1 {
		x.fail(fmt.Sprintf("cumulative_psn %d, packet_count 1", p.CH.PSN+1), fmt.Sprintf("%d, %d", a.ACKH.CumulativePSN, a.ACKH.PacketCount), a)
	}
}

func lifeHugeMessage(x *attempt) {
	c := x.withMemory()
	for i := range 16 {
		o := c.writes(0, uint16(1+i), 0, 0, pattern(c.mtu, 1))[0]
		o.DH.MessageLength = 1<<32 - 1
		o.CH.Flags &^= mr0.FlagLast
		c.send(o, flags(mr0.FlagAR))
	}
	c.control()
}

func lifeFloodProbes(x *attempt) {
	c := x.connect()
	c.control()
	const count = 4000
	mark := x.packets[len(x.packets)-1]
	for range count {
		c.probe(0)
	}
	x.calm(x.timeout()/10, 4*x.timeout())
	acks := 0
	for _, p := range x.packets[mark.index+1:] {
		if !p.sent && c.isACK(p, 0) {
			acks++
		}
	}
	if acks > count {
		x.fail(fmt.Sprintf("at most %d ACKs", count), number(acks), x.packets[len(x.packets)-1])
	}
	c.control()
}

func lifeFloodRequests(x *attempt) {
	before := x.connect()
	before.control()
	const count = 40
	var all []*conn
	mark := x.packets[len(x.packets)-1]
	for range count {
		c := x.newConn()
		all = append(all, c)
		x.send(c.request())
	}
	x.calm(x.lull(), 4*x.timeout())
	for _, c := range all {
		answers := 0
		for p := x.find(mark, c.answered); p != nil; p = x.find(p, c.answered) {
			if answers++; answers > 1 {
				x.sign("a CONN_REQ or its answer may have been doubled")
				x.fail("one answer to a CONN_REQ", "two", p)
			}
			if p.is(mr0.TypeConnRep) {
				c.opened(p)
			}
		}
		if c.reply != nil {
			x.send(c.farewell())
			x.send(c.farewell())
		}
	}
	before.control()
}

func lifeFloodStrangers(x *attempt) {
	c := x.connect()
	c.control()
	mark := x.packets[len(x.packets)-1]
	for i := range 2000 {
		kind := []mr0.Type{mr0.TypeACK, mr0.TypeNAK, mr0.TypeProbe, mr0.TypeDisconnect}[i%4]
		o := &outgoing{Packet: mr0.Packet{CH: c.header(kind, 0)}, sender: i % ownPaths}
		o.CH.DestConnID = x.lab.random.Uint32() &^ 0xf
		if o.CH.DestConnID == c.peer.SourceConnID {
			continue
		}
		if kind == mr0.TypeProbe {
			o.CH.Flags = mr0.FlagFirst | mr0.FlagLast | mr0.FlagAR
		}
		o.DISC.SourceConnID = c.local.SourceConnID
		x.send(o)
	}
	if p := c.quiet(mark, func(q *packet) bool { return !c.isACK(q, controlPath) }); p != nil {
		x.fail("nothing", p.text(), p)
	}
}
