package judge

import (
	"fmt"

	"github.com/rocelens/rocelens/replay/finding"
)

func index(r finding.Rule) int { return int(r) - finding.RoCERuleCount }

func (c *Connection) conforms(r finding.Rule) { c.tallies[index(r)].Add(finding.Conforms) }

// found counts a verdict and makes the finding that tells of it, nil when there were enough.
func (c *Connection) found(r finding.Rule, v finding.Verdict, l *lane, path int, e *event) *finding.Finding {
	c.tallies[index(r)].Add(v)
	return c.tell(r, v, l, path, e)
}

func (c *Connection) tell(r finding.Rule, v finding.Verdict, l *lane, path int, e *event) *finding.Finding {
	if c.full[index(r)] >= maxFull {
		return nil
	}
	c.full[index(r)]++
	f := &finding.Finding{Rule: r, Verdict: v, Connection: c.id, Endpoint: l.end, Path: int16(path)}
	switch {
	case e != nil:
		f.HasTime, f.Time = e.packet.Meta.HasTime, e.packet.Meta.Time
	case c.timed:
		f.HasTime, f.Time = true, c.now
	}
	return f
}

// diverges reports what packets contradict that were seen.
func (c *Connection) diverges(r finding.Rule, l *lane, path int, e *event, earlier uint64, expected, seen, format string, args ...any) {
	f := c.found(r, finding.Diverges, l, path, e)
	if f == nil {
		return
	}
	if earlier != 0 {
		prove(f, earlier)
	}
	prove(f, e.number)
	f.Expected, f.Seen, f.Sentence = expected, seen, fmt.Sprintf(format, args...)
	c.out(f)
}

func prove(f *finding.Finding, number uint64) {
	if f.ProofCount < finding.MaxProof && number != 0 {
		f.Proof[f.ProofCount] = number
		f.ProofCount++
	}
}
