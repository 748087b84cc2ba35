package service_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

// A packet of a connection whose start was captured shows the header of what the connection carries, though nothing in
// the packet itself names it.
func TestPacketsShowWhatTheirConnectionCarries(t *testing.T) {
	s := web(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "dissector", "testdata", "applications.pcap"))
	require.NoError(t, err)
	c := s.fresh(t, "applications.pcap", data)
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	for number, want := range map[string]string{
		"4": `"rpcordma.xid"`, "13": `"smb_direct.version.min"`, "20": `"iser.write_stag"`, "25": `"nvme.fabrics.cmd.fctype"`, "33": "",
	} {
		body := string(s.get(t, "/captures/"+c.Id.String()+"/packets/"+number).body)
		if want != "" {
			require.Contains(t, body, want)
		} else {
			require.NotContains(t, body, "rpcordma")
		}
	}
}
