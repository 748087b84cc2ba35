package budget

const (
	excess = 2   // seconds above the budget after which connections are shed
	calm   = 10  // seconds well below it after which more are followed
	room   = .8  // of the budget: well below
	target = .85 // of the budget: aimed at when more are followed
	shedTo = .95 // of the budget: aimed at when fewer are
)

// control decides how many parts of all connections are followed. It sheds quickly and takes up slowly, and no more than fits
// by what it has just seen, so that it does not swing.
type control struct {
	budget float64 // cores
	parts  int     // that are followed
	above  int     // seconds in a row
	below  int
}

// observe takes what the process used in a second, in cores, and returns how many parts are to be followed.
func (c *control) observe(used float64) int {
	switch {
	case used > c.budget:
		c.below = 0
		if c.above++; c.above >= excess {
			c.above = 0
			c.parts = max(1, min(c.parts-1, int(float64(c.parts)*shedTo*c.budget/used)))
		}
	case used <= room*c.budget && c.larger(used) > c.parts:
		c.above = 0
		if c.below++; c.below >= calm {
			c.below = 0
			c.parts = c.larger(used)
		}
	default:
		c.above, c.below = 0, 0
	}
	return c.parts
}

// larger is how many parts fit if each takes what those take that are followed; at most twice as many.
func (c *control) larger(used float64) int {
	fit := 2 * c.parts
	if used > 0 {
		fit = min(fit, int(float64(c.parts)*target*c.budget/used))
	}
	return min(fit, Parts)
}
