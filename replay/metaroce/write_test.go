package metaroce_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A large WRITE arrives whole, each byte once, whatever the network loses.
func TestWriteOverLossyPaths(t *testing.T) {
	for _, loss := range []float64{0, 0.01, 0.1, 0.3} {
		t.Run(fmt.Sprintf("%v", loss), func(t *testing.T) {
			p := newPair(t, 7, 2, 8, simulation.Link{Delay: 5 * time.Microsecond, Loss: loss, Duplicate: 0.01}, nil)
			for i := range p.net.Planes {
				for j, l := range p.net.Planes[i].Routes {
					l.Delay += time.Duration(j) * time.Microsecond
				}
			}
			data := randomBytes(p.net.Random, 3_000_001)
			target := make([]byte, len(data))
			p.memory[1].Regions[5] = metaroce.Region{Address: 1 << 40, Bytes: target, Access: metaroce.AccessWrite}
			p.mustConnect()
			p.post(0, 3, metaroce.WorkRequest{ID: 77, Data: data, RemoteAddress: 1 << 40, RKey: 5})
			if !p.run(10*time.Second, func() bool { return len(p.completions[0]) > 0 }) {
				t.Fatalf("not complete after 10 s: %+v", p.connections[0].Statistics())
			}
			if got := p.completions[0][0]; got.ID != 77 || got.Err != nil || got.Operation != metaroce.OperationWrite {
				t.Errorf("completion is %+v", got)
			}
			if !bytes.Equal(data, target) {
				t.Error("content differs")
			}
			for i, n := range p.memory[1].times[5] {
				if n != 1 {
					t.Fatalf("byte %d was placed %d times", i, n)
				}
			}
			if err := p.check(); err != nil {
				t.Error(err)
			}
			t.Logf("%v %+v", p.net.Now, p.connections[0].Statistics())
		})
	}
}
