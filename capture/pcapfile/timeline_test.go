package pcapfile

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

// at are frames at the given times.
func at(times ...int64) []capture.Frame {
	frames := make([]capture.Frame, len(times))
	for i, t := range times {
		frames[i] = capture.Frame{Data: make([]byte, 60), Time: t, HasTime: true, OriginalLength: 60}
	}
	return frames
}

// Zeros are what tools write that know no time. They would make a capture of seconds one of half a century.
func TestZeroTimesAreNoTimes(t *testing.T) {
	t.Parallel()
	const second = nanosPerSecond
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		c := readBytes(t, written(t, format, WriterOptions{Nanosecond: true}, at(5*second, 0, 6*second, 0, 7*second)...))
		require.Len(t, c.Frames, 5)
		for i := range c.Frames {
			assert.Equal(t, i%2 == 0, c.Frames[i].HasTime, "%v, packet %d", format, i+1)
		}
		require.Len(t, c.Report.Skipped, 1, "a time that is none is no step back, either")
		assert.Regexp(t, `^byte \d+: packet 2 and 1 more are stamped with a time of zero, and taken without time$`, c.Report.Skipped[0])
		assert.False(t, c.Report.Partial)
	}
	c := readBytes(t, written(t, FormatPcap, WriterOptions{Nanosecond: true}, at(0)...))
	assert.Equal(t, []string{"byte 24: packet 1 is stamped with a time of zero, and taken without time"}, c.Report.Skipped)
}

func TestTimeThatGoesBackIsTold(t *testing.T) {
	t.Parallel()
	const second = nanosPerSecond
	frames := at(10*second, 12*second, 11*second, 13*second, 3*second, 3*second)
	c := readBytes(t, written(t, FormatPcap, WriterOptions{Nanosecond: true}, frames...))
	assert.Equal(t, []int64{10 * second, 12 * second, 11 * second, 13 * second, 3 * second, 3 * second}, times(c), "nothing is put in order")
	assert.Equal(t, []string{"byte 176: the time goes back at packet 3, 2 times in all and at most by 10s; the order of the file was kept"}, c.Report.Skipped)
	assert.False(t, c.Report.Partial)

	c = readBytes(t, written(t, FormatPcapng, WriterOptions{}, at(second, 2*second, 2*second, 3*second)...))
	assert.Empty(t, c.Report.Skipped)
}

// The batch decides nothing: a step back from one batch to the next is one, too.
func TestTimelineGoesOnOverBatches(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcap, WriterOptions{Nanosecond: true}, at(3, 2, 1, 0, 5)...)
	s, err := New(bytes.NewReader(file), "batches", Options{})
	require.NoError(t, err)
	c := drain(t, s, 1)
	assert.Equal(t, []string{
		"byte 252: packet 4 is stamped with a time of zero, and taken without time",
		"byte 100: the time goes back at packet 2, 2 times in all and at most by 1ns; the order of the file was kept",
	}, c.Report.Skipped)
}

func TestStepsOfCenturiesDoNotOverflow(t *testing.T) {
	t.Parallel()
	var l timeline
	l.judge(at(math.MaxInt64, math.MinInt64))
	assert.Equal(t, int64(math.MaxInt64), l.farthest)
	assert.Len(t, l.tell(nil), 1)
}
