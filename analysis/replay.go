package analysis

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
)

// Judging joins the tracker of flows with the engine of replay, which know nothing of each other: the one tells which
// packets are two directions of one connection, and which are copies, the other judges them.
type Judging struct {
	engine   *replay.Engine
	sighting finding.Sighting
}

// NewJudging joins an engine.
func NewJudging(engine *replay.Engine) *Judging { return &Judging{engine: engine} }

// Packet takes a packet that the tracker has just observed.
func (j *Judging) Packet(t *flow.Tracker, p *dissector.Packet, err error, icrc dissector.ICRCState, o *flow.Observation) {
	partner, how := flow.ID(0), flow.PairingNone
	if o.Flow != 0 {
		partner, how = t.Partner(p)
	}
	j.sighting = finding.Sighting{
		Packet: p, Err: err, ICRC: icrc, Copy: o.Flags&flow.FlagMirrorCopy != 0,
		Flow: uint64(o.Flow), Partner: uint64(partner),
	}
	if how != flow.PairingNone {
		j.sighting.Pairing = how.String()
	}
	j.engine.Observe(&j.sighting)
}

// Flow tells of pairs that were found late.
func (j *Judging) Flow(r *flow.Record) {
	if r.ReverseID != 0 {
		j.engine.Pair(uint64(r.ID), uint64(r.ReverseID), r.Pairing.String())
	}
}
