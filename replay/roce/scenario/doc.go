// Package scenario runs reference endpoints of RoCEv2 against each other over a simulated network: connections with
// mixed work between clients and servers, loss, marks, duplicates and delays by a seed, and a tap that yields the
// frames which a capture at its place would hold. A run repeats exactly: same configuration, same frames.
//
// Each host hangs on its switch by a link, and the switches on each other by a route:
//
//	client --- switch --- route --- switch --- server
//	   ^          ^                               ^
//	   |          Middle                          NearResponder
//	   NearRequester
//
// Hooks let a fault injector alter, drop, delay, double or add what a host sends and receives, between its endpoint and
// its interface; the tap sees what comes of it.
package scenario
