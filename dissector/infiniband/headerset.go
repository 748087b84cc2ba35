package infiniband

import "strings"

// HeaderSet is a set of transport headers, one bit each. The order of the bits is not the order on the
// wire; [WireOrder] is.
type HeaderSet uint16

// Members of a HeaderSet.
const (
	HasBTH HeaderSet = 1 << iota
	HasRDETH
	HasDETH
	HasXRCETH
	HasRETH
	HasAtomicETH
	HasAETH
	HasAtomicAckETH
	HasImmDt
	HasIETH
	HasFETH
	HasCNP // 16 reserved bytes of a congestion notification packet
)

// WireOrder lists the headers in the order in which any subset of them stands in a packet
// (IBTA volume 1, section 9.3; FETH: annex A19).
var WireOrder = [...]HeaderSet{
	HasBTH, HasRDETH, HasDETH, HasXRCETH, HasFETH, HasRETH, HasAtomicETH,
	HasAETH, HasAtomicAckETH, HasImmDt, HasIETH, HasCNP,
}

var headerShapes = [...]struct {
	name   string
	length int
}{
	{"BTH", BTHLength},
	{"RDETH", RDETHLength},
	{"DETH", DETHLength},
	{"XRCETH", XRCETHLength},
	{"RETH", RETHLength},
	{"AtomicETH", AtomicETHLength},
	{"AETH", AETHLength},
	{"AtomicAckETH", AtomicAckETHLength},
	{"ImmDt", ImmDtLength},
	{"IETH", IETHLength},
	{"FETH", FETHLength},
	{"CNP", CNPLength},
}

// Length is the size of all headers of the set together, in bytes.
func (s HeaderSet) Length() int {
	n := 0
	for i := range headerShapes {
		if s&(1<<i) != 0 {
			n += headerShapes[i].length
		}
	}
	return n
}

// String lists the headers of the set in wire order, joined by "+"; the empty set is "none".
func (s HeaderSet) String() string {
	var names []string
	for _, h := range WireOrder {
		if s&h == 0 {
			continue
		}
		for i := range headerShapes {
			if h == 1<<i {
				names = append(names, headerShapes[i].name)
			}
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "+")
}
