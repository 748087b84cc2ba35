package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

// What people wrote into a capture is among its notes, and with the packet that it is about.
func TestCommentsOfACaptureAreShown(t *testing.T) {
	s := web(t)
	c := s.fresh(t, "commented.pcapng", fixture(t, "commented.pcapng"))
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.Equal(t, []string{
		"comment on the file: rack 7, after the upgrade",
		"comment on interface 0: mirror port of leaf 3",
		"comment on packet 2: here it\ufffd[2J stalls",
	}, c.Notes)
	for number, want := range map[string]bool{"1": false, "2": true, "3": false} {
		detail := s.get(t, "/captures/"+c.Id.String()+"/packets/"+number)
		if want {
			require.Contains(t, string(detail.body), `"frame.comment"`)
			require.Contains(t, string(detail.body), `here it`)
		} else {
			require.NotContains(t, string(detail.body), "frame.comment")
		}
	}
}
