package metaroce

import "time"

// bytesIn is what a rate in Mbit/s lets through in a time.
func bytesIn(rate uint32, d time.Duration) float64 { return float64(rate) * float64(d) / 8000 }

// permits tells whether the connection as a whole may send a new packet now. Its window is rate_hint × the least
// srtt; and over one srtt it sends no more than (1 + hint_tolerance) × rate_hint.
func (c *Connection) permits(now time.Duration) bool {
	if c.hint == noLimit || c.minSRTT == 0 {
		return true
	}
	if float64(c.inflightBytes) >= bytesIn(c.hint, c.minSRTT) {
		return false
	}
	if at := c.nextAt - c.burst(); at > now {
		c.arm(at)
		return false
	}
	return true
}

// burst is by how much sending may run ahead of the hint's rate.
func (c *Connection) burst() time.Duration {
	return time.Duration(c.endpoint.config.HintTolerance * float64(c.minSRTT))
}

// spend counts a packet against the hint's rate.
func (c *Connection) spend(now time.Duration, bytes int) {
	if c.hint == noLimit {
		return
	}
	c.nextAt = max(c.nextAt, now) + time.Duration(float64(bytes)*8000/float64(c.hint))
}

// takeHint notes the share that the receiver grants. Bytes that were sent ahead of the old rate are waited for at the
// new one.
func (c *Connection) takeHint(now time.Duration, hint uint32) {
	hint = max(1, hint)
	if ahead := c.nextAt - now; ahead > 0 && hint != c.hint && hint != noLimit {
		c.nextAt = now + time.Duration(float64(ahead)*float64(c.hint)/float64(hint))
	}
	c.hint = hint
}

// updateSRTT finds the least round trip of the paths that work.
func (c *Connection) updateSRTT(now time.Duration) {
	unknown := c.minSRTT == 0
	c.minSRTT = 0
	for i := range c.paths {
		if p := &c.paths[i]; p.measured && !p.failed && (c.minSRTT == 0 || p.srtt < c.minSRTT) {
			c.minSRTT = max(1, p.srtt)
		}
	}
	if unknown && c.minSRTT != 0 {
		for i := range c.paths {
			c.watchTail(now, &c.paths[i])
		}
	}
}

// adapt is ECN-based AIMD: a mark or a loss cuts the path's window, at most once a round trip; a round trip without
// one adds to it. A cut begins a round trip. The timer cuts nothing: what it sends again doubles its time, and what is
// then found lost behind it cuts.
func (c *Connection) adapt(now time.Duration, p *path, congested bool) {
	parameters := &c.endpoint.config.Parameters
	if congested {
		if now >= p.cutUntil {
			p.window = max(float64(parameters.MinWindow), p.window*parameters.MultiplicativeDecrease)
			p.cutUntil = now + p.srtt
			p.roundStart, p.roundMarked = now, false
			c.statistics.Cuts++
			return
		}
		p.roundMarked = true
	}
	if now-p.roundStart >= p.srtt {
		if !p.roundMarked {
			p.window = min(float64(c.maxSpan), p.window+float64(parameters.AdditiveIncrease))
		}
		p.roundStart = now
		p.roundMarked = false
	}
}
