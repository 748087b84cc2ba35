// Package clock compares the clocks of a machine.
package clock
