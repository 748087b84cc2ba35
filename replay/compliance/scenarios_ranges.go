package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

const clauseRanges = "mr0, Packets: CONN's fields out of their ranges"

func rangeScenarios() []Scenario {
	return []Scenario{
		{
			ID: "connecting/path-count", Title: "takes 1 to 128 paths, and no other number", Clause: clauseRanges,
			Checks: "CONN_REQs with path_count 1 and 128 must get CONN_REP; with 0, 129 and 255 they must not",
			run: func(x *attempt) {
				ranged(x, "path_count", []int{1, 128}, []int{0, 129, 255}, func(c *mr0.CONN, v int) { c.PathCount = uint8(v) })
			},
		},
		{
			ID: "connecting/plane-count", Title: "takes 1 to 255 planes, and not none", Clause: clauseRanges,
			Checks: "CONN_REQs with plane_count 1, 2 and 255 must get CONN_REP; with 0 it must not",
			run: func(x *attempt) {
				ranged(x, "plane_count", []int{1, 2, 255}, []int{0}, func(c *mr0.CONN, v int) { c.PlaneCount = uint8(v) })
			},
		},
		{
			ID: "connecting/mtu", Title: "takes the MTUs of the profile, and no other", Clause: clauseRanges,
			Checks: "CONN_REQs with each MTU from 256 to 8192 must get CONN_REP, or CONN_REJ with reason mtu; with 0, 128, 255, 257, 1000, 9000, 16384 and 65535 they must not get CONN_REP",
			run: func(x *attempt) {
				ranged(x, "mtu", []int{256, 512, 1024, 2048, 4096, 8192}, []int{0, 128, 255, 257, 1000, 9000, 16384, 65535}, func(c *mr0.CONN, v int) { c.MTU = uint16(v) })
			},
		},
		{
			ID: "connecting/max-window", Title: "takes windows up to 256, and none above", Clause: clauseRanges,
			Checks: "CONN_REQs with max_window 1, 16 and 256 must get CONN_REP; with 257, 512 and 65535 they must not",
			run: func(x *attempt) {
				ranged(x, "max_window", []int{1, 16, 256}, []int{257, 512, 65535}, func(c *mr0.CONN, v int) { c.MaxWindow = uint16(v) })
			},
		},
		{
			ID: "connecting/any-values", Title: "takes any value of the fields that have no range", Clause: "mr0, CONN",
			Checks: "CONN_REQs with the least and greatest source_conn_id, link_rate, initial_psn, stream_count and nonce must get CONN_REP",
			run:    connectingAnyValues,
		},
		{
			ID: "connecting/version", Title: "takes no CONN_REQ of another version", Clause: "mr0, CH.version; CONN_REJ reason 2 [P]",
			Checks: "CONN_REQs of versions 1 to 15; none may get CONN_REP, and CONN_REJ only with reason version",
			run:    connectingVersion,
		},
	}
}

// ranged tries values of a field that must and that must not be taken.
func ranged(x *attempt, field string, good, bad []int, set func(c *mr0.CONN, v int)) {
	for _, v := range good {
		c := x.newConn(func(c *mr0.CONN) { set(c, v) })
		taken(x, c, fmt.Sprintf("%s %d", field, v))
	}
	for _, v := range bad {
		refused(x, fmt.Sprintf("%s %d", field, v), func(c *mr0.CONN) { set(c, v) })
	}
}

// taken fails when a request that is within the ranges gets no CONN_REP, unless the target says that it cannot.
func taken(x *attempt, c *conn, what string) {
	end := x.lab.now() + 12*x.timeout()
	for {
		p := c.knock()
		switch {
		case p == nil:
			x.fail("CONN_REP or CONN_REJ to a CONN_REQ with "+what, "no answer to six", x.packets[len(x.packets)-1])
		case p.is(mr0.TypeConnRej) && p.REJ.Reason == mr0.RejectReasonMTU && c.local.MTU != ownMTU:
			return // it may not take that MTU
		case p.is(mr0.TypeConnRej) && (p.REJ.Reason == mr0.RejectReasonNoResources || p.REJ.Reason == mr0.RejectReasonBusy) && x.lab.now() < end:
			c.local.Nonce++
			x.await(p, x.timeout()/4, func(*packet) bool { return false })
			continue
		case p.is(mr0.TypeConnRej):
			x.fail("CONN_REP to a CONN_REQ with "+what, p.text(), p)
		}
		p.note("takes " + what)
		c.opened(p)
		x.send(c.farewell())
		return
	}
}

// refused fails when a request that contradicts the profile gets a CONN_REP.
func refused(x *attempt, what string, change func(c *mr0.CONN), how ...as) {
	c := x.newConn(change)
	p := x.send(c.request(how...))
	x.send(c.request(how...))
	x.witness().control()
	if a := x.find(p, func(a *packet) bool { return c.answered(a) && a.is(mr0.TypeConnRep) }); a != nil {
		c.reply, c.peer = a, a.CONN
		x.fail("no CONN_REP to a CONN_REQ with "+what, "one", a)
	}
	p.note("must not be taken: " + what)
}

func connectingAnyValues(x *attempt) {
	for _, v := range []struct {
		what   string
		change func(c *mr0.CONN)
	}{
		{"source_conn_id 1", func(c *mr0.CONN) { c.SourceConnID = 1 }},
		{"source_conn_id 0xffffffff", func(c *mr0.CONN) { c.SourceConnID = 0xffffffff }},
		{"link_rate 0", func(c *mr0.CONN) { c.LinkRate = 0 }},
		{"link_rate 4294967295", func(c *mr0.CONN) { c.LinkRate = 0xffffffff }},
		{"initial_psn 0", func(c *mr0.CONN) { c.InitialPSN = 0 }},
		{"initial_psn 4294967295", func(c *mr0.CONN) { c.InitialPSN = 0xffffffff }},
		{"stream_count 1", func(c *mr0.CONN) { c.StreamCount = 1 }},
		{"stream_count 65535", func(c *mr0.CONN) { c.StreamCount = 65535 }},
		{"nonce 0", func(c *mr0.CONN) { c.Nonce = 0 }},
		{"nonce 2^64 - 1", func(c *mr0.CONN) { c.Nonce = 1<<64 - 1 }},
	} {
		c := x.newConn()
		delete(x.connections, c.local.SourceConnID)
		v.change(&c.local)
		x.connections[c.local.SourceConnID] = c
		taken(x, c, v.what)
	}
}

func connectingVersion(x *attempt) {
	var tried []*conn
	var first *packet
	for v := 1; v <= 15; v++ {
		c := x.newConn()
		p := x.send(c.request(mutated(func(b []byte) []byte { b[0] = b[0]&0xf | byte(v)<<4; return b })))
		p.note(fmt.Sprintf("version %d, which must not be taken", v))
		tried = append(tried, c)
		if first == nil {
			first = p
		}
	}
	x.witness().control()
	for i, c := range tried {
		p := x.find(first, c.answered)
		switch {
		case p == nil:
		case p.is(mr0.TypeConnRep):
			x.fail(fmt.Sprintf("no CONN_REP to version %d", i+1), "one", p)
		case p.REJ.Reason != mr0.RejectReasonVersion:
			x.fail("CONN_REJ with reason version, if any", p.text(), p)
		}
	}
}
