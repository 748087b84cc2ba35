package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

const (
	typeConnRep = mr0.TypeConnRep
	typeACK     = mr0.TypeACK
	typeNAK     = mr0.TypeNAK
)

const clauseConnecting = "mr0, Connecting [P]"

func handshakeScenarios() []Scenario {
	return []Scenario{
		{
			ID: "connecting/reply", Title: "answers a CONN_REQ by CONN_REP with the nonce", Clause: clauseConnecting,
			Checks: "a CONN_REQ; the CONN_REP must go to the id that it names, echo its nonce, and have path_count, plane_count, mtu and max_window within their ranges",
			run:    connectingReply,
		},
		{
			ID: "connecting/request-repeated", Title: "answers a repeated CONN_REQ by the same CONN_REP", Clause: clauseConnecting,
			Checks: "the same CONN_REQ three times, as if the CONN_REP was lost; each answer must name the same connection and the same first psn",
			run:    connectingRepeated,
		},
		{
			ID: "connecting/request-late", Title: "keeps an open connection when its CONN_REQ comes again", Clause: clauseConnecting,
			Checks: "a copy of the CONN_REQ after PROBEs were acknowledged; the next PROBE must be acknowledged where the path stood",
			run:    connectingLate,
		},
		{
			ID: "connecting/requests-distinct", Title: "takes requests with another nonce or another id for others", Clause: clauseConnecting,
			Checks: "two CONN_REQs that differ in the nonce alone, and one that differs in the id alone; each must get an id of its own and its own nonce",
			run:    connectingDistinct,
		},
		{
			ID: "connecting/many", Title: "keeps several connections apart", Clause: clauseConnecting,
			Checks: "16 connections at once; each must have an id of its own, and acknowledge its own PROBE",
			run:    connectingMany,
		},
		{
			ID: "connecting/partition", Title: "rejects a request of another partition", Clause: "mr0, CONN_REJ reason 4 [P]",
			Checks: "a CONN_REQ with another partition key; the answer must be CONN_REJ, reason partition, with the nonce",
			run:    connectingPartition,
		},
		{
			ID: "connecting/dest-conn-id", Title: "takes no CONN_REQ that names a connection", Clause: "mr0, CH.dest_conn_id: in CONN_REQ 0",
			Checks: "a CONN_REQ with dest_conn_id 1; there must be no CONN_REP",
			run: func(x *attempt) {
				refused(x, "dest_conn_id 1", func(*mr0.CONN) {}, func(o *outgoing) { o.CH.DestConnID = 1 })
			},
		},
		{
			ID: "connecting/unasked-answers", Title: "ignores CONN_REP and CONN_REJ that it has not asked for", Clause: clauseConnecting,
			Checks: "a CONN_REP and a CONN_REJ on an open connection, with the right and with a wrong nonce; PROBEs must be acknowledged as before",
			run:    connectingUnasked,
		},
		{
			ID: "connecting/initial-psn", Title: "begins path i at initial_psn + i·2^20", Clause: "mr0, Packets [P]",
			Checks: "a PROBE on each path at its first psn must be acknowledged as the first; each path of a long READ_RESP must begin at its own",
			run:    connectingInitialPSN,
		},
		{
			ID: "connecting/mtu-smaller", Title: "uses the smaller of both MTUs", Clause: clauseConnecting,
			Checks: "a connection with MTU 512 and a READ of 4 KiB; all packets of the answer but the last must carry 512 bytes",
			run:    connectingSmallerMTU,
		},
	}
}

func connectingReply(x *attempt) {
	c := x.newConn()
	p := c.knock()
	switch {
	case p == nil:
		x.fail("CONN_REP or CONN_REJ", "no answer to six CONN_REQs", x.packets[0])
	case p.is(mr0.TypeConnRej):
		x.undetermined("the target rejects connections: %s", p.REJ.Reason)
	case p.CONN.Nonce != c.local.Nonce:
		x.fail(fmt.Sprintf("nonce %016x", c.local.Nonce), fmt.Sprintf("nonce %016x", p.CONN.Nonce), p)
	case p.CONN.SourceConnID == 0:
		x.fail("a connection id", "id 0, which names none", p)
	case p.Fault.Reason != 0:
		x.fail("fields within their ranges", mr0.Profile.Explain(p.Fault), p)
	}
	p.note("echoes the nonce, and all fields are within their ranges")
	c.opened(p)
	c.control()
}

