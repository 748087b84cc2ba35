//go:build !race

package compliance_test

import "github.com/rocelens/rocelens/dissector/metaroce/mr0"

// saying breaks what the target sends: the change tells whether it goes on.
func saying(change func(d *datagram) bool) func() (in, out hook) {
	return func() (in, out hook) { return nil, filter(change) }
}

// hearing breaks what the target is sent.
func hearing(change func(d *datagram) bool) func() (in, out hook) {
	return func() (in, out hook) { return filter(change), nil }
}

func filter(change func(d *datagram) bool) hook {
	return func(d *datagram, pass func(*datagram)) {
		if change(d) {
			pass(d)
		}
	}
}

// of limits a change to packets of a type. The change is always made.
func of(t mr0.Type, change func(d *datagram)) func(d *datagram) bool {
	return func(d *datagram) bool {
		if d.err == nil && d.CH.Type == t {
			d.changed = true
			change(d)
		}
		return true
	}
}

// dropping drops packets.
func dropping(which func(d *datagram) bool) func(d *datagram) bool {
	return func(d *datagram) bool { return d.err != nil || !which(d) }
}

// triggered drops or changes ACKs by their trigger.
func trigger(t mr0.ACKTrigger) func(d *datagram) bool {
	return func(d *datagram) bool { return d.CH.Type == mr0.TypeACK && d.ACKH.Trigger == t }
}

// lying has ACKs of one trigger tell another.
func lying(is, says mr0.ACKTrigger) func() (in, out hook) {
	return saying(of(mr0.TypeACK, func(d *datagram) {
		if d.ACKH.Trigger == is {
			d.ACKH.Trigger = says
		}
	}))
}

// taking lets the target take what is malformed: the repair makes a proper packet of it.
func taking(repair func(d *datagram) bool) func() (in, out hook) {
	return hearing(func(d *datagram) bool {
		if d.err != nil && repair(d) {
			d.changed = true
		}
		return true
	})
}

// sequence names a path in one direction.
type sequence struct {
	connection uint32
	path       uint8
}

func sequenceOf(d *datagram) sequence { return sequence{d.CH.DestConnID, d.CH.PathID} }
