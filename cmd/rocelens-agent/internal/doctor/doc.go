// Package doctor examines a network interface: what of RDMA a capture on it can show, what it cannot and why, and what to do
// about that. It changes nothing, and sends one packet only when it is asked to.
package doctor
