package judge

import "github.com/rocelens/rocelens/replay/finding"

// conforms counts that a rule was kept.
func (c *Connection) conforms(r finding.Rule) { c.tallies[r].Add(finding.Conforms) }

// proof is a set of packets that make a point.
type proof [finding.MaxProof]uint64

func packets(numbers ...uint64) (p proof) {
	n := 0
	for _, number := range numbers {
		if number != 0 && n < len(p) {
			p[n] = number
			n++
		}
	}
	return p
}

// find hands out a finding about the end that sends on a lane. say is called only when somebody will read it: it
// fills Expected, Seen and Sentence.
func (c *Connection) find(lane int, r finding.Rule, v finding.Verdict, e *event, p proof, say func(f *finding.Finding)) {
	c.tallies[r].Add(v)
	if v == finding.Conforms || c.emitted[r] >= maxEmitted {
		return
	}
	// What was only undetermined so far does not use up the room for what diverges.
	if v == finding.Undetermined && c.emitted[r] >= maxEmitted/2 {
		return
	}
	c.emitted[r]++
	f := &c.finding
	*f = finding.Finding{Rule: r, Verdict: v, Connection: c.id, Endpoint: c.lanes[lane].sender, Path: -1, Proof: p}
	if e != nil {
		f.HasTime, f.Time = e.hasTime, e.time
	} else if c.lanes[lane].lastTime != 0 {
		f.HasTime, f.Time = true, c.lanes[lane].lastTime
	}
	for f.ProofCount < len(p) && p[f.ProofCount] != 0 {
		f.ProofCount++
	}
	say(f)
	c.out(f)
}
