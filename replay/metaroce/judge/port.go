package judge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/finding"
)

// contest is a second path's use of the port of a path.
type contest struct {
	open   bool
	other  uint8
	stamp  uint32
	time   int64
	number uint64
}

// ports is what the ACKs and NAKs of an end left from.
type ports struct {
	begun  bool
	path   uint8 // own path that the latest belongs to
	port   uint16
	source dissector.Address
	number uint64
}

// port follows the source port of a path.
func (c *Connection) port(d *lane, p *path, e *event) {
	port, source := e.packet.UDP.SourcePort, e.packet.Network.Source
	if k := &p.contest; k.open && e.timed {
		later, ok := elapsed(k.stamp, e.m.DH.Timestamp, k.time, e.time)
		if ok && later > 0 && port == p.port {
			c.diverges(finding.MetaRoCEPortCollision, d, int(p.id), e, k.number, "a source port for each path", "one for two paths",
				"Paths %d and %d both use source port %d.", p.id, k.other, port)
		}
		k.open = !ok || later <= 0
	}
	if port == p.port && source == p.source {
		c.answersAside(d, p, e)
		return
	}
	p.port, p.source, p.portAt, p.aside = port, source, e.time, 0
	if p.repaths++; p.repaths == 1 {
		p.portAt = e.time
	}
	taken := false
	for _, q := range d.paths {
		if q != nil && q != p && q.begun && q.port == port && q.source == source {
			q.contest = contest{open: true, other: p.id, stamp: e.m.DH.Timestamp, time: e.time, number: e.number}
			taken = true
		}
	}
	if !taken {
		c.conforms(finding.MetaRoCEPortCollision)
	}
}

// answerPort holds the source port of an ACK of r against the rule: that of its own path path_id mod path_count.
func (c *Connection) answerPort(d, r *lane, e *event) {
	if !r.hasConn {
		return
	}
	own := e.m.CH.PathID % r.conn.PathCount
	port, source := e.packet.UDP.SourcePort, e.packet.Network.Source
	if b := &r.ports; b.begun && b.path != own {
		c.weigh(d, clueAnswerPort, int(e.m.CH.PathID), e, b.port == port && b.source == source, 0, r.setup.number, b.number, e.number)
	}
	r.ports = ports{begun: true, path: own, port: port, source: source, number: e.number}
	if int(own) >= len(r.paths) || r.paths[own] == nil {
		return
	}
	p := r.paths[own]
	if p.begun && p.port != port && e.timed && e.time-p.portAt > int64(c.parameters.RTOMin)+r.jitter.span() && p.aside == 0 {
		p.aside = e.number // unless the path has taken another port meanwhile, which its next packet tells
	}
}

// answersAside judges answers from another port than that of the path: before and behind them it was the same.
func (c *Connection) answersAside(r *lane, p *path, e *event) {
	if p.aside == 0 {
		return
	}
	c.weigh(&c.lanes[1-r.index], clueAnswerPort, int(p.id), e, true, 0, r.setup.number, p.aside, e.number)
	p.aside = 0
}
