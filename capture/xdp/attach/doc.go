// Package attach attaches programs to a network interface, for what comes in and for what goes out, in the best way that the
// kernel and the driver have.
package attach
