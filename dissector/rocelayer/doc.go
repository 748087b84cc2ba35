// Package rocelayer gives gopacket the layers of RDMA over Ethernet: [RoCE], the base transport header with the
// extended headers of its opcode, and [GRH], the global route header of RoCEv1. Both are a gopacket.Layer and a
// gopacket.DecodingLayer.
//
// Importing the package is enough: gopacket's UDP then names [LayerTypeRoCE] for port 4791, and its Ethernet
// names [LayerTypeGRH] for ethertype 0x8915. gopacket looks layers up in tables without locks, so they are
// written when the package is initialised, and never later.
//
// The decoders neither allocate nor panic. They do less than package dissector does, which looks at the whole
// frame: a layer cannot know whether the capture cut the packet (the Truncated field of the parser or packet
// tells, and then neither the end of the payload nor the ICRC is what it seems), and it does not verify the
// ICRC, which covers the IP header (dissector.ComputeICRC does).
package rocelayer