func connectingRepeated(x *attempt) {
	c := x.newConn()
	first := c.knock()
	if first == nil || !first.is(mr0.TypeConnRep) {
		x.undetermined("there was no CONN_REP")
	}
	c.opened(first)
	for range 2 {
		again := c.knock()
		switch {
		case again == nil:
			x.fail("CONN_REP again", "no answer to a CONN_REQ that came again", x.packets[len(x.packets)-1])
		case !again.is(mr0.TypeConnRep):
			x.fail("CONN_REP again", again.text(), again)
		case again.CONN != first.CONN:
			x.fail("the same CONN_REP: id "+fmt.Sprintf("0x%08x, first psn %d", first.CONN.SourceConnID, first.CONN.InitialPSN),
				fmt.Sprintf("id 0x%08x, first psn %d", again.CONN.SourceConnID, again.CONN.InitialPSN), again)
		}
		again.note("the same answer as before")
	}
	c.control()
}

func connectingLate(x *attempt) {
	c := x.connect()
	for range 3 {
		c.deliver(&outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, Flags: mr0.FlagFirst | mr0.FlagLast}}})
	}
	if again := c.knock(); again != nil && again.is(mr0.TypeConnRep) && again.CONN != c.peer {
		x.fail("the CONN_REP of the open connection", again.text(), again)
	}
	p := c.probe(0, flags(mr0.FlagAR))
	a := c.mustACK(p, "AR")
	if a.ACKH.CumulativePSN != p.CH.PSN+1 {
		x.fail(fmt.Sprintf("cumulative_psn %d", p.CH.PSN+1), number(a.ACKH.CumulativePSN), a)
	}
}

func connectingDistinct(x *attempt) {
	first := x.connect()
	ids := map[uint32]string{first.peer.SourceConnID: "the first"}
	for name, change := range map[string]func(c *mr0.CONN){
		"another nonce": func(c *mr0.CONN) { *c = first.local; c.Nonce++ },
		"another id":    func(c *mr0.CONN) { id := c.SourceConnID; *c = first.local; c.SourceConnID = id },
	} {
		c := x.newConn(change)
		x.connections[first.local.SourceConnID] = first
		x.requests++
		var p *packet
		for range 6 {
			sent := x.send(c.request())
			if p = x.await(sent, x.timeout()/2, c.answered); p != nil {
				break
			}
		}
		switch {
		case p == nil || !p.is(mr0.TypeConnRep):
			x.fail("CONN_REP to a request with "+name, "none", x.packets[len(x.packets)-1])
		case p.CONN.Nonce != c.local.Nonce:
			x.fail(fmt.Sprintf("nonce %016x", c.local.Nonce), fmt.Sprintf("nonce %016x", p.CONN.Nonce), p)
		case ids[p.CONN.SourceConnID] != "":
			x.fail("an id of its own for the request with "+name, fmt.Sprintf("0x%08x, which is that of %s", p.CONN.SourceConnID, ids[p.CONN.SourceConnID]), p)
		}
		ids[p.CONN.SourceConnID] = "the one with " + name
		goodbye := &outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect, DestConnID: p.CONN.SourceConnID, PartitionKey: x.lab.config.PartitionKey}, DISC: mr0.DISC{SourceConnID: c.local.SourceConnID}}}
		x.send(goodbye)
	}
}

