package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
)

var tiers = []string{"packet", "kernel"}

// seen tells whether an agent that prints has seen so many packets of RDMA.
func (p *process) seen(t *testing.T, packets int) func() bool {
	t.Helper()
	return func() bool {
		all := lines(t, p.stdout.Bytes())
		return len(all) > 0 && all[len(all)-1].Totals.RDMA == uint64(packets)
	}
}

// An MTU that is changed in between costs no packet, and the interface does not go down by it.
func TestMTUChangesMeanwhile(t *testing.T) {
	frames := framesOf(t, "allreduce-loss.pcapng")
	for _, tier := range tiers {
		t.Run(tier, func(t *testing.T) {
			left, right := vethtest.Pair(t)
			agent := start(t, right, "--tier", tier, "--interval", "1s")
			sent := 0
			require.Eventually(t, agent.seen(t, sent), patience, glance, "%s", agent.stderr.Bytes())
			for _, mtu := range []string{"9000", "1500", "3000", "9000"} {
				left.IP(t, "link set", left.Interface, "mtu", mtu)
				right.IP(t, "link set", right.Interface, "mtu", mtu)
				left.Send(t, frames) // behind which the MTU changes at once
				sent += len(frames)
			}
			require.Eventually(t, agent.seen(t, sent), patience, glance, "%s", agent.stderr.Bytes())
			agent.end(t)
			assert.NotContains(t, string(agent.stderr.Bytes()), "is down")
		})
	}
}

// The VLAN is in the row, whoever takes the tag out of the frame, on the way in and on the way out.
func TestVLANWithAndWithoutOffload(t *testing.T) {
	frames := framesOf(t, "derived/enc-vlan-pcp3.pcap", "derived/enc-qinq.pcap")
	for _, tier := range tiers {
		for _, offload := range []bool{true, false} {
			t.Run(tier+"/offload="+strconv.FormatBool(offload), func(t *testing.T) {
				left, right := vethtest.Pair(t)
				left.VLANOffload(t, offload)
				right.VLANOffload(t, offload)
				agents := []*process{start(t, left, "--tier", tier, "--interval", "1s"), start(t, right, "--tier", tier, "--interval", "1s")}
				for _, a := range agents {
					require.Eventually(t, a.seen(t, 0), patience, glance, "%s", a.stderr.Bytes())
				}
				left.Send(t, frames)
				for _, a := range agents {
					require.Eventually(t, a.seen(t, len(frames)), patience, glance, "%s", a.stderr.Bytes())
					a.end(t)
					vlans := map[uint64]bool{}
					for _, l := range lines(t, a.stdout.Bytes()) {
						if l.Type == "flow" {
							require.NotNil(t, l.VLAN)
							vlans[*l.VLAN] = true
						}
					}
					assert.Equal(t, map[uint64]bool{100: true}, vlans)
				}
			})
		}
	}
}

// Two agents on one interface see the same, whatever their tiers are, and neither takes anything from the other.
func TestTwoAgentsOnOneInterface(t *testing.T) {
	db := newDatabase(t)
	frames := framesOf(t, "allreduce-loss.pcapng", "metaroce-spray.pcap")
	for _, pair := range [][2]string{{"packet", "packet"}, {"packet", "kernel"}, {"kernel", "kernel"}} {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			left, right := vethtest.Pair(t)
			begin := func(i int) (agent *process, arrived func(packets int) func() bool) {
				host := strings.Join(pair[:], "-") + strconv.Itoa(i)
				agent = start(t, right, append(db.flags(), "--tier", pair[i], "--interval", "1s", "--host", host, "--state", t.TempDir())...)
				require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents WHERE host = '"+host+"'") != "0" }, patience, glance, "%s", agent.stderr.Bytes())
				return agent, func(packets int) func() bool {
					return func() bool {
						return db.ask(t, "SELECT sum(packets) FROM agent_flows WHERE host = '"+host+"'") == strconv.Itoa(packets)
					}
				}
			}
			first, arrivedFirst := begin(0)
			second, arrivedSecond := begin(1)
			left.Send(t, frames)
			require.Eventually(t, arrivedFirst(len(frames)), patience, glance, "%s", first.stderr.Bytes())
			require.Eventually(t, arrivedSecond(len(frames)), patience, glance, "%s", second.stderr.Bytes())
			// One goes, the other goes on.
			first.end(t)
			left.Send(t, frames)
			require.Eventually(t, arrivedSecond(2*len(frames)), patience, glance, "%s", second.stderr.Bytes())
			second.end(t)
			assert.True(t, arrivedFirst(len(frames))())
		})
	}
}
