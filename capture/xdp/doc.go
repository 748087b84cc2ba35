// Package xdp counts RDMA packets in the kernel, by connection and by path of MetaRoCE: an XDP program for what comes in
// and a TCX one for what goes out, which look at each frame and let it go on. What it can and cannot tell is in
// docs/agent.md.
//
// Each sweep begins a new generation of entries. When it has, and every program has gone over to it, nothing writes the
// entries of the generation before: what is read then is exact, and each packet is in just one of them, or counted by
// the reason why it is not. A new entry goes on with the sequence of the one before.
package xdp
