// Package flight is the flight recorder of the agent. It keeps the headers of the latest packets of RDMA of each interface
// in memory; when something happens that is worth it, a file has what came before and behind. Files wait on disk until a
// server has taken them.
package flight