func connectingMany(x *attempt) {
	const count = 16
	byID := map[uint32]*conn{}
	for range count {
		c := x.connect(func(c *mr0.CONN) { c.PathCount = ownPaths })
		if byID[c.peer.SourceConnID] != nil {
			x.fail("an id of its own for each connection", fmt.Sprintf("0x%08x twice", c.peer.SourceConnID), c.reply)
		}
		byID[c.peer.SourceConnID] = c
	}
	for _, c := range byID {
		p := c.probe(0, flags(mr0.FlagAR))
		a := c.mustACK(p, "AR")
		if a.ACKH.CumulativePSN != p.CH.PSN+1 || a.ACKH.PacketCount != 1 {
			x.fail(fmt.Sprintf("cumulative_psn %d, one packet", p.CH.PSN+1), fmt.Sprintf("%d, %s", a.ACKH.CumulativePSN, plural(int(a.ACKH.PacketCount), "packet")), a)
		}
	}
}

func connectingPartition(x *attempt) {
	c := x.newConn()
	other := (x.lab.config.PartitionKey ^ 0x1234) | 0x8000
	var p *packet
	var sent *packet
	for range 6 {
		sent = x.send(c.request(func(o *outgoing) { o.CH.PartitionKey = other }))
		if p = x.await(sent, x.timeout()/2, c.answered); p != nil {
			break
		}
	}
	switch {
	case p == nil:
		x.fail("CONN_REJ, reason partition", "no answer to six CONN_REQs", sent)
	case p.is(mr0.TypeConnRep):
		x.fail("CONN_REJ, reason partition", "CONN_REP to partition key "+fmt.Sprintf("0x%04x", other), p)
	case p.REJ.Nonce != c.local.Nonce:
		x.fail(fmt.Sprintf("nonce %016x", c.local.Nonce), fmt.Sprintf("nonce %016x", p.REJ.Nonce), p)
	case p.REJ.Reason != mr0.RejectReasonPartition:
		x.fail("reason partition", p.REJ.Reason.String(), p)
	}
	p.note("rejects the other partition, with the nonce")
}

func connectingUnasked(x *attempt) {
	c := x.connect()
	for _, nonce := range []uint64{c.local.Nonce, c.local.Nonce + 1} {
		rep := c.header(mr0.TypeConnRep, 0)
		conn := c.local
		conn.Nonce, conn.InitialPSN = nonce, c.local.InitialPSN+500
		x.send(&outgoing{Packet: mr0.Packet{CH: rep, CONN: conn}})
		x.send(&outgoing{Packet: mr0.Packet{CH: c.header(mr0.TypeConnRej, 0), REJ: mr0.REJ{Reason: mr0.RejectReasonBusy, Nonce: nonce}}})
	}
	for path := range 2 {
		p := c.probe(path, flags(mr0.FlagAR))
		a := c.mustACK(p, "the connection lives on")
		if a.ACKH.CumulativePSN != p.CH.PSN+1 {
			x.fail(fmt.Sprintf("cumulative_psn %d", p.CH.PSN+1), number(a.ACKH.CumulativePSN), a)
		}
	}
}

func connectingInitialPSN(x *attempt) {
	c := x.withMemory()
	for path := range controlPath {
		p := c.probe(path, flags(mr0.FlagAR))
		a := c.mustACK(p, "AR")
		if a.ACKH.CumulativePSN != p.CH.PSN+1 {
			x.fail(fmt.Sprintf("cumulative_psn %d on path %d, whose first psn is %d", p.CH.PSN+1, path, p.CH.PSN), number(a.ACKH.CumulativePSN), a)
		}
	}
	c.read(1, 0, 64*c.mtu)
	for path, l := range c.inbound {
		if len(l.order) > 0 && l.cumulative == l.first {
			x.fail(fmt.Sprintf("psn %d first on path %d", l.first, path), fmt.Sprintf("psn %d", l.order[0].CH.PSN), l.order[0])
		}
	}
}

func connectingSmallerMTU(x *attempt) {
	c := x.withMemory(func(c *mr0.CONN) { c.MTU = 512 })
	c.read(1, 0, 4096)
	for _, p := range x.packets {
		if p.sent || !p.is(mr0.TypeReadResp) {
			continue
		}
		if want := min(c.mtu, int(p.DH.MessageLength-p.DH.MessageOffset)); int(p.CH.PayloadLength) != want {
			x.fail(plural(want, "byte")+" of payload", plural(int(p.CH.PayloadLength), "byte"), p)
		}
	}
}
