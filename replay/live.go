package replay

// What a capture that goes on for ever needs: to say where it missed something, to forget who is silent, and to report
// anew what goes on.

// Lost tells that the capture lost packets here, and nobody knows whose. What a judge has seen ends here, and it begins
// anew behind it, as at the beginning of a capture: nothing is concluded across the gap, so nobody is accused of what was
// lost in it. What the connection manager said is still true.
func (e *Engine) Lost() {
	e.conclude()
	clear(e.agreements.attempts) // their answers may be among what was lost
	e.totals.Gaps++
}

// Expire reports and forgets connections of which nothing was seen since a time, ns since the Unix epoch.
func (e *Engine) Expire(before int64) {
	for e.oldest != nil && e.oldest.last < before {
		e.retire(e.oldest)
	}
}

// Renew lets findings be handed out of rules and connections that have had as many as are for one report.
func (e *Engine) Renew() {
	for c := e.oldest; c != nil; c = c.newer {
		c.judge.Renew()
	}
}

// weighEvery is after how many packets of a connection its memory is looked at: it grows by steps.
const weighEvery = 256

// weigh keeps the memory of all connections within its limit, except for the one at hand.
func (e *Engine) weigh(c *connection) {
	if c.packets++; c.packets%weighEvery != 0 {
		return
	}
	now := c.judge.Footprint()
	e.bytes += int64(now - c.bytes)
	c.bytes = now
	for e.bytes > e.config.MaxBytes && e.oldest != c {
		e.totals.Evicted++
		e.retire(e.oldest)
	}
}

// retire reports a connection and forgets its directions.
func (e *Engine) retire(c *connection) {
	e.close(c)
	for _, flow := range c.flows {
		e.forget(flow)
	}
}
