package xdp

import (
	"errors"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onOneCPU calls fn on a thread that stays on a CPU.
func onOneCPU(t *testing.T, fn func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		var may, one unix.CPUSet
		err := unix.SchedGetaffinity(0, &may)
		for i := 0; one.Count() == 0; i++ {
			if may.IsSet(i) {
				one.Set(i)
			}
		}
		done <- errors.Join(err, unix.SchedSetaffinity(0, &one), fn())
	}()
	require.NoError(t, <-done)
}

// recordsOf are what the programs have counted, but for times.
func recordsOf(t *testing.T, objects *ebpf.Collection, slots table) (records map[ID]*Record, withSlot int) {
	t.Helper()
	records = map[ID]*Record{}
	var key uint64
	var e programEntry
	all := objects.Maps[programMapConnections].Iterate()
	for all.Next(&key, &e) {
		require.NoError(t, slots.read(key, &e))
		if key < withoutSlot {
			withSlot++
		}
		r := &Record{}
		r.merge(&e, clock{}, true)
		require.NotContains(t, records, r.ID)
		records[r.ID] = r
	}
	require.NoError(t, all.Err())
	return records, withSlot
}

// What is counted in one straight line in slots is what the long way counts where no slot is free.
func TestShortAndLongWayCountTheSame(t *testing.T) {
	frames := framesOf(t, "metaroce-spray.pcap", "read-write-mix.pcap", "allreduce-loss.pcapng", "derived/enc-vlan-pcp3.pcap", "derived/rocev2-ipv6.pcap",
		"derived/sit-nak-all.pcap", "derived/sit-rnr.pcap", "derived/sit-read.pcap", "derived/sit-ecn-cnp.pcap", "derived/scapy-roce-vectors.pcap",
		"derived/base-cm-send-write-read.pcap")
	count := func(full bool) (map[ID]*Record, int) {
		objects := loaded(t)
		slots, err := openTable(objects.Maps[programMapTable])
		require.NoError(t, err)
		if full {
			taken := make([]byte, slots.memory.Size())
			for i := range taken {
				taken[i] = 0xff
			}
			_, err := slots.memory.WriteAt(taken, 0)
			require.NoError(t, err)
		}
		onOneCPU(t, func() error {
			for _, f := range frames {
				if _, _, err := objects.Programs[programProgOnXdp].Test(f); err != nil {
					return err
				}
			}
			return nil
		})
		return recordsOf(t, objects, slots)
	}
	short, withSlot := count(false)
	long, none := count(true)
	assert.Equal(t, long, short)
	assert.Greater(t, withSlot, 20)
	assert.Zero(t, none)
	var all Record
	for _, r := range short {
		all.Acks += r.Acks
		all.RNR += r.RNR
		all.Naks[0] += r.Naks[0]
		all.Sequence.Gaps += r.Sequence.Gaps
	}
	assert.Positive(t, all.Acks)
	assert.Positive(t, all.RNR)
	assert.Positive(t, all.Naks[0])
	assert.Positive(t, all.Sequence.Gaps)
}
