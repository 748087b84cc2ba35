// Package capgen makes captures of RDMA over Ethernet from a seed, with right ICRCs, and tells the truth
// about them: how many packets were resent, came late, were marked or refused. Tests compare that truth with
// what the analysis finds; benchmarks need captures that anyone can make again.
//
// Frames are built here from the layouts of the headers and not by the dissector, so that a mistake of one
// does not hide in the other.
package capgen
