package compliance

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func sentScenarios() []Scenario {
	const clause = "mr0, Packets [P]"
	each := func(id, title, clause, checks string, v violation) Scenario {
		return Scenario{
			ID: id, Title: title, Clause: clause,
			Checks: "in every packet that the target sends when it is asked for all types that it can be asked for: " + checks,
			run: func(x *attempt) {
				o := x.guard(x.tour)
				x.check(v)
				if o.verdict == Undetermined {
					panic(o)
				} // a failure of something else is another scenario's
			},
		}
	}
	return []Scenario{
		each("packets/well-formed", "sends packets that its own profile takes", clause, "no reason of the decoder to call it malformed", violationMalformed),
		each("packets/icrc-sent", "sends the right ICRC", clause, "the ICRC", violationICRC),
		each("packets/ecn-sent", "sends sequenced packets ECT(0), others not-ECT", clause, "the ECN field of the IP header", violationECN), //nolint:misspell // ECN-capable transport
		each("packets/reserved-sent", "sends reserved fields and flags as zero", "mr0, layout", "reserved fields", violationReserved),
		each("packets/partition-sent", "sends the partition key of the connection", "mr0, CH.partition_key", "the partition key", violationPartition),
		each("packets/unused-psn", "sends psn 0 in packets that take no number", "mr0, CH.psn", "the psn of types that are neither sequenced nor ACK", violationUnusedPSN),
		each("packets/port-of-path", "has a source port of its own for each path", "mr0, Packets [M]", "no two paths with the same source port", violationSharedPort),
		each("packets/port-of-answers", "sends ACK and NAK from the port of its own path path_id mod path_count", clause, "the source port of ACKs and NAKs", violationAnswerPort),
		each("packets/path-range", "uses the paths that it has announced", "mr0, CONN.path_count", "path_id below the path_count of the CONN_REP", violationPath),
		{
			ID: "packets/timestamps", Title: "counts timestamps in nanoseconds", Clause: "mr0, DH.timestamp",
			Checks: "two READs, some time apart; the timestamps of the answers must be as far apart as the answers, within a third",
			run:    packetsTimestamps,
		},
		{
			ID: "packets/any-port", Title: "takes a path from any source port", Clause: "mr0, Packets [M]: the sender may change a path's source port at any time",
			Checks: "PROBEs of one path from four source ports in turn; the path must be acknowledged as one sequence",
			run:    packetsAnyPort,
		},
	}
}

// tour makes the target send what it can be made to send.
func (x *attempt) tour() {
	c := x.withMemory()
	data := pattern(20*c.mtu, 1)
	c.deliver(c.writes(0, 1, c.next(1), 0, data)...)
	c.deliver(c.atomic(1, c.next(1), 4096, mr0.AtomicOperationFetchAndAdd, 1, 0))
	c.read(1, 0, 100*c.mtu)
	for path := range controlPath {
		c.probe(path)
		c.probe(path, psn(c.paths[path].next+3))
	}
	unknown := c.writes(2, 60_000, 0, 0, data[:8])[0]
	p := c.send(unknown)
	x.await(p, x.timeout()/2, func(q *packet) bool { return q.is(mr0.TypeNAK) })
	other := x.newConn()
	p = x.send(other.request(func(o *outgoing) { o.CH.PartitionKey ^= 0x1234 }))
	x.await(p, x.timeout()/2, other.answered)
	c.control()
	c.disconnect()
}

func packetsTimestamps(x *attempt) {
	c := x.withMemory()
	stamp := func() (asked time.Duration, p *packet) {
		msn := c.next(1)
		asked = x.lab.now()
		c.readAs(1, msn)
		return asked, c.received[messageKey{mr0.TypeReadResp, 1, msn}].last
	}
	askedFirst, first := stamp()
	x.await(first, 60*time.Millisecond, func(*packet) bool { return false })
	askedSecond, second := stamp()
	// Each was stamped between the request and the arrival, however long that took.
	least, most := askedSecond-first.at, second.at-askedFirst
	stamped := time.Duration(second.DH.Timestamp - first.DH.Timestamp)
	if stamped < least*2/3 || stamped > most*4/3 {
		x.fail(fmt.Sprintf("timestamps %v to %v apart, as they were sent", least.Round(time.Microsecond), most.Round(time.Microsecond)), stamped.String()+" apart", first, second)
	}
	second.note(fmt.Sprintf("%v behind the first by its timestamp, %v to %v in truth", stamped, least, most))
}

// readAs reads 8 bytes under a msn that was taken.
func (c *conn) readAs(stream uint16, msn uint32) {
	c.deliver(c.readRequest(controlPath, stream, msn, 0, 8))
	c.answer(stream, msn, 8)
}

func packetsAnyPort(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	for i := range 8 {
		p := c.probe(0, flags(mr0.FlagAR), from(136+i%4))
		a := c.mustACK(p, "AR")
		if a.ACKH.CumulativePSN != first+uint32(i)+1 {
			x.fail(fmt.Sprintf("cumulative_psn %d, whatever the source port", first+uint32(i)+1), number(a.ACKH.CumulativePSN), a)
		}
	}
}
