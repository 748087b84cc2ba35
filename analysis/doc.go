// Package analysis is the corridor from a capture to what is known of it: frames of a source are decoded and
// their ICRCs verified on all cores, then tracked in the order of the capture, then handed to sinks.
//
// Memory is bounded by a fixed number of batches that go round, and by the tracker's own limits. No packet
// costs an allocation.
package analysis
