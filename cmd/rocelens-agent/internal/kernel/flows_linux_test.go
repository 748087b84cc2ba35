package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/capture/xdp"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// what a flow of either tier must agree in.
type what struct {
	id                      flow.ID
	key                     flow.Key
	packets, bytes, payload uint64
	acks, cnps, rnr         uint64
	naks                    [32]uint64
	marked, vlan, dscp      flow.Count
	operations              flow.Operations
	gaps                    flow.Count
}

// way is a path of MetaRoCE, by the id that its receiver chose.
type way struct {
	connection uint32
	path       uint8
}

type onPath struct {
	packets, bytes, payload, gaps, resent, probes, marked uint64
	last                                                  flow.Count
}

func of(r *flow.Record) what {
	w := what{
		r.ID, r.Key, r.Packets, r.Bytes, r.PayloadBytes, r.Acks, r.CNPs, r.RNRNaks, r.Naks, r.CEMarked, r.VLAN, r.DSCP, r.Operations, r.PSNGaps,
	}
	return w
}

func pathsOf(r *flow.Record, into map[way]onPath) {
	if r.MetaRoCE == nil {
		return
	}
	for i := range r.MetaRoCE.Paths {
		p := &r.MetaRoCE.Paths[i]
		if p.Packets > 0 {
			into[way{r.Key.DestinationQP, p.ID}] = onPath{p.Packets, p.Bytes, p.PayloadBytes, p.PSNGaps, p.Retransmitted, p.Probes, p.CEMarked, p.LastPSN}
		}
	}
}

// What was counted in the kernel makes the flows that a tracker finds in the same frames.
func TestFlowsAreTheTrackers(t *testing.T) {
	for _, name := range []string{"allreduce-loss.pcapng", "read-write-mix.pcap", "derived/sit-nak-all.pcap", "derived/sit-rnr.pcap", "derived/enc-vlan-pcp3.pcap", "derived/scapy-roce-vectors.pcap", "metaroce-spray.pcap"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("programs in the kernel need root")
			}
			left, right := vethtest.Pair(t)
			want, wantPaths := map[flow.ID]what{}, map[way]onPath{}
			tracker := flow.NewTracker(flow.Config{}, func(r *flow.Record) { want[r.ID] = of(r); pathsOf(r, wantPaths) })
			source, err := pcapfile.Open(filepath.Join("..", "..", "..", "..", "testdata", name), pcapfile.Options{})
			require.NoError(t, err)
			defer source.Close()
			var frames [][]byte
			var batch capture.Batch
			for source.Next(&batch) == nil {
				for _, f := range batch.Frames {
					frame := append([]byte(nil), f.Data...)
					frames = append(frames, frame)
					var p dissector.Packet
					err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(frame)), Time: f.Time, HasTime: f.HasTime}, &p)
					tracker.Observe(&p, err, dissector.ICRCNotChecked)
				}
			}
			tracker.Flush()
			var s *xdp.Source
			<-right.Go(t, func() { s, err = xdp.Open(xdp.Options{Interface: right.Interface}) })
			require.NoError(t, err)
			defer s.Close()
			left.Send(t, frames)
			var flows Flows
			_, err = s.Sweep(flows.Add)
			require.NoError(t, err)
			got, gotPaths := map[flow.ID]what{}, map[way]onPath{}
			flows.Flush(func(r *flow.Record) { got[r.ID] = of(r); pathsOf(r, gotPaths) })
			assert.Equal(t, wantPaths, gotPaths)
			if len(wantPaths) == 0 { // a tracker joins a CONN_REQ to its connection
				assert.Equal(t, want, got)
			}
		})
	}
}
