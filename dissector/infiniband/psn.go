package infiniband

// PSNDiff is how far a is ahead of b on the circle of 24-bit PSNs, from -2^23 to 2^23-1; negative when a is
// behind (IBTA volume 1, section 9.7.2: half of the circle is the future, half the past). Bits above the
// 24th of either are ignored. It serves QPN-sized counters such as the MSN as well.
func PSNDiff(a, b uint32) int32 {
	// The shift up moves bit 23 into the sign, the shift down extends it.
	return int32((a-b)<<8) >> 8
}

// PSNAdd is the PSN that stands n places after psn, or before it when n is negative.
func PSNAdd(psn uint32, n int32) uint32 {
	return (psn + uint32(n)) & maxUint24
}
