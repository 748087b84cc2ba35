// Package attach attaches programs to a network interface, for what comes in and for what goes out, in the best way that the
// kernel and the driver have.
package attach

// Way is a way to attach a program to an interface.
type Way string

// Ways, from the fastest.
const (
	NativeFrags  Way = "native XDP, frames in pieces"
	Native       Way = "native XDP"
	GenericFrags Way = "generic XDP, frames in pieces"
	Generic      Way = "generic XDP"
	TCX          Way = "TCX"
	CLSACT       Way = "clsact"
)
