package afpacket

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// The kernel's own clocks stand for those of NICs: one that is set like the host's, and one that runs since it was started.
func TestPaceOfClocks(t *testing.T) {
	host, err := paceOf(unix.CLOCK_REALTIME)
	require.NoError(t, err)
	assert.Equal(t, "UTC", host.name)
	assert.True(t, host.follows)
	assert.Zero(t, host.shift)

	tai, err := paceOf(unix.CLOCK_TAI)
	require.NoError(t, err)
	assert.True(t, tai.follows)
	assert.Zero(t, tai.shift%nanosPerSecond, "a whole number of seconds, 0 where the host was not told of TAI")
	assert.Equal(t, tai.shift != 0, strings.HasPrefix(tai.name, "TAI less"), tai.name)

	free, err := paceOf(unix.CLOCK_MONOTONIC)
	require.NoError(t, err)
	assert.False(t, free.follows)
	var now unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	assert.WithinDuration(t, time.Now(), time.Unix(0, now.Nano()+free.shift), time.Minute)

	_, err = readPHC(-1)
	require.ErrorIs(t, err, errUnread)
	_, err = readPHC(1 << 20)
	require.ErrorIs(t, err, errUnread)
}

// stamped is a block as the kernel fills it, of empty frames a second apart with these status bits.
func stamped(statuses ...uint32) *Source {
	const size = 64
	s := &Source{ring: make([]byte, size*(len(statuses)+1)), left: uint32(len(statuses)), linkType: linkTypeEthernet, fd: -1, wake: -1}
	for i, status := range statuses {
		at := s.ring[i*size:]
		binary.NativeEndian.PutUint32(at[frameNext:], size)
		binary.NativeEndian.PutUint32(at[frameSeconds:], uint32(1000+i))
		binary.NativeEndian.PutUint32(at[frameStatus:], status)
		binary.NativeEndian.PutUint16(at[frameMAC:], size)
	}
	return s
}

func TestOneClockTimesFrames(t *testing.T) {
	const nic, kernel = unix.TP_STATUS_TS_RAW_HARDWARE | unix.TP_STATUS_USER, unix.TP_STATUS_USER
	for _, test := range []struct {
		name     string
		clock    timer
		statuses []uint32
		want     []int64 // s; 0: unknown
	}{
		{"kernel", kernelClock(""), []uint32{kernel, kernel | unix.TP_STATUS_TS_SOFTWARE, nic}, []int64{1000, 1001, 0}},
		{"UTC", timer{nic: true}, []uint32{nic, kernel, nic}, []int64{1000, 0, 1002}},
		{"TAI", timer{nic: true, shift: -37 * nanosPerSecond}, []uint32{nic, kernel, nic}, []int64{963, 0, 965}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := stamped(test.statuses...)
			s.clock = test.clock
			batch := capture.Batch{Frames: make([]capture.Frame, 0, len(test.statuses))}
			s.fill(&batch)
			require.Len(t, batch.Frames, len(test.want))
			for i, f := range batch.Frames {
				assert.Equal(t, test.want[i] != 0, f.HasTime)
				assert.Equal(t, test.want[i]*nanosPerSecond, f.Time)
			}
		})
	}
}

// On a host each second frame goes out, and has no stamp; on a mirror port few do.
func TestNICIsGivenUpOnHosts(t *testing.T) {
	const nic, kernel = unix.TP_STATUS_TS_RAW_HARDWARE | unix.TP_STATUS_USER, unix.TP_STATUS_USER
	for _, test := range []struct {
		name       string
		strangers  int // of 100 frames
		lenient    bool
		wantKernel bool
	}{
		{"host", 50, true, true},
		{"host, NIC asked for", 50, false, false},
		{"mirror port", 1, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			statuses := make([]uint32, 10_000)
			for i := range statuses {
				statuses[i] = nic
				if i%100 < test.strangers {
					statuses[i] = kernel
				}
			}
			s := stamped(statuses...)
			s.clock, s.lenient, s.timed = timer{nic: true, name: "NIC, UTC"}, test.lenient, "NIC, UTC"
			batch := capture.Batch{Frames: make([]capture.Frame, 0, 100)}
			for s.left > 100 { // the last would be given back to the kernel
				require.NoError(t, s.Next(&batch))
			}
			want := "NIC, UTC"
			if test.wantKernel {
				want = "kernel: more than a few frames came without the NIC's stamp"
			}
			assert.Equal(t, want, s.Interfaces()[0].Clock)
			for i, f := range batch.Frames {
				assert.Equal(t, test.wantKernel == (i < test.strangers), f.HasTime, "%d", i)
			}
		})
	}
}

// A virtual cable stamps nothing, and says so.
func TestKernelTimesWhereTheNICDoesNot(t *testing.T) {
	_, right := vethtest.Pair(t)
	const silent = "kernel: the NIC stamps no received frames"
	for o, want := range map[Timestamps]string{TimestampsAuto: silent, TimestampsNIC: silent, TimestampsKernel: "kernel"} {
		var s *Source
		var err error
		<-right.Go(t, func() { s, err = Open(right.Interface, Options{Timestamps: o}) })
		require.NoError(t, err)
		assert.Equal(t, want, s.Interfaces()[0].Clock)
		require.NoError(t, s.Close())
	}
}
