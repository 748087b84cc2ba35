package flow

import "math/bits"

// histogram counts durations in buckets of 1/16 of their value, so that its size does not depend on their number.
type histogram struct {
	count   uint64
	sum     uint64
	min     uint64
	max     uint64
	buckets [histogramBuckets]uint32
}

const (
	histogramSteps   = 16     // buckets an octave
	histogramOctaves = 40 - 4 // up to 2^40 ns, 18 minutes; what is longer counts as that
	histogramBuckets = histogramSteps * (histogramOctaves + 1)
)

// bucketOf is linear below 16 and logarithmic above.
func bucketOf(v uint64) int {
	if v < histogramSteps {
		return int(v)
	}
	octave := bits.Len64(v) - 5 // 16..31 is the first
	return min(histogramSteps*(octave+1)+int(v>>octave)-histogramSteps, histogramBuckets-1)
}

// valueOf is the middle of a bucket.
func valueOf(bucket int) uint64 {
	if bucket < histogramSteps {
		return uint64(bucket)
	}
	octave := bucket/histogramSteps - 1
	low := uint64(bucket%histogramSteps+histogramSteps) << octave
	return low + uint64(1)<<octave/2
}

func (h *histogram) add(v uint64) {
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count++
	h.sum += v
	h.buckets[bucketOf(v)]++
}

// quantile is the value that the part q of all does not exceed.
func (h *histogram) quantile(q float64) Count {
	if h.count == 0 {
		return Count{}
	}
	rank := max(uint64(q*float64(h.count)+0.999999), 1)
	for i, n := range h.buckets {
		if uint64(n) >= rank {
			return known(min(max(valueOf(i), h.min), h.max))
		}
		rank -= uint64(n)
	}
	return known(h.max)
}

func (h *histogram) latency() Latency {
	if h == nil || h.count == 0 {
		return Latency{}
	}
	return Latency{
		Samples: h.count, Min: known(h.min), Mean: known(h.sum / h.count), Max: known(h.max),
		P50: h.quantile(0.5), P90: h.quantile(0.9), P99: h.quantile(0.99),
	}
}
