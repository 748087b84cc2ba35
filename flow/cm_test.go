package flow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rocelens/rocelens/dissector/mad"
)

// TestStartingPSN: each side of the connection manager names the PSN at which the other is to begin (IBTA volume 1,
// section 12.7.31), as real adapters do. Tools that begin with the PSN that they named themselves are understood, too.
func TestStartingPSN(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, missing uint64
	}{
		"as the other side wished":        {100, 0},
		"the first two were not captured": {102, 2},
		"as its own side wished":          {500, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			s.manage(false, mad.MessageREQ, mad.REQ{LocalID: 7, LocalQPN: simQPA, StartingPSN: 500, PathMTU: 3}.AppendTo(nil))
			s.manage(true, mad.MessageREP, mad.REP{LocalID: 8, RemoteID: 7, LocalQPN: simQPB, StartingPSN: 100}.AppendTo(nil))
			s.ack(500)
			first := uint32(c.first)
			s.writes(first, first+1, first+2)
			assert.Equal(t, c.missing, s.track().totals.MissingPSNs)
		})
	}
}
