package portstat

import "strings"

// ofInterest are parts of the names of those of a driver's counters that are read: it may tell of thousands, most of them
// of single queues.
var ofInterest = []string{"pause", "pfc", "prio", "discard", "drop", "cnp", "ecn", "roce", "rdma", "out_of_buffer"}

// wanted tells whether a driver's counter is read.
func wanted(name string) bool {
	name = strings.ToLower(name)
	if ofQueue(name) {
		return false
	}
	for _, part := range ofInterest {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// ofQueue tells names such as rx12_xdp_drop, ch0_poll, [7]: rx_discards.
func ofQueue(name string) bool {
	if strings.HasPrefix(name, "[") || strings.Contains(name, "queue") {
		return true
	}
	for _, prefix := range []string{"rx", "tx", "ch", "q"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return false
}
