// Package portstat reads what the kernel and the NIC count and are set to beside the packets of a network interface: the
// counters of its RDMA ports and of the interface in sysfs, those of pause frames and discards that the driver tells
// ethtool, and what governs congestion control and priorities. What a machine has not got, or does not let be read, is
// absent, and said to be.
package portstat
