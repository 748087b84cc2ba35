//go:build !race

package compliance_test

import (
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// heardVariants take what they must drop, or drop what they must take.
func heardVariants() []variant {
	reason := func(r metaroce.Reason, repair func(d *datagram)) func() (in, out hook) {
		return taking(func(d *datagram) bool {
			if d.Fault.Reason != r || d.CH.Type != mr0.TypeProbe {
				return false
			}
			repair(d)
			return true
		})
	}
	return []variant{
		{name: "takes reserved types for PROBEs", fails: "packets/version packets/type-reserved", hooks: hearing(func(d *datagram) bool {
			if len(d.data) == mr0.CHLength+mr0.DHLength+4 && d.data[0] > 0xc && d.wrong == 0 {
				d.data[0] = byte(mr0.TypeProbe)
			}
			return true
		})},
		{name: "does not look at payload_length", fails: "packets/payload-length", hooks: reason(metaroce.ReasonPayloadLength, func(d *datagram) { d.CH.PayloadLength = 0 })},
		{name: "does not look at FIRST", fails: "packets/first-missing packets/first-unfounded", hooks: reason(metaroce.ReasonFirst, func(d *datagram) {
			d.CH.Flags |= mr0.FlagFirst
			d.DH.MessageOffset, d.DH.MessageLength = 0, 0
		})},
		{name: "does not look at LAST", fails: "packets/last-missing packets/last-unfounded", hooks: reason(metaroce.ReasonLast, func(d *datagram) {
			d.CH.Flags |= mr0.FlagLast
			d.DH.MessageLength = 0
		})},
		{name: "does not look at offsets", fails: "packets/offset-beyond", hooks: reason(metaroce.ReasonOffset, func(d *datagram) {
			d.DH.MessageOffset, d.DH.MessageLength = 0, 0
			d.CH.Flags |= mr0.FlagFirst
		})},
	}
}
