// Package conversation knows what a packet alone does not say: what its connection carries.
//
// A [Tracker] sees the packets of a capture in their order. From the messages of the connection manager it learns the
// application of a pair of queue pairs, where its port is a registered one: NVMe over Fabrics, iSER, NFS over RDMA, SMB
// Direct. From the start-up frames of MPA it learns which TCP connections are iWARP for the rest of their lives. Nothing
// is guessed from payloads: a connection whose start the capture missed stays unknown.
package conversation
