// Package watch follows one network interface: it captures, decodes, tracks flows, keeps account of every packet, and hands
// over what it has at the end of each interval. An interface that goes down is waited for.
package watch
