// Package compliance holds a live implementation of MetaRoCE, profile mr0, against the profile's rules, over UDP.
//
// Each [Scenario] is a short talk with the target: it crafts packets with the codec, odd ones too, sends them from its
// own sockets, waits for what must come and looks at what comes. It takes the role of a sender towards the target's
// receiver, and of a receiver towards what the target sends: acknowledgments, refusals, notes and answers to READs.
//
// [Run] judges. A scenario passes as soon as one run of it passes. It fails when two runs fail without a sign that the
// network lost anything or one of both hosts was busy, or when ten fail although nothing was lost elsewhere; else it is
// undetermined. So a lost datagram is never taken for a fault of the target, nor is a slow host. Judgements rest on
// counts and order where they can, and on times that lateness cannot falsify where they cannot: those of the target's
// own timestamps, and of the kernel's for what arrives.
//
// Scenarios that need memory or receive buffers of the target ask for them as `rocelens softmetaroce send` does (see
// [Application]); when the target does not answer that, they are undetermined.
package compliance

//go:generate go run ./document
