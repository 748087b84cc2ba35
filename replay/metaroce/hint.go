package metaroce

import (
	"slices"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// demand is what a connection makes of its share of the inbound rate.
type demand struct {
	index  int // in hints.active, -1: not active
	path   uint8
	last   time.Duration // when its latest packet came
	since  time.Duration // when measuring began
	bytes  int
	count  int     // packets
	rate   float64 // measured last, Mbit/s
	hungry bool    // uses all of its share, or is too new to tell
	told   uint32  // hint in the latest ACK
}

// enough packets make a rate: of a few, one more or less would decide whether a share is used.
const enough = 16

func (d *demand) init() { d.index = -1 }

// hints shares the inbound rate out, max-min fair: hint_target × link_rate among the connections that sent within
// hint_active_window; one that uses less than its share frees the rest for those that would use more.
type hints struct {
	config   *Config
	capacity float64 // Mbit/s; 0: unknown, nobody is limited
	active   []*Connection
	level    float64 // share of a connection that would use all it gets, Mbit/s
	taken    float64 // what those use that use less
	hungry   int     // how many others there are
	at       time.Duration
	modest   []float64
}

func (h *hints) init(c *Config) {
	h.config = c
	h.capacity = float64(c.LinkRate) * c.HintTarget
	h.level = h.capacity
}

// arrived counts a sequenced packet. A connection that becomes active gets its share at once.
func (h *hints) arrived(now time.Duration, c *Connection, path uint8, bytes int) {
	if h.capacity == 0 {
		return
	}
	d := &c.demand
	d.last, d.path = now, path
	if d.index < 0 {
		if len(h.active) == 0 {
			h.at = now
			h.taken, h.hungry = 0, 0
		}
		d.index = len(h.active)
		d.since, d.bytes, d.count, d.hungry = now, 0, 0, true
		h.active = append(h.active, c)
		h.hungry++
		h.level = (h.capacity - h.taken) / float64(h.hungry)
	}
	d.bytes += bytes
	d.count++
}

func (h *hints) remove(c *Connection) {
	i := c.demand.index
	if i < 0 {
		return
	}
	last := len(h.active) - 1
	h.active[i] = h.active[last]
	h.active[i].demand.index = i
	h.active[last] = nil
	h.active = h.active[:last]
	c.demand.index = -1
}

// next is when the shares are computed anew.
func (h *hints) next() time.Duration {
	if len(h.active) == 0 {
		return Never
	}
	return h.at + h.config.HintActiveWindow/4
}

func (h *hints) due(now time.Duration) bool { return h.next() <= now }

// recompute measures the connections, forgets those that are silent, and fills the shares up evenly.
func (h *hints) recompute(now time.Duration) {
	h.at = now
	h.modest = h.modest[:0]
	h.hungry = 0
	for _, c := range slices.Backward(h.active) { // removing fills the gap with one that was looked at
		d := &c.demand
		if now-d.last > h.config.HintActiveWindow {
			h.remove(c)
			continue
		}
		if span := now - d.since; span >= h.config.HintActiveWindow && (d.count >= enough || span >= enough*h.config.HintActiveWindow/2) {
			d.rate = float64(d.bytes) * 8000 / float64(span)
			d.since, d.bytes, d.count = now, 0, 0
			d.hungry = d.rate >= (1-h.config.HintTolerance)*h.level
		}
		if d.hungry {
			h.hungry++
		} else {
			h.modest = append(h.modest, d.rate*(1+h.config.HintTolerance))
		}
	}
	h.fill()
}

// fill finds the level at which all that is there is shared out: who needs less than the level gets what it needs, the
// others get the level.
func (h *hints) fill() {
	slices.Sort(h.modest)
	h.taken = 0
	n := h.hungry + len(h.modest)
	for i, need := range h.modest {
		if need > (h.capacity-h.taken)/float64(n) {
			break
		}
		h.taken += need
		n--
		if n == 0 { // all have what they need: any may have the rest beside it
			h.level = h.capacity - h.taken + h.modest[i]
			h.hungry = 1
			h.taken -= need
			return
		}
	}
	h.hungry = max(1, n)
	h.level = (h.capacity - h.taken) / float64(h.hungry)
}

// tell is the hint for an ACK to the connection, Mbit/s.
func (h *hints) tell(c *Connection) uint32 {
	if h.capacity == 0 {
		return mr0.ACKHRateHintNoLimit
	}
	level := h.level
	if c.demand.index < 0 && len(h.active) > 0 {
		level = (h.capacity - h.taken) / float64(h.hungry+1)
	}
	c.demand.told = uint32(max(1, level))
	return c.demand.told
}

// announce sends an ACK for the hint's sake to those whose share has changed by more than hint_tolerance.
func (h *hints) announce() {
	for _, c := range h.active {
		d := &c.demand
		if change := h.level - float64(d.told); d.told != 0 && max(change, -change) > h.config.HintTolerance*float64(d.told) {
			c.acknowledge(d.path, mr0.ACKTriggerWindowUpdate)
			c.wake()
		}
	}
}
